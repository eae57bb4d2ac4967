"""`louver project` projects a JSON value as a server would; `louver derive` projects its schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from louver.catalogue.files.views import ViewFile
from louver.cli import terminal
from louver.cli.json_streams import read_file, read_input, write
from louver.core.json import is_object
from louver.core.projection.plan import Plan, compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.core.schema.relax import relax
from louver.errors import InvalidInput, InvalidProjection

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.core.json import Json, Schema


def run(arguments: Namespace) -> int:
    (_derive if arguments.command == "derive" else _project)(arguments)
    return 0


def _project(arguments: Namespace) -> None:
    """Project the value on standard input; report paths that match nothing in its schema, or else in the value."""
    schema = None if arguments.schema is None else _schema(read_file(arguments.schema))
    # Refuse a malformed request before standard input is read.
    request = _plan(arguments, schema)
    value = read_input()
    if schema is not None:
        known, problem = request, "the schema does not know"
    else:
        known, problem = _plan(arguments, infer([value])), "the value has no field"
    for path in known.unmatched:
        near = known.suggestions.get(path)
        hint = "" if near is None else f"; did you mean {near!r}?"
        terminal.print_stderr(f"{problem} {path!r}{hint}")
    write(request(value))


def _derive(arguments: Namespace) -> None:
    """Print the schema of projected values, or the relaxed schema that a tool lists."""
    if arguments.relax:
        if arguments.include or arguments.exclude or arguments.view is not None or arguments.views is not None:
            raise InvalidProjection("--relax goes alone: its schema is that of every projection")
        write(relax(_schema(read_input())))
        return
    # Refuse a malformed request before standard input is read.
    _plan(arguments, None)
    request = _plan(arguments, _schema(read_input()))
    if request.precision == "shape":
        terminal.print_stderr("only the shape: the schema is too large, or in an unknown dialect")
    write(request.schema)


def _plan(arguments: Namespace, schema: Schema | None) -> Plan:
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


def _schema(value: Json) -> Schema:
    if isinstance(value, bool) or is_object(value):
        return value
    raise InvalidInput("a JSON Schema is an object, or true, or false")


def _views(path: str) -> Views:
    return ViewFile.read(Path(path)).views
