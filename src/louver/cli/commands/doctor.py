"""`louver doctor`: what the MCP servers of the hosts on this machine cost, and what Louver would save.

Nothing is started, called or written before the user has agreed, by an answer or by `--yes`.
"""

from __future__ import annotations

import os
import sys
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from louver.cli import signals, terminal
from louver.cli.doctor.apply import apply
from louver.cli.doctor.measure import measure
from louver.cli.doctor.places import find_places, start_lines
from louver.cli.doctor.recommend import recommend
from louver.cli.doctor.report import Diagnosis, show
from louver.cli.hosts.table import HOSTS, Machine
from louver.cli.request import parse_object, write
from louver.errors import InvalidInput, LouverError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from louver.cli.doctor.measure import Calls
    from louver.cli.doctor.places import HostPlace
    from louver.cli.hosts.table import HostSource


def run(arguments: Namespace) -> int:
    """Print the table and the advice, and apply it if that is requested; return 1 if something could not be applied."""
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    calls = [(name, parse_object(text)) for name, text in arguments.calls]
    names = [*arguments.hosts, *([arguments.apply] if arguments.apply else [])]
    places = find_places([HOSTS[name] for name in dict.fromkeys(names)] or [*HOSTS.values()], machine)
    # The same servers in several files are started once.
    groups = [[*group] for _, group in groupby(sorted(places, key=_servers), _servers)]
    for line in (line for group in groups for line in start_lines(group)):
        terminal.print_stderr(line)
    count = sum(len(group[0].config.upstreams) for group in groups)
    if not _confirmed(f"Start {count} servers to measure them?", yes=arguments.yes):
        return 1
    found = signals.run(_measure(groups, calls, yes=arguments.yes))
    diagnoses = [found[place.source] for place in places]
    if arguments.json:
        write([each.to_json() for each in diagnoses])
    else:
        show(diagnoses)
    if arguments.apply is None:
        return 0
    return _apply(machine, list(zip(places, diagnoses, strict=True)), arguments)


def _servers(place: HostPlace) -> str:
    return repr([(each, each.command, each.url, each.env, each.headers) for each in place.config.upstreams])


async def _measure(groups: Sequence[Sequence[HostPlace]], calls: Calls, *, yes: bool) -> dict[HostSource, Diagnosis]:
    def may_call(names: list[str]) -> bool:
        terminal.print_stderr(f"tools that only read, and need no arguments: {', '.join(names)}")
        return _confirmed("Call each once, to see how much it answers?", yes=yes)

    found: dict[HostSource, Diagnosis] = {}
    for group in groups:
        clients = [place.source.host.client for place in group]
        for place, measured in zip(group, await measure(group[0].config, clients, calls, may_call), strict=True):
            found[place.source] = Diagnosis(place.source, measured, recommend(measured, place.source.host.client))
    return found


def _apply(machine: Machine, found: Sequence[tuple[HostPlace, Diagnosis]], arguments: Namespace) -> int:
    status = 0
    for place, diagnosis in found:
        if not arguments.apply and diagnosis.advice.exposure is None:
            continue
        question = f"Write this to {place.source.path}?"
        try:
            if not apply(machine, place, diagnosis, lambda: _confirmed(question, yes=arguments.yes)):  # noqa: B023 - it is called at once
                status = 1
        except LouverError as problem:
            terminal.print_stderr(problem.message)
            status = 1
    return status


def _confirmed(question: str, *, yes: bool) -> bool:
    if yes:
        return True
    if not sys.stdin.isatty():
        raise InvalidInput(f"{question} There is no terminal to ask at: --yes agrees")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
