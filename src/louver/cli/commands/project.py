"""`louver project`: project a JSON value as a server would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.cli import terminal
from louver.cli.request import as_schema, plan, read_file, read_input, write
from louver.core.schema.infer import infer

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Project the value on standard input; report paths that match nothing in its schema, or else in the value."""
    schema = None if arguments.schema is None else as_schema(read_file(arguments.schema))
    # Refuse a malformed request before standard input is read.
    request = plan(arguments, schema)
    value = read_input()
    if schema is not None:
        known, problem = request, "the schema does not know"
    else:
        known, problem = plan(arguments, infer([value])), "the value has no field"
    for path in known.unmatched:
        near = known.suggestions.get(path)
        hint = "" if near is None else f"; did you mean {near!r}?"
        terminal.print_stderr(f"{problem} {path!r}{hint}")
    write(request(value))
    return 0
