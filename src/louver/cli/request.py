"""Shared by commands: options become a plan, input becomes JSON or tool arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.views import ViewFile
from louver.core import json
from louver.core.projection.plan import Plan, compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.errors import InvalidInput, InvalidProjection

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.core.json import Json, Schema


def plan(arguments: Namespace, schema: Schema | None) -> Plan:
    """The plan of the options `--include`, `--exclude`, `--view` and `--views`."""
    include, exclude = arguments.include, arguments.exclude
    if arguments.view is not None:
        if include or exclude:
            raise InvalidProjection("--view goes alone: a view says itself what it includes and excludes")
        if arguments.views is None:
            raise InvalidProjection("--view needs the file that the view stands in: --views FILE")
        return compile_projection(Projection.view(arguments.view), schema, views=_views(arguments.views))
    views = _views(arguments.views) if arguments.views is not None else Views()
    if include and exclude:
        # A view can have both; a request cannot.
        both = Views.read({"both": {"include": include, "exclude": exclude}}).named
        return compile_projection(Projection.view("both"), schema, views=Views(both, views.always))
    if exclude:
        return compile_projection(Projection.exclude(*exclude), schema, views=views)
    if include:
        return compile_projection(Projection.include(*include), schema, views=views)
    raise InvalidProjection("name a field by --include or --exclude, or a view by --view; '*' is everything")


def read_input() -> Json:
    return _read("standard input", sys.stdin.buffer.read())


def read_file(path: str) -> Json:
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from None
    return _read(path, data)


def as_schema(value: Json) -> Schema:
    if isinstance(value, bool) or json.is_object(value):
        return value
    raise InvalidInput("a JSON Schema is an object, or true, or false")


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


def _views(path: str) -> Views:
    return ViewFile.read(Path(path)).views
