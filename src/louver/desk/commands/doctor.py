"""`louver doctor`: what the MCP servers of the hosts on this machine cost, and what Louver would save.

Nothing is started, called or written before the user has agreed, by an answer or by `--yes`. `louver undo` restores
the files of hosts that it has changed.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from louver.cli import process, terminal
from louver.cli.json_streams import parse_object, write
from louver.cli.upstreams import unknown_tool_error
from louver.desk.doctor.apply import prepare
from louver.desk.doctor.measure import measure
from louver.desk.doctor.places import chains, find_places, start_lines
from louver.desk.doctor.recommend import recommend
from louver.desk.doctor.report import Diagnosis, show
from louver.desk.hosts.swap import Swap, recorded
from louver.desk.hosts.table import HOSTS, Machine
from louver.errors import InvalidInput, LouverError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from louver.desk.doctor.answers import Calls
    from louver.desk.doctor.places import HostPlace
    from louver.desk.hosts.table import HostSource


def run(arguments: Namespace) -> int:
    return _undo(arguments) if arguments.command == "undo" else _diagnose(arguments)


def _diagnose(arguments: Namespace) -> int:
    """Print the table and the advice, and apply it if that is requested; return 1 if a call or a change is missing."""
    machine = Machine.current()
    calls = [(name, parse_object(text)) for name, text in arguments.calls]
    hosts = [*arguments.hosts, *([arguments.apply] if arguments.apply else [])]
    places = find_places([HOSTS[name] for name in dict.fromkeys(hosts)] or [*HOSTS.values()], machine)
    rows = chains(places)
    for line in (line for row in rows for line in start_lines(row)):
        terminal.print_stderr(line)
    count = sum(len(row[0].config.upstreams) for row in rows)
    others = "" if calls else ", and call those of their tools that only read and need no arguments"
    answer = _ask(f"Start {count} servers{others}?", "" if calls else "start", yes=arguments.yes)
    if answer == "n":
        return 1
    found = process.run(_measure(rows, calls, call_others=not calls and answer == "y"))
    diagnoses = [found[place.source] for place in places]
    if arguments.json:
        write([each.to_json() for each in diagnoses])
    else:
        show(diagnoses)
    names = sorted({name for each in diagnoses for name in each.measured.names})
    unknown = [name for name, _ in calls if name not in names]
    for name in unknown:
        terminal.print_stderr(unknown_tool_error(name, names).message)
    is_applied = arguments.apply is None or _apply(machine, list(zip(places, diagnoses, strict=True)), arguments)
    return 0 if is_applied and not unknown else 1


async def _measure(
    rows: Sequence[Sequence[HostPlace]], calls: Calls, *, call_others: bool
) -> dict[HostSource, Diagnosis]:
    found: dict[HostSource, Diagnosis] = {}
    for row in rows:
        wanted = [(place.config, place.source.host.client) for place in row]
        for place, measured in zip(row, await measure(wanted, calls, call_others=call_others), strict=True):
            found[place.source] = Diagnosis(place.source, measured, recommend(measured, place.source.host.client))
    return found


def _apply(machine: Machine, found: Sequence[tuple[HostPlace, Diagnosis]], arguments: Namespace) -> bool:
    """Whether everything that was to be applied is."""
    is_applied = True
    for place, diagnosis in found:
        if not arguments.apply and diagnosis.advice.exposure is None:
            continue
        try:
            change = prepare(machine, place, diagnosis)
            if _ask(f"Write this to {place.source.path}?", yes=arguments.yes) == "y":
                change.write()
            else:
                is_applied = False
        except LouverError as problem:
            terminal.print_stderr(problem.message)
            is_applied = False
    return is_applied


def _ask(question: str, other: str = "", *, yes: bool) -> str:
    """The user's answer: `y`, `n`, or the other one that is possible."""
    if yes:
        return "y"
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} There is no terminal to ask at: --yes agrees")
    choices = f"y/{other}/N" if other else "y/N"
    print(f"{question} [{choices}] ", end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline().strip().lower()
    return "y" if answer in ("y", "yes") else other if other and answer == other else "n"


def _undo(arguments: Namespace) -> int:
    """Restore the files; return 1 if one of them is left alone."""
    machine = Machine.current()
    found, status = 0, 0
    for folder in recorded(machine):
        try:
            swap = Swap.read(folder)
            if arguments.host in (None, swap.host):
                found += 1
                status |= _undo_swap(swap)
        except LouverError as problem:
            terminal.print_stderr(problem.message)
            found, status = found + 1, 1
    if not found:
        terminal.print_stderr("there is nothing to undo")
    return status


def _undo_swap(swap: Swap) -> int:
    undone = swap.undo()
    if undone.is_left:
        hint = f"put the servers of {swap.folder / 'before'} in the place of 'louver' there"
        terminal.print_stderr(f"{swap.file} is left alone, since it has changed in lines {undone.lines}: {hint}")
    elif undone.lines:
        terminal.print_stderr(f"{swap.file} has its servers from before Louver; what else has changed in it stays")
    else:
        terminal.print_stderr(f"{swap.file} is as it was before Louver")
    return 1 if undone.is_left else 0
