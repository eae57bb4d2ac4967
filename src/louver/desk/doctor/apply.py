"""Put Louver in the place of measured servers in a host's file, after showing the difference and asking.

Its configuration is files: servers, exposure, views and learned fields.

    mcp.json    {"mcpServers": {"memory": {..., "louver": {"views": "views/memory", ...}}},
                 "louver": {"exposure": "gateway", "learn": "learned"}}
    views/memory/read_graph.views.json

A suggested view applies to calls that request no fields, until the line `default` of its file is removed. Tools of
well-known servers have the views that ship with Louver (`readyViews`) in its place.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.views import file_name, ready_views
from louver.catalogue.learned import learned_file
from louver.cli import terminal
from louver.cli.json_streams import pretty
from louver.core.json import levels, strings
from louver.desk.doctor.measure import EXPOSURES
from louver.desk.doctor.places import holds_louver
from louver.desk.hosts.edit import difference, masked_servers, replace_servers
from louver.desk.hosts.read import HostServers, encode, is_toml, read_bytes
from louver.desk.hosts.swap import check_can_write, check_unchanged, exchange, swap_for, write_private
from louver.errors import InvalidConfig, InvalidInput, LouverError
from louver.gateway.config.env import variables
from louver.gateway.config.read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.desk.doctor.answers import AnswerCost
    from louver.desk.doctor.places import HostPlace
    from louver.desk.doctor.report import Diagnosis
    from louver.desk.hosts.swap import Swap
    from louver.desk.hosts.table import HostSource, Machine

FILE = "mcp.json"


@dataclass(frozen=True, slots=True)
class Change:
    """Louver in the place of servers, shown and not yet written."""

    found: HostServers
    text: str  # of the file with Louver
    swap: Swap
    servers: dict[str, dict[str, Any]]  # what Louver starts
    diagnosis: Diagnosis

    def write(self) -> None:
        """Write the configuration and exchange the file, or change nothing."""
        title, before, folder = self.found.source.host.title, self.found.data, self.swap.folder
        after = encode(self.text, before)
        try:
            with self.swap.locked():
                shortened = self._write(before, after)
        except OSError as error:
            raise LouverError(f"{folder} cannot be written: {error.strerror}") from None
        terminal.print_stderr(f"{self.found.source.path} starts Louver, with the configuration {folder / FILE}")
        for tool in shortened:
            terminal.print_stderr(f"answers of {tool} are shortened by a view in {folder / 'views'}")
        terminal.print_stderr(f"restart {title}. To undo: louver undo {self.found.source.host.name}")

    def _write(self, before: bytes, after: bytes) -> list[str]:
        file, folder = self.swap.file, self.swap.folder
        # The folder may be that of another process, which has changed the file.
        check_unchanged(file, before)
        try:
            shortened = _write_configuration(folder, self.servers, self.diagnosis)
            self.swap.write(before, after)
            exchange(file, before, after, self.swap.mode)
        except BaseException:  # after an interruption, too
            # A file that has been exchanged needs the folder.
            if read_bytes(file) != after:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        return shortened


def prepare(machine: Machine, place: HostPlace, diagnosis: Diagnosis) -> Change:
    """Show the exchange of the servers that have answered for Louver."""
    source, command = place.source, _louver_command()
    check_can_write(source.path.resolve())
    found, swap = HostServers.read(source), swap_for(machine, source)
    if found.servers != place.found.servers:
        raise InvalidConfig("its servers have changed meanwhile: try again", file=str(source.path))
    _check_not_applied(found, swap)
    answered = {state.name for state in diagnosis.measured.states if state.problem is None}
    servers = {name: server for name, server in place.imported.servers.items() if name in answered}
    if not servers:
        raise InvalidInput(f"no server of {source.path} has answered, so nothing is changed")
    needed = _variables(servers)
    entry = source.host.form.write(command, ["serve", "--config", str(swap.folder / FILE)], needed)
    replaced = [place.imported.names[name] for name in servers]
    name = _free_name(machine, found)
    text = replace_servers(found, replaced, name, entry)
    _show(found, text, name, needed)
    return Change(found, text, swap, servers, diagnosis)


def _check_not_applied(found: HostServers, swap: Swap) -> None:
    if not swap.is_recorded or found.data == swap.before:
        return
    file = str(found.source.path)
    if holds_louver(found):
        hint = f"'louver undo {found.source.host.name}' first, then apply again"
        raise InvalidConfig(f"the file has Louver already: {hint}", file=file)
    hint = f"if you need none of its servers, remove {swap.folder}, and apply again"
    raise InvalidConfig(f"Louver was removed from it otherwise than by 'louver undo': {hint}", file=file)


def _show(found: HostServers, text: str, name: str, needed: list[str]) -> None:
    path, place = found.source.path, found.source.place
    if path.is_symlink():
        terminal.print_stderr(f"{path} is a link to {path.resolve()}, which is changed")
    before, after = (masked_servers(each, place, name, as_toml=is_toml(path)) for each in (found.text, text))
    for line in difference(before, after, str(path)):
        print(terminal.printable(line), file=sys.stderr)
    if needed:
        title = found.source.host.title
        terminal.print_stderr(f"where {title} runs, these environment variables must be set: {', '.join(needed)}")


def _variables(servers: Mapping[str, dict[str, Any]]) -> list[str]:
    return sorted({name for level in levels({**servers}) for text in strings(level) for name in variables(text)})


def _free_name(machine: Machine, found: HostServers) -> str:
    """A name for Louver that the host uses nowhere: of two equal names the nearer hides the other."""
    used = set(found.names)
    for source in machine.sources(found.source.host):
        used |= _names_in(source)
    return next(name for name in ("louver", *(f"louver-{n}" for n in range(2, len(used) + 3))) if name not in used)


def _names_in(source: HostSource) -> set[str]:
    try:
        return set(HostServers.read(source).names)
    except InvalidConfig:
        # A missing or broken file uses no name.
        return set()


def _louver_command() -> str:
    """The path of this program: graphical hosts lack the shell's PATH."""
    if any((folder / "CACHEDIR.TAG").is_file() for folder in Path(sys.prefix).parents):
        install = "uv tool install louver"
        raise InvalidInput(f"this Louver is in a cache that may be cleared: install it first, for example by {install}")
    sibling = Path(sys.executable).with_name("louver.exe" if os.name == "nt" else "louver")
    return str(sibling) if sibling.is_file() else shutil.which("louver") or "louver"


def _write_configuration(folder: Path, servers: Mapping[str, dict[str, Any]], diagnosis: Diagnosis) -> list[str]:
    """Write the files, and return the tools whose answers a suggested view shortens."""
    exposure, answers = diagnosis.advice.exposure or "full", diagnosis.measured.answers
    shipped = {state.name: ready_views(state.server_name) for state in diagnosis.measured.states}
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    entries: dict[str, dict[str, Any]] = {
        name: {**server, "louver": {"readyViews": True}} if shipped[name] is not None else {**server}
        for name, server in servers.items()
    }
    shortened: list[str] = []
    for answer in answers:
        content = None if answer.suggestion is None else answer.suggestion.file()
        server = answer.tool.server
        views = shipped[server]
        if content is None or not _is_shorter(answer) or (views is not None and views.find(answer.name) is not None):
            continue
        path = folder / "views" / server / file_name(answer.name)
        if path.exists():
            continue
        write_private(path, _text(content))
        entries[server].setdefault("louver", {})["views"] = f"views/{server}"
        shortened.append(f"{server}: {answer.name}")
    disclosure = {"disclosure": EXPOSURES[exposure]} if exposure == "minimal" else {}
    settings = {"exposure": exposure, **disclosure, "learn": "learned"}
    write_private(folder / FILE, _text({"mcpServers": entries, "louver": settings}))
    _learn(folder, answers)
    return shortened


def _is_shorter(answer: AnswerCost) -> bool:
    return any(answer.with_view(form) < answer.shown(form) for form in ("structured", "text"))


def _learn(folder: Path, answers: Sequence[AnswerCost]) -> None:
    """Store the fields of answers from tools without an output schema."""
    undeclared = [each for each in answers if each.tool.samples and each.tool.output_schema is None]
    if not undeclared:
        return
    upstreams = {each.name: each for each in read_config(folder / FILE).upstreams}
    for answer in undeclared:
        answer.tool.learn(learned_file(folder / "learned", upstreams[answer.tool.server].server_id))


def _text(content: dict[str, Any]) -> bytes:
    # A lone surrogate occurs only in strings, where the escape written is JSON's own.
    return pretty(content).encode("utf-8", "backslashreplace")
