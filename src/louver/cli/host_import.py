"""The servers of an MCP host, made fit for a configuration of ours.

::

    "GitHub MCP": {"command": "npx", "args": ["${workspaceFolder}"], "env": {"T": "${env:T}"}, "gallery": true}
    "GitHub-MCP": {"command": "npx", "args": ["/the/project"],       "env": {"T": "${T}"}}

Names become names that can stand before a tool's, variables of editors become what they stand for, and what only
matters to the host is left out. A server that needs what nobody can answer without the host, as `${input:token}`, is
left out, and so is one with a variable that ours have no form for, or of a transport that is not ours.
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
# A word after a colon, which is no default of a shell; those that people name may be of more words.
_ASKED = re.compile(r"(?:input|workspaceFolder):.+|[a-z][A-Za-z]*:\w[\w.-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Taken:
    """What can be taken over of a host's servers.

    Args:
        servers: The servers as ours, by names that can stand before a tool's.
        names: Those names -> the names in the host's file.
        left_out: What cannot be, by its name there -> why.
    """

    servers: dict[str, dict[str, Any]]
    names: dict[str, str]
    left_out: dict[str, InvalidConfig]


@dataclass(frozen=True, slots=True)
class Found:
    """What a host's file holds.

    Args:
        source: The file, and where in it.
        text: Its text, made plain.
        servers: Its servers.
    """

    source: Source
    text: str
    servers: Json

    @classmethod
    def read(cls, source: Source) -> Found:
        """What stands at a place of a host's file.

        Raises:
            InvalidConfig: The file cannot be read, or is not JSON.
        """
        text = plain(text_of(source.path))
        found = parsed(text, str(source.path))
        for key in source.place:
            found = members(found).get(str(key))
        return cls(source, text, found)

    @property
    def names(self) -> list[str]:
        """What the servers are called."""
        return [*members(self.servers)]

    @property
    def is_louver_alone(self) -> bool:
        """Whether all of them have been put behind Louver already."""
        return is_object(self.servers) and all(map(is_louver, self.servers.values()))

    def taken_over(self, home: Path) -> Taken:
        """The servers as ours.

        Args:
            home: The user's folder.

        Raises:
            InvalidConfig: What stands where servers should is no object of them; with file and line.
        """
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
        """One server as ours.

        Raises:
            InvalidConfig: It is none, or needs what only its host can answer, or a variable that ours have no form for;
                with file and line. Of one that is disabled too, for it may be enabled one day.
        """
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
    """What the strings of a host say, in ours.

    Args:
        project: The folder that the host's file is about, if it is about one.
        home: The user's folder.
        asked: Gets what only the host can answer, and where it stands.
        formless: Gets the variables that ours have no form for, and where they stand.
    """

    project: Path | None
    home: Path
    asked: dict[str, Place]
    formless: dict[str, Place]

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
        # With the sign before it, what is written for a variable would be read as the text `${`.
        sign = "$" if found.string[: found.start()].endswith("$") else ""
        if (sign and variable is not None) or (variable is None and what.startswith("env:")):
            self.formless.setdefault(sign + found.group(), place)
        if variable is not None:
            return f"${{{variable['ours']}}}"
        # Text that only looks so: a script for a shell, say.
        return f"${found.group()}"

    def _known(self) -> dict[str, str]:
        known = {"userHome": str(self.home), "pathSeparator": os.sep, "/": os.sep}
        if self.project is not None:
            known |= {"workspaceFolder": str(self.project), "workspaceFolderBasename": self.project.name}
        return known


def _names(given: list[str]) -> dict[str, str]:
    """New name -> old name, in order; a name that is right stays."""
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
    """Whether a server is Louver itself, where it was put in front already."""
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
    """`text` without comments and trailing commas; what is no JSON otherwise stays none."""
    return _COMMA.sub(_blank, _COMMENT.sub(_blank, text))


def _blank(found: re.Match[str]) -> str:
    return found.group() if found["extra"] is None else re.sub(r"[^\n]", " ", found["extra"])
