"""The `louver` command.

::

    louver demo [--json]
    louver serve --example [--stdio | --http HOST:PORT]
    louver project (--include PATH | --exclude PATH)... [--schema FILE] < value.json
    louver project --view NAME --views FILE [--schema FILE] < value.json
    louver derive (--include PATH | --exclude PATH | --relax)... < schema.json

Exit status: 0 done; 1 something was not as it should be; 2 the request or the
input was refused, with the reason on standard error.

Each command is a module that is imported when it is called, so that `--help`
and `--version` answer at once.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from louver import __version__
from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: Its arguments; those of the process by default.

    Returns:
        The exit status.
    """
    arguments = _parser().parse_args(argv)
    command = import_module(f"louver.cli.{arguments.command}")
    try:
        return command.run(arguments)
    except LouverError as error:
        print(f"louver: {error.message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="louver", description="Field projection for the output of MCP tools.")
    parser.add_argument("--version", action="version", version=f"louver {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="call the example server with a stock client, show the savings")
    demo.add_argument("--json", action="store_true", help="print the table as one JSON array")

    serve = commands.add_parser("serve", help="serve the example server")
    serve.add_argument("--example", action="store_true", required=True, help="the example server (SQLite)")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="over standard input and output, the default")
    transport.add_argument("--http", metavar="HOST:PORT", help="over Streamable HTTP at /mcp; port 0: any")

    project = commands.add_parser("project", help="trim the JSON value on standard input")
    _add_request(project)
    project.add_argument("--schema", metavar="FILE", help="the value's JSON Schema")

    derive = commands.add_parser("derive", help="derive the schema of trimmed values")
    _add_request(derive)
    derive.add_argument("--relax", action="store_true", help="the schema that every projection satisfies")
    return parser


def _add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--include", metavar="PATH", action="append", default=[], help="a field to keep")
    parser.add_argument("--exclude", metavar="PATH", action="append", default=[], help="a field to leave out")
    parser.add_argument("--view", metavar="NAME", help="a view of the file given by --views")
    parser.add_argument("--views", metavar="FILE", help="a file of views, <tool>.views.json")
