"""The `louver` command: `options` declares its subcommands, and in which module each is.

Exit status: 0 success; 1 a failed check or call; 2 the request or the input was refused, with the reason on standard
error. A subcommand's module is imported only when it runs, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import os
import sys
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC
from io import BufferedWriter, TextIOWrapper
from typing import TYPE_CHECKING, Any

from louver.cli import terminal
from louver.cli.options import build_parser
from louver.cli.parser import parse
from louver.errors import LouverError
from louver.seams import plugged_in

if TYPE_CHECKING:
    from collections.abc import Sequence

# Replace closed standard streams: an empty input, an output that cannot be written, an error stream that drops text.
_STREAMS = ((0, "stdin", "r", os.O_RDONLY), (1, "stdout", "w", os.O_RDONLY), (2, "stderr", "w", os.O_WRONLY))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv`, by default the arguments of the process; return the exit status."""
    _prepare_streams()
    try:
        try:
            arguments = parse(*build_parser(), sys.argv[1:] if argv is None else argv)
            return plugged_in(f"{arguments.module}:run")(arguments)
        finally:
            # Flush here, where a failure can still be reported.
            sys.stdout.flush()
    except LouverError as error:
        terminal.print_stderr(error.message)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of standard output has closed it.
        _discard_output()
        return 1
    except OSError as error:
        # Only failures of standard output are handled here: commands report those of files and servers.
        if error.filename is not None or error.errno not in (EBADF, EIO, ENOSPC, EDQUOT, EFBIG):
            raise
        _discard_output()
        terminal.print_stderr(f"standard output cannot be written: {error.strerror}")
        return 1


def _prepare_streams() -> None:
    """Open closed standard streams, ignore errors on standard error, and escape what an encoding cannot write."""
    for number, name, mode, flags in _STREAMS:
        if getattr(sys, name) is None:
            # `open` takes the lowest free descriptor, which otherwise the next file or socket would get.
            os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    # A caller from Python may have replaced either stream.
    if sys.stderr is sys.__stderr__:
        # Python exits with status 120 if it cannot flush a standard stream.
        writer = BufferedWriter(terminal.Stderr(2, "w", closefd=False))
        sys.stderr = TextIOWrapper(writer, sys.stderr.encoding, sys.stderr.errors, line_buffering=True)
    stdout: Any = sys.stdout
    if hasattr(stdout, "reconfigure"):
        stdout.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Send further output to the null device: flushing standard output at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
