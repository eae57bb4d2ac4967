"""`louver undo`: restore the files of hosts that `louver doctor --apply` has changed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from louver.cli import terminal
from louver.cli.hosts.swap import swaps
from louver.cli.hosts.table import Machine
from louver.errors import LouverError

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Restore the files; return 1 if one of them is left alone."""
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    found = [swap for swap in swaps(machine) if arguments.host in (None, swap.host)]
    if not found:
        terminal.print_stderr("there is nothing to undo")
    status = 0
    for swap in found:
        try:
            changed = swap.undo()
        except LouverError as problem:
            terminal.print_stderr(problem.message)
            status = 1
            continue
        if changed:
            lines = ", ".join(changed)
            hint = f"put the servers of {swap.folder / 'before'} in the place of 'louver' there"
            terminal.print_stderr(f"{swap.file} is left alone, since it has changed in lines {lines}: {hint}")
            status = 1
        else:
            terminal.print_stderr(f"{swap.file} is as it was before Louver")
    return status
