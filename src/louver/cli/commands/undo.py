"""`louver undo`: restore the files of hosts that `louver doctor --apply` has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.cli import terminal
from louver.cli.hosts.swap import Swap, recorded
from louver.cli.hosts.table import Machine
from louver.errors import LouverError

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Restore the files; return 1 if one of them is left alone."""
    machine = Machine.current()
    found, status = 0, 0
    for folder in recorded(machine):
        try:
            swap = Swap.read(folder)
            if arguments.host in (None, swap.host):
                found += 1
                status |= _undo(swap)
        except LouverError as problem:
            terminal.print_stderr(problem.message)
            found, status = found + 1, 1
    if not found:
        terminal.print_stderr("there is nothing to undo")
    return status


def _undo(swap: Swap) -> int:
    undone = swap.undo()
    lines = ", ".join(undone.lines)
    if undone.is_left:
        hint = f"put the servers of {swap.folder / 'before'} in the place of 'louver' there"
        terminal.print_stderr(f"{swap.file} is left alone, since it has changed in lines {lines}: {hint}")
    elif undone.lines:
        terminal.print_stderr(f"{swap.file} has its servers from before Louver; what else has changed in it stays")
    else:
        terminal.print_stderr(f"{swap.file} is as it was before Louver")
    return 1 if undone.is_left else 0
