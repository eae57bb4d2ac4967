"""The JSON that commands read and write: of files and of standard streams."""

from __future__ import annotations

import sys
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.core import json
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from louver.core.json import Json


def read_input() -> Json:
    return _read("standard input", sys.stdin.buffer.read())


def read_file(path: str) -> Json:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    return _read(path, data)


def parse_object(text: str) -> dict[str, Any]:
    """The arguments of a tool as a JSON object."""
    expected = "a tool's arguments are one JSON object, for example '{\"user_id\": 42}'"
    try:
        value = json.parse(text)
    except json.NotJson as error:
        position = "" if error.offset is None else f" at offset {error.offset}"
        raise InvalidInput(f"not JSON: {error.reason}{position}; {expected}") from None
    if not json.is_object(value):
        raise InvalidInput(expected)
    return value


def pretty(value: Json) -> str:
    """The text of a file for people."""
    return dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(value: Json) -> None:
    """Write one JSON value to standard output."""
    write_text(json.compact(value) + "\n")


def write_text(text: str) -> None:
    """Write JSON text to standard output, always in UTF-8; text that was printed must be flushed before."""
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


def _read(source: str, data: bytes) -> Json:
    try:
        return json.parse(data.decode("utf-8").rstrip())
    except UnicodeDecodeError:
        raise InvalidInput(f"{source} is not JSON: it is not UTF-8") from None
    except json.NotJson as error:
        raise InvalidInput(f"{source}:{error.line}: not JSON: {error.reason}") from None
