"""`louver doctor`: what the MCP servers of the hosts on this machine cost, and what Louver would save.

Nothing is started, called or written before the user has agreed, by an answer or by `--yes`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from louver.catalogue.hosts import host_of
from louver.cli import signals, terminal
from louver.cli.doctor.apply import apply
from louver.cli.doctor.measure import measure
from louver.cli.doctor.places import find_places, start_lines
from louver.cli.doctor.recommend import recommend
from louver.cli.doctor.report import Diagnosis, show
from louver.cli.hosts.table import HOSTS, Machine
from louver.cli.request import parse_object, write
from louver.core.json import compact
from louver.errors import InvalidInput, LouverError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from louver.cli.doctor.measure import Calls, Measurement
    from louver.cli.doctor.places import HostPlace


def run(arguments: Namespace) -> int:
    """Print the table and the advice, and apply it if that is requested; return 1 if something could not be applied."""
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    calls = [(name, parse_object(text)) for name, text in arguments.calls]
    names = [*arguments.hosts, *([arguments.apply] if arguments.apply else [])]
    places = find_places([HOSTS[name] for name in dict.fromkeys(names)] or [*HOSTS.values()], machine)
    for place in places:
        for line in start_lines(place):
            terminal.print_stderr(line)
    count = sum(len(place.config.upstreams) for place in places)
    if not _confirmed(f"Start {count} servers to measure them?", yes=arguments.yes):
        return 1
    diagnoses = signals.run(_measure(places, calls, yes=arguments.yes))
    if arguments.json:
        write([each.to_json() for each in diagnoses])
    else:
        show(diagnoses)
    if arguments.apply is None:
        return 0
    return _apply(machine, list(zip(places, diagnoses, strict=True)), arguments)


async def _measure(places: Sequence[HostPlace], calls: Calls, *, yes: bool) -> list[Diagnosis]:
    measured: dict[str, Measurement] = {}
    diagnoses: list[Diagnosis] = []

    def may_call(names: list[str]) -> bool:
        terminal.print_stderr(f"tools that only read, and need no arguments: {', '.join(names)}")
        return _confirmed("Call each once, to see how much it answers?", yes=yes)

    for place in places:
        client = place.source.host.client
        # The same servers in another host are measured once, unless Louver treats the hosts differently.
        key = compact([place.imported.servers, repr(host_of(client))])
        if key not in measured:
            measured[key] = await measure(place.config, client, calls, may_call)
        diagnoses.append(Diagnosis(place.source, measured[key], recommend(measured[key], client)))
    return diagnoses


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
