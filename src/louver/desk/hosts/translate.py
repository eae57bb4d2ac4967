"""The servers of an MCP host, translated for a configuration of ours.

    "GitHub MCP": {"command": "npx", "args": ["${workspaceFolder}"], "env": {"T": "${env:T}"}, "gallery": true}
    "GitHub-MCP": {"command": "npx", "args": ["/the/project"],       "env": {"T": "${T}"}}

A server is left out if it needs a value that only the host knows (`${input:token}`), a variable that our syntax cannot
express, or another transport.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from louver.catalogue.files.line_numbers import nearest_line
from louver.core.json import is_array, is_object
from louver.errors import InvalidConfig
from louver.gateway.config.env import HOST_VARIABLES
from louver.gateway.config.validate import check, schema, type_name

if TYPE_CHECKING:
    from louver.catalogue.files.line_numbers import Place
    from louver.core.json import Json
    from louver.desk.hosts.read import HostServers, ServerText
    from louver.desk.hosts.table import HostSource

MAX_HOST_SERVERS = 1000
"""Servers in one file of a host."""


_REFERENCE = re.compile(r"\$\{(?P<what>[^}]*+)(?P<end>\}|\Z)")
# A file that does not depend on where the host's file is.
_FILE = re.compile(r"file:[/~].+")
_VARIABLE = re.compile(r"(?:env:)?(?P<ours>[A-Za-z_]\w*(?::-.*)?)", re.ASCII | re.DOTALL)
# `name:word`, unlike a shell default `NAME:-value`; inputs and folders have names of several words.
_HOST_REFERENCE = re.compile(r"(?:input|workspaceFolder|file):.+|[a-z][A-Za-z]*:\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class ImportedServers:
    """The servers that can be imported."""

    servers: dict[str, dict[str, Any]]  # in our form, by names that are valid as prefixes of tool names
    names: dict[str, str]  # new name -> name in the host's file
    left_out: dict[str, InvalidConfig]  # name in the host's file -> reason


def import_servers(found: HostServers, home: Path) -> ImportedServers:
    """Translate the servers of a host's file; `home` is the user's home folder."""
    if not is_object(found.servers):
        _refuse_servers(found, f"expected an object, not {type_name(found.servers)}")
    if len(found.servers) > MAX_HOST_SERVERS:
        _refuse_servers(found, f"expected at most {MAX_HOST_SERVERS:,} servers, not {len(found.servers):,}")
    taken: dict[str, dict[str, Any]] = {}
    left_out: dict[str, InvalidConfig] = {}
    texts = found.texts()
    for name, written in found.servers.items():
        server = found.source.host.form.read(written) if is_object(written) else written
        if not is_louver(server):
            try:
                taken[name] = _import_server(found.source, name, server, texts[name], home)
            except InvalidConfig as why:
                left_out[name] = why
    names = _unique_names([*taken])
    return ImportedServers({new: taken[old] for new, old in names.items()}, names, left_out)


def _refuse_servers(found: HostServers, expected: str) -> NoReturn:
    """Raise an error about the object with the servers."""
    place, path = found.source.place, str(found.source.path)
    raise InvalidConfig(f"{place[-1]!r}: {expected}", file=path, line=nearest_line(found.plain, place))


def _import_server(source: HostSource, name: str, server: Json, at: ServerText, home: Path) -> dict[str, Any]:
    """Translate one server. A disabled one is checked too, since the user may enable it later."""
    place, path = (*source.place, name), str(source.path)
    enabled = {**server, "disabled": False} if is_object(server) and server.get("disabled") is True else server
    check(enabled, at.text, path, lambda below: (*place, *below), part="server", first_line=at.line)
    translation = _Translation(source, home, {}, {})
    taken = translation.server(place, server)
    for refused, message_of in (
        (translation.unresolved, _unresolved_message),
        (translation.unsupported, _unsupported_message),
    ):
        if refused:
            line = nearest_line(at.text, next(iter(refused.values())), at.line)
            raise InvalidConfig(message_of(", ".join(map(repr, refused))), file=path, line=line)
    return taken


@dataclass(frozen=True, slots=True)
class _Translation:
    """Translates the strings of a host's file."""

    source: HostSource
    home: Path
    unresolved: dict[str, Place]  # collects references that only the host can resolve, with their places
    unsupported: dict[str, Place]  # collects variables that our syntax cannot express, with their places

    def server(self, place: Place, server: dict[str, Any]) -> dict[str, Any]:
        properties = schema()["$defs"]["server"]["properties"]
        supported = {key: value for key, value in server.items() if "x-of" not in properties[key]}
        translated = self.value(place, supported)
        project = self.source.project
        if project is not None and "cwd" in translated and not translated["cwd"].startswith("${"):
            translated["cwd"] = str(project / translated["cwd"])
        if project is not None and translated.get("headersHelper", "").startswith("."):
            translated["headersHelper"] = f"{shlex.quote(str(project))}/{translated['headersHelper']}"
        return translated

    def value(self, place: Place, value: Json) -> Json:
        if is_object(value):
            return {key: self.value((*place, key), member) for key, member in value.items()}
        if is_array(value):
            return [self.value((*place, n), element) for n, element in enumerate(value)]
        if not isinstance(value, str):
            return value
        form = self.source.host.form
        if form.host_only is not None:
            self.unresolved.update(dict.fromkeys(form.host_only.findall(value), place))
        if not form.has_references:
            return value
        return _REFERENCE.sub(lambda found: self._translate(place, found), value)

    def _translate(self, place: Place, match: re.Match[str]) -> str:
        if not match["end"]:
            return match.group().replace("${", "$${")
        reference: str = match["what"]
        if "headers" in place and _FILE.fullmatch(reference):
            return match.group()
        if reference in HOST_VARIABLES or (_HOST_REFERENCE.fullmatch(reference) and not reference.startswith("env:")):
            if reference not in self._host_values():
                self.unresolved.setdefault(match.group(), place)
            return self._host_values().get(reference, "")
        variable = _VARIABLE.fullmatch(reference)
        # After a `$`, our form of a variable would be read as the escaped text `${`.
        sign = "$" if match.string.endswith("$", 0, match.start()) else ""
        if (sign and variable is not None) or (variable is None and reference.startswith("env:")):
            self.unsupported.setdefault(sign + match.group(), place)
        if variable is not None:
            return f"${{{variable['ours']}}}"
        # Not a reference but, for example, part of a shell script: escape it.
        return f"${match.group()}"

    def _host_values(self) -> dict[str, str]:
        values = {"userHome": str(self.home), "pathSeparator": os.sep, "/": os.sep}
        if (project := self.source.project) is not None:
            values |= {"workspaceFolder": str(project), "workspaceFolderBasename": project.name}
        return values


def _unique_names(old_names: list[str]) -> dict[str, str]:
    """New name -> old name, in order; a valid name stays."""
    names: dict[str, str] = {}
    for old in old_names:
        is_valid = re.search(schema()["properties"]["mcpServers"]["propertyNames"]["pattern"], old)
        new = old if is_valid else _valid_name(old)
        others = {name for name in old_names if name != old} | names.keys()
        number = 1
        base = new
        while new in others:
            number += 1
            new = f"{base}-{number}"
        names[new] = old
    return names


def _valid_name(old: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_.-]+", "-", old)).strip("-_") or "server"


def is_louver(server: Json) -> bool:
    if not is_object(server) or not is_array(server.get("args")):
        return False
    return Path(str(server.get("command"))).stem == "louver" and "serve" in server["args"]


def _unresolved_message(references: str) -> str:
    return f"only the host can answer {references}: write an environment variable there instead, as '${{env:TOKEN}}'"


def _unsupported_message(references: str) -> str:
    expected = "a variable with a name of letters, digits and '_', and no '$' before it"
    return f"there is no way to write {references} here: expected {expected}"
