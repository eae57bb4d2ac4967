"""The `louver` command: its options; each subcommand is a module of `louver.cli.commands`.

Exit status: 0 success; 1 a failed check or call; 2 the request or the input was refused, with the reason on standard
error. A subcommand's module is imported only when it runs, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import os
import sys
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC
from importlib import import_module
from io import BufferedWriter, TextIOWrapper
from typing import TYPE_CHECKING, Any

from louver import __version__
from louver.cli import terminal
from louver.cli.parser import Parser
from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Sequence


# Equal to `louver_conformance.checks.GROUPS`, which need not be installed; a test compares them.
_GROUPS = ("capability", "hint", "projection", "schema", "errors", "disclosure", "isolation", "search", "stock")

# Replace closed standard streams: an empty input, an output that cannot be written, an error stream that drops text.
_STREAMS = ((0, "stdin", "r", os.O_RDONLY), (1, "stdout", "w", os.O_RDONLY), (2, "stderr", "w", os.O_WRONLY))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv`, by default the arguments of the process; return the exit status."""
    _prepare_streams()
    try:
        try:
            arguments = _parser().parse_args(argv)
            return import_module(f"louver.cli.commands.{arguments.command}").run(arguments)
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


def _parser() -> Parser:
    parser = Parser(prog="louver", description="Field projection for the output of MCP tools.")
    parser.add_argument("--version", action="version", version=f"louver {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="call the example server with a stock client, show the savings")
    demo.add_argument("--json", action="store_true", help="print the table as one JSON array")

    serve = commands.add_parser("serve", help="serve the gateway before other servers, or the example server")
    serve_group = _add_upstreams(serve)
    serve_group.add_argument("--example", action="store_true", help="the example server")
    serve.add_argument(
        "--exposure",
        choices=("full", "minimal", "discovery", "gateway"),
        help="how tools are listed: whole, in a sentence each, found by five tools, or reached by one",
    )
    scripts = serve.add_mutually_exclusive_group()
    scripts.add_argument("--execute", action="store_true", default=None, help="let clients run Lua scripts")
    scripts.add_argument("--no-execute", action="store_false", dest="execute", help="do not let them")
    serve.add_argument(
        "--ready-views", action="store_true", help="shorter answers of well-known servers, by the views that ship"
    )
    serve.add_argument("--log", choices=("text", "json"), default="text", help="the form of what is told")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="over standard input and output, the default")
    transport.add_argument("--http", metavar="HOST:PORT", help="over Streamable HTTP at /mcp; port 0: any")
    serve.add_argument("--anyone", action="store_true", help="serve whoever reaches the address, without tokens")
    serve.add_argument(
        "--known-as",
        metavar="HOST",
        action="append",
        default=[],
        help="a host that clients reach it by, beside the address; once for each",
    )

    check = commands.add_parser("check", help="see whether a configuration can be served")
    _add_upstreams(check)

    tools = commands.add_parser("tools", help="list the tools of servers, and what each costs to list")
    _add_upstreams(tools)
    tools.add_argument("--upstream", metavar="NAME", help="just this server of the file")
    tools.add_argument("--query", metavar="WORDS", help="just those that fit, the best first, with their scores")
    tools.add_argument("--json", action="store_true", help="print one JSON array")

    call = commands.add_parser("call", help="call one tool of a server")
    call.add_argument("target", metavar="TARGET", help="the server: its URL, or its command in one word")
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    call.add_argument("arguments", metavar="ARGS", nargs="?", default="{}", help="its arguments, a JSON object")
    _add_fields(call)
    call.add_argument("--view", metavar="NAME", help="a view of the tool")
    call.add_argument("--json", action="store_true", help="print the whole result, one JSON object")

    conformance = commands.add_parser("conformance", help="see whether a server keeps the specification")
    conformance.add_argument("target", metavar="TARGET", help="the server: its URL, or its command in one word")
    conformance.add_argument(
        "--era", action="append", default=[], choices=("2025-11-25", "2026-07-28"), help="a revision it must speak"
    )
    conformance.add_argument(
        "--group",
        action="append",
        default=[],
        choices=_GROUPS,
        metavar="GROUP",
        help=f"just these checks, which it must offer: {', '.join(_GROUPS)}",
    )
    conformance.add_argument("--fixture", metavar="FILE", help="arguments for its tools, a JSON object")
    conformance.add_argument("--baseline", metavar="FILE", help="failures that are known, a line each")
    conformance.add_argument("--json", action="store_true", help="print the report as one JSON object")
    conformance.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML")

    suggest = commands.add_parser(
        "suggest", help="call tools, see what weighs in their answers, and get views and schemas"
    )
    _add_upstreams(suggest)
    suggest.add_argument("--upstream", metavar="NAME", help="just this server of the file")
    suggest.add_argument(
        "--call",
        dest="calls",
        nargs=2,
        metavar=("TOOL", "ARGS"),
        action="append",
        required=True,
        help="a call to look at: the tool's name, its arguments as a JSON object; more calls tell more",
    )
    suggest.add_argument("--run-anyway", action="store_true", help="call tools too that do not say that they only read")
    suggest.add_argument("--out", metavar="FOLDER", help="write the files there: views, and schemas")
    suggest.add_argument("--learn", action="store_true", help="keep which fields tools have whose servers declare none")
    suggest.add_argument("--json", action="store_true", help="print one JSON array")

    explain = commands.add_parser("explain", help="tell what a policy lets somebody see of a tool's output, and why")
    explain.add_argument("--policy", metavar="FILE", help="the file of policy; that of the --config by default")
    explain.add_argument(
        "--as",
        dest="who",
        metavar="WHO",
        required=True,
        help="nobody, or for example role:support,scope:orders:read,client:desk",
    )
    explain.add_argument("--tool", metavar="TOOL", required=True, help="the tool's name at its server")
    explain_group = _add_upstreams(explain, required=False)
    explain_group.add_argument("--schema", metavar="FILE", help="the tool's output schema")
    explain.add_argument("--upstream", metavar="NAME", help="just this server of the file")
    audit = commands.add_parser("audit", help="see which fields of which tools went to whom")
    audit.add_argument("file", metavar="FILE", help="the file of audit records, as the configuration names it")
    audit.add_argument("--by", choices=("tool", "principal", "field"), default="tool", help="what is summed up")
    audit.add_argument("--since", metavar="TIME", help="since so long ago, 7d, 12h or 30m, or since a time of ISO 8601")
    format_group = audit.add_mutually_exclusive_group()
    format_group.add_argument("--json", action="store_true", help="print one JSON array")
    format_group.add_argument("--export", action="store_true", help="print every record, one JSON object a line")

    token = commands.add_parser("token", help="make a bearer token, and the line for a file of tokens")
    token.add_argument("--subject", metavar="NAME", help="whose it is")
    token.add_argument("--client", metavar="NAME", help="the program that sends it")
    token.add_argument("--scopes", metavar="WORDS", default="", help="what it allows")
    token.add_argument("--roles", metavar="WORDS", default="", help="what the subject is")
    token.add_argument("--days", metavar="NUMBER", type=float, help="how long it is good; for ever by default")

    init = commands.add_parser("init", help="write a configuration with the servers that an MCP host has")
    init.add_argument("--from", dest="host", choices=("claude", "cursor", "vscode"), required=True, help="the host")
    init.add_argument("--file", metavar="FILE", help="the host's file, if it is not in its place")
    init.add_argument("--out", metavar="FILE", default="mcp.json", help="the file to write, mcp.json by default")

    project = commands.add_parser("project", help="trim the JSON value on standard input")
    _add_request(project)
    project.add_argument("--schema", metavar="FILE", help="the value's JSON Schema")

    derive = commands.add_parser("derive", help="derive the schema of trimmed values")
    _add_request(derive)
    derive.add_argument("--relax", action="store_true", help="the schema that every projection satisfies")
    return parser


def _add_upstreams(parser: Parser, *, required: bool = True) -> Any:
    """Add the mutually exclusive options that name servers; return their group."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("command_line", metavar="-- COMMAND", nargs="*", default=[], help="a server, by its command")
    group.add_argument("--url", help="a server, by its URL")
    group.add_argument("--config", metavar="FILE", help="the servers of a file, as hosts have them: mcp.json")
    return group


def _add_fields(parser: Parser) -> None:
    for option, description in (("--include", "a field to keep"), ("--exclude", "a field to leave out")):
        parser.add_argument(option, metavar="PATH", action="append", default=[], help=f"{description}; once for each")


def _add_request(parser: Parser) -> None:
    _add_fields(parser)
    parser.add_argument("--view", metavar="NAME", help="a view of the file given by --views")
    parser.add_argument("--views", metavar="FILE", help="a file of views, <tool>.views.json")
