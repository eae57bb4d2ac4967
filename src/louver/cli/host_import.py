"""The servers of an MCP host, translated for a configuration of ours.

    "GitHub MCP": {"command": "npx", "args": ["${workspaceFolder}"], "env": {"T": "${env:T}"}, "gallery": true}
    "GitHub-MCP": {"command": "npx", "args": ["/the/project"],       "env": {"T": "${T}"}}

A server is left out if it needs a value that only the host knows (`${input:token}`), a variable that our syntax cannot
express, or a transport that we do not support.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.line_numbers import nearest_line
from louver.core.json import is_array, is_object, members
from louver.errors import InvalidConfig
from louver.gateway.config.env import HOST_VARIABLES
from louver.gateway.config.read import text_of
from louver.gateway.config.validate import check, parsed, schema

if TYPE_CHECKING:
    from louver.catalogue.files.line_numbers import Place
    from louver.cli.hosts import Source
    from louver.core.json import Json


_REFERENCE = re.compile(r"\$\{(?:(?P<what>[^}]*)\})?")
_VARIABLE = re.compile(r"(?:env:)?(?P<ours>[A-Za-z_]\w*(?::-.*)?)", re.ASCII | re.DOTALL)
# `name:word`, unlike a shell default `NAME:-value`; inputs and folders have names of several words.
_ASKED = re.compile(r"(?:input|workspaceFolder):.+|[a-z][A-Za-z]*:\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Taken:
    """The servers that can be imported."""

    servers: dict[str, dict[str, Any]]  # in our form, by names that are valid as prefixes of tool names
    names: dict[str, str]  # new name -> name in the host's file
    left_out: dict[str, InvalidConfig]  # name in the host's file -> reason


@dataclass(frozen=True, slots=True)
class Found:
    """The servers in a host's file."""

    source: Source
    text: str  # without comments and trailing commas
    servers: Json  # not validated yet

    @classmethod
    def read(cls, source: Source) -> Found:
        """Read the servers at a place of a host's file."""
        text = plain(text_of(source.path))
        found = parsed(text, str(source.path))
        for key in source.place:
            found = members(found).get(str(key))
        return cls(source, text, found)

    @property
    def names(self) -> list[str]:
        return [*members(self.servers)]

    @property
    def is_louver_alone(self) -> bool:
        """Whether Louver has replaced every server already."""
        return is_object(self.servers) and all(map(is_louver, self.servers.values()))

    def taken_over(self, home: Path) -> Taken:
        """Translate the servers; `home` is the user's home folder."""
        if not is_object(self.servers):
            check({"mcpServers": self.servers}, self.text, str(self.source.path), lambda _: self.source.place)
        taken: dict[str, dict[str, Any]] = {}
        left_out: dict[str, InvalidConfig] = {}
        for name, server in self.servers.items():
            if not is_louver(server):
                try:
                    taken[name] = self._taken(name, server, home)
                except InvalidConfig as why:
                    left_out[name] = why
        names = _names([*taken])
        return Taken({new: taken[old] for new, old in names.items()}, names, left_out)

    def _taken(self, name: str, server: Json, home: Path) -> dict[str, Any]:
        """Translate one server. A disabled one is checked too, since the user may enable it later."""
        place = (*self.source.place, name)
        enabled = {**server, "disabled": False} if is_object(server) and server.get("disabled") is True else server
        check(enabled, self.text, str(self.source.path), lambda below: (*place, *below), part="server")
        translation = _Translation(self.source.project, home, {}, {})
        taken = translation.server(place, server)
        for refused, told in ((translation.asked, _unanswered), (translation.formless, _unwritable)):
            if refused:
                line = nearest_line(self.text, next(iter(refused.values())))
                raise InvalidConfig(told(", ".join(map(repr, refused))), file=str(self.source.path), line=line)
        return taken


@dataclass(frozen=True, slots=True)
class _Translation:
    """Translates the strings of a host's file."""

    project: Path | None  # the folder that the host's file belongs to, if any
    home: Path
    asked: dict[str, Place]  # collects references that only the host can resolve, with their places
    formless: dict[str, Place]  # collects variables that our syntax cannot express, with their places

    def server(self, place: Place, server: dict[str, Any]) -> dict[str, Any]:
        known = schema()["$defs"]["server"]["properties"]
        kept = {key: value for key, value in server.items() if "x-of" not in known[key]}
        taken = self.value(place, kept)
        if self.project is not None and "cwd" in taken and not taken["cwd"].startswith("${"):
            taken["cwd"] = str(self.project / taken["cwd"])
        return taken

    def value(self, place: Place, value: Json) -> Json:
        if is_object(value):
            return {key: self.value((*place, key), member) for key, member in value.items()}
        if is_array(value):
            return [self.value((*place, n), element) for n, element in enumerate(value)]
        if not isinstance(value, str):
            return value
        return _REFERENCE.sub(lambda found: self._translated(place, found), value)

    def _translated(self, place: Place, found: re.Match[str]) -> str:
        what: str = found["what"] or ""
        if what in HOST_VARIABLES or (_ASKED.fullmatch(what) and not what.startswith("env:")):
            if what not in self._known():
                self.asked.setdefault(found.group(), place)
            return self._known().get(what, "")
        variable = _VARIABLE.fullmatch(what)
        # After a `$`, our form of a variable would be read as the escaped text `${`.
        sign = "$" if found.string[: found.start()].endswith("$") else ""
        if (sign and variable is not None) or (variable is None and what.startswith("env:")):
            self.formless.setdefault(sign + found.group(), place)
        if variable is not None:
            return f"${{{variable['ours']}}}"
        # Not a reference but, for example, part of a shell script: escape it.
        return f"${found.group()}"

    def _known(self) -> dict[str, str]:
        known = {"userHome": str(self.home), "pathSeparator": os.sep, "/": os.sep}
        if self.project is not None:
            known |= {"workspaceFolder": str(self.project), "workspaceFolderBasename": self.project.name}
        return known


def _names(given: list[str]) -> dict[str, str]:
    """New name -> old name, in order; a valid name stays."""
    names: dict[str, str] = {}
    for old in given:
        right = re.search(schema()["properties"]["mcpServers"]["propertyNames"]["pattern"], old)
        new = old if right else _name(old)
        others = {name for name in given if name != old} | names.keys()
        number = 1
        base = new
        while new in others:
            number += 1
            new = f"{base}-{number}"
        names[new] = old
    return names


def _name(old: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_.-]+", "-", old)).strip("-_") or "server"


def is_louver(server: Json) -> bool:
    if not is_object(server) or not is_array(server.get("args")):
        return False
    return Path(str(server.get("command"))).stem == "louver" and "serve" in server["args"]


def _unanswered(shown: str) -> str:
    return f"only the host can answer {shown}: write an environment variable there instead, as '${{env:TOKEN}}'"


def _unwritable(shown: str) -> str:
    wanted = "a variable with a name of letters, digits and '_', and no '$' before it"
    return f"there is no way to write {shown} here: expected {wanted}"


_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENT = re.compile(rf"{_STRING}|(?P<extra>//[^\n]*|/\*.*?\*/)", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|(?P<extra>,)(?=\s*[\]}}])", re.DOTALL)


def plain(text: str) -> str:
    """`text` without comments and trailing commas; blanks replace them, so that line numbers stay."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found.group() if found["extra"] is None else re.sub(r"[^\n]", " ", found["extra"])
