"""`louver project`: project a JSON value as a server would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.cli import terminal
from louver.cli.request import as_schema, plan, read_file, read_input, write

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Project the value on standard input; report paths that the schema does not know."""
    schema = None if arguments.schema is None else as_schema(read_file(arguments.schema))
    request = plan(arguments, schema)
    value = read_input()
    for path in request.unmatched:
        suggestion = request.suggestions.get(path)
        hint = "" if suggestion is None else f"; did you mean {suggestion!r}?"
        terminal.print_stderr(f"the schema does not know {path!r}{hint}")
    write(request(value))
    return 0
