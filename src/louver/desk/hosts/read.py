"""A host's file: its bytes, and the servers at one place in it.

JSON may have comments and trailing commas; a file that ends in `.toml` is TOML. Devices and pipes are not opened.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from louver.catalogue.files.open_regular import regular
from louver.core.json import compact, is_object, members
from louver.desk.hosts.members import members_at, span
from louver.errors import InvalidConfig
from louver.gateway.config.validate import parse_json

if TYPE_CHECKING:
    from pathlib import Path

    from louver.core.json import Json
    from louver.desk.hosts.table import HostSource

MAX_HOST_FILE_BYTES = 32_000_000
"""Largest file of a host that is read, in bytes: Claude Code keeps a history beside its servers."""

MAX_TOML_BYTES = 1_000_000
"""Of a file of TOML, in bytes: the standard library reads one a second, and Codex keeps no history in it."""

MAX_KEY_NAMES = 100
"""Names that dots join in a key of TOML, which the standard library reads in quadratic time."""


_BYTE_ORDER_MARK = "\ufeff"
_NAME = r'"(?P<basic>[^"\n]*)"|\'(?P<literal>[^\'\n]*)\'|(?P<bare>[\w-]+)'
# Of a table of TOML.
_HEADER = re.compile(rf"^[ \t]*\[[ \t]*[\"']?(?P<key>[\w-]+)[\"']?[ \t]*\.[ \t]*(?:{_NAME})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class HostServers:
    """The servers at a place of a host's file."""

    source: HostSource
    data: bytes  # the whole file
    text: str  # the same, without a byte order mark
    plain: str  # of JSON, without comments and trailing commas; of TOML, empty
    servers: Json  # not validated yet

    @classmethod
    def read(cls, source: HostSource) -> HostServers:
        data = read_bytes(source.path)
        text = decode(data, source.path)
        plain = "" if is_toml(source.path) else strip_comments(text)
        value = parse(text, source.path)
        if not is_object(value):
            raise InvalidConfig("expected an object with the settings of the host", file=str(source.path), line=1)
        for key in source.place:
            value = members(value).get(str(key))
        return cls(source, data, text, plain, value)

    @property
    def names(self) -> list[str]:
        return [*members(self.servers)]

    def texts(self) -> dict[str, ServerText]:
        """A JSON text of each server, so that errors in one are named with its line."""
        if is_toml(self.source.path):
            return self._texts_of_toml()
        texts: dict[str, ServerText] = {}
        line, at = 1, 0
        for member in members_at(self.plain, span(self.plain, self.source.place)[0]):
            line, at = line + self.plain.count("\n", at, member.start), member.start
            leading = "".join(f"{{{json.dumps(key)}:" for key in self.source.place)
            texts[member.key] = ServerText(f"{leading}{{{self.plain[member.start : member.end]}", line)
        return texts

    def _texts_of_toml(self) -> dict[str, ServerText]:
        key, lines = self.source.host.key, dict[str, int]()
        line, at = 1, 0
        for header in _HEADER.finditer(self.text):
            line, at = line + self.text.count("\n", at, header.start()), header.start()
            if header["key"] == key:
                lines.setdefault(header["basic"] or header["literal"] or header["bare"] or "", line)
        return {
            name: ServerText(compact({key: {name: str(server)}}), lines.get(name, 1))
            for name, server in members(self.servers).items()
        }


class ServerText(NamedTuple):
    """A server alone, within the objects that lead to it."""

    text: str
    line: int  # at which it begins in the file


def read_bytes(path: Path) -> bytes:
    """The content of a regular file of bounded size; a link is followed."""
    try:
        with open(path, "rb", opener=regular) as file:
            size = os.fstat(file.fileno()).st_size
            most = MAX_TOML_BYTES if is_toml(path) else MAX_HOST_FILE_BYTES
            if size > most:
                raise InvalidConfig(f"the file has {size:,} bytes: at most {most:,}", file=str(path))
            return file.read(most)
    except OSError as error:
        raise InvalidConfig(f"the file cannot be read: {error.strerror}", file=str(path)) from None


def is_toml(path: Path) -> bool:
    return path.suffix == ".toml"


def decode(data: bytes, path: Path) -> str:
    """The text of a file, without a byte order mark."""
    try:
        return data.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise InvalidConfig("the file cannot be read: it is not UTF-8", file=str(path)) from None


def encode(text: str, like: bytes) -> bytes:
    """The bytes of a text, with a byte order mark if those of another version have one."""
    mark = _BYTE_ORDER_MARK.encode()
    return (mark if like.startswith(mark) else b"") + text.encode("utf-8", "surrogatepass")


def parse(text: str, path: Path) -> Json:
    """The value of a host's file. An empty file is that of a host without settings."""
    if not text.strip():
        return {}
    if not is_toml(path):
        return parse_json(strip_comments(text), str(path))
    if (deep := _DEEP_KEY.search(text)) is not None:
        line = text.count("\n", 0, deep.start()) + 1
        raise InvalidConfig(f"a key of over {MAX_KEY_NAMES} names", file=str(path), line=line)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        # Of an integer with thousands of digits it is no TOMLDecodeError.
        # The library's message quotes at most one character, or a key.
        line = re.search(r"at line (\d+)", str(error))
        raise InvalidConfig("not TOML", file=str(path), line=int(line[1]) if line else None) from None


_DEEP_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){%d}""" % MAX_KEY_NAMES  # noqa: UP031
)

# What has no end reaches to that of the file, so that nothing is read twice.
_STRING = r'"(?:[^"\\]|\\.)*+"?'
_COMMENT = re.compile(rf"{_STRING}|(?P<extra>//[^\n]*|/\*.*?\*/)|/\*.*", re.DOTALL)
_COMMA = re.compile(rf"{_STRING}|(?P<extra>,)(?=\s*[\]}}])", re.DOTALL)


def strip_comments(text: str, *, commas: bool = True) -> str:
    """`text` without comments and trailing commas; blanks replace them, so that offsets and line numbers stay."""
    stripped = _COMMENT.sub(_blank, text)
    return _COMMA.sub(_blank, stripped) if commas else stripped


def comments(text: str, start: int, end: int) -> set[str]:
    """The comments in a part of a JSON text that begins outside of them."""
    return {found["extra"] for found in _COMMENT.finditer(text, start, end) if found["extra"] is not None}


def _blank(match: re.Match[str]) -> str:
    return match.group() if match["extra"] is None else re.sub(r"[^\n]", " ", match["extra"])
