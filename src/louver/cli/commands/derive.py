"""`louver derive`: the schema of projected values, or the relaxed schema that a tool lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.cli import terminal
from louver.cli.request import as_schema, plan, read_input, write
from louver.core.schema.relax import relax
from louver.errors import InvalidProjection

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    if arguments.relax:
        if arguments.include or arguments.exclude or arguments.view is not None or arguments.views is not None:
            raise InvalidProjection("--relax goes alone: its schema is that of every projection")
        write(relax(as_schema(read_input())))
        return 0
    # Refuse a malformed request before standard input is read.
    plan(arguments, None)
    request = plan(arguments, as_schema(read_input()))
    if request.precision == "shape":
        terminal.print_stderr("only the shape: the schema is too large, or in an unknown dialect")
    write(request.schema)
    return 0
