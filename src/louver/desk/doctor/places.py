"""The places of hosts' files that hold servers which Louver can start, and reports on those that it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from louver.cli import terminal
from louver.core.json import is_object, members
from louver.desk.hosts.read import HostServers
from louver.desk.hosts.translate import import_servers, is_louver
from louver.errors import InvalidConfig, InvalidInput
from louver.gateway.config.model import Config
from louver.gateway.config.read import as_config
from louver.limits import MAX_DOCTOR_SERVERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from louver.desk.hosts.table import HostFiles, HostSource, Machine
    from louver.desk.hosts.translate import ImportedServers
    from louver.gateway.config.model import UpstreamConfig


@dataclass(frozen=True, slots=True)
class HostPlace:
    """A place with servers, as they are in the host's file and as Louver starts them."""

    found: HostServers
    imported: ImportedServers
    config: Config = field(repr=False)  # without disabled servers, and those whose variables are not set

    @property
    def source(self) -> HostSource:
        return self.found.source


def find_places(hosts: Sequence[HostFiles], machine: Machine) -> list[HostPlace]:
    """The places with servers to start; the others are reported."""
    sources = [source for host in hosts for source in machine.sources(host)]
    places: list[HostPlace] = []
    has_louver = False
    for source in sources:
        if not _is_there(source.path):
            continue
        try:
            found = HostServers.read(source)
            if not found.servers:
                continue
            if holds_louver(found):
                has_louver = True
                undo = f"'louver undo {source.host.name}' removes it"
                terminal.print_stderr(f"{source.path} has Louver already: {undo}")
            places += _startable(found, machine)
        except InvalidConfig as problem:
            terminal.print_stderr(problem.message)
    if not places:
        if has_louver:
            raise InvalidInput("there is no server to measure but those behind Louver: 'louver undo' brings them back")
        looked = ", ".join(dict.fromkeys(str(source.path) for source in sources))
        raise InvalidInput(
            f"there is no server to measure in {looked}. 'louver demo' shows Louver on a server of its own"
        )
    return places


def _is_there(path: Path) -> bool:
    """Whether there is a file; also one that cannot be looked at, which is reported then."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def holds_louver(found: HostServers) -> bool:
    """Whether Louver is one of the servers."""
    read = found.source.host.form.read
    return any(is_object(server) and is_louver(read(server)) for server in members(found.servers).values())


def _startable(found: HostServers, machine: Machine) -> Iterator[HostPlace]:
    imported = import_servers(found, machine.home)
    for name, reason in imported.left_out.items():
        terminal.print_stderr(f"server {name!r} is left out, and stays where it is: {reason}")
    upstreams = tuple(
        upstream for name, server in imported.servers.items() for upstream in _upstream(found, name, server)
    )
    if len(upstreams) > MAX_DOCTOR_SERVERS:
        message = f"it has {len(upstreams)} servers: at most {MAX_DOCTOR_SERVERS} are started"
        raise InvalidConfig(message, file=str(found.source.path))
    if upstreams:
        yield HostPlace(found, imported, Config(upstreams))


def _upstream(found: HostServers, name: str, server: dict[str, Any]) -> Iterator[UpstreamConfig]:
    try:
        if not server.get("disabled", False):
            yield from as_config({"mcpServers": {name: server}}).upstreams
    except InvalidConfig as problem:
        # The position in the error is that in the translation.
        reason = problem.message.partition(f"server {name!r}: ")[2]
        terminal.print_stderr(f"server {name!r} of {found.source.path} is not started: {reason}")


def chains(places: Sequence[HostPlace]) -> list[list[HostPlace]]:
    """Places in rows: each has servers of the first and no others, so that these serve the row."""
    found: list[list[HostPlace]] = []
    for place in sorted(places, key=lambda place: -len(place.config.upstreams)):
        row = next((row for row in found if _servers(place) <= _servers(row[0])), None)
        if row is None:
            found.append(row := [])
        row.append(place)
    return found


def _servers(place: HostPlace) -> set[str]:
    return {repr((each, each.command, each.url, each.env, each.headers)) for each in place.config.upstreams}


def start_lines(row: Sequence[HostPlace]) -> list[str]:
    """What is started for a row of places; without arguments, which may be secrets."""
    first = row[0].config.upstreams
    same = [place for place in row if len(place.config.upstreams) == len(first)]
    return [
        *(f"{place.source.title}:" for place in same),
        *(f"  {each.name}: {each.command[0] if each.command else urlsplit(each.url).hostname}" for each in first),
        *(
            f"{place.source.title}, of these: {', '.join(each.name for each in place.config.upstreams)}"
            for place in row[len(same) :]
        ),
    ]
