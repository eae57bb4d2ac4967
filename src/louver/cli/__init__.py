"""The `louver` command: its options; each subcommand is a module of `louver.cli.commands`.

Exit status: 0 success; 1 a failed check or call; 2 the request or the input was refused, with the reason on standard
error. A subcommand's module is imported only when it runs, so that `--help` and `--version` answer at once.
"""

from __future__ import annotations

import os
import sys
from errno import EBADF, EDQUOT, EFBIG, EIO, ENOSPC
from importlib import import_module
from io import BufferedWriter, TextIOWrapper
from typing import TYPE_CHECKING, Any

from louver import __version__
from louver.cli import terminal
from louver.cli.parser import Parser
from louver.errors import LouverError

if TYPE_CHECKING:
    from collections.abc import Sequence


# Equal to `louver_conformance.checks.GROUPS`, which need not be installed; a test compares them.
_GROUPS = ("capability", "hint", "projection", "schema", "errors", "disclosure", "isolation", "search", "stock")

# Replace closed standard streams: an empty input, an output that cannot be written, an error stream that drops text.
_STREAMS = ((0, "stdin", "r", os.O_RDONLY), (1, "stdout", "w", os.O_RDONLY), (2, "stderr", "w", os.O_WRONLY))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with `argv`, by default the arguments of the process; return the exit status."""
    _prepare_streams()
    try:
        try:
            arguments = _parser().parse_args(argv)
            return import_module(f"louver.cli.commands.{arguments.command}").run(arguments)
        finally:
            # Flush here, where a failure can still be reported.
            sys.stdout.flush()
    except LouverError as error:
        terminal.print_stderr(error.message)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of standard output has closed it.
        _discard_output()
        return 1
    except OSError as error:
        # Only failures of standard output are handled here: commands report those of files and servers.
        if error.filename is not None or error.errno not in (EBADF, EIO, ENOSPC, EDQUOT, EFBIG):
            raise
        _discard_output()
        terminal.print_stderr(f"standard output cannot be written: {error.strerror}")
        return 1


def _prepare_streams() -> None:
    """Open closed standard streams, ignore errors on standard error, and escape what an encoding cannot write."""
    for number, name, mode, flags in _STREAMS:
        if getattr(sys, name) is None:
            # `open` takes the lowest free descriptor, which otherwise the next file or socket would get.
            os.open(os.devnull, flags)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8"))
    # A caller from Python may have replaced either stream.
    if sys.stderr is sys.__stderr__:
        # Python exits with status 120 if it cannot flush a standard stream.
        writer = BufferedWriter(terminal.Stderr(2, "w", closefd=False))
        sys.stderr = TextIOWrapper(writer, sys.stderr.encoding, sys.stderr.errors, line_buffering=True)
    stdout: Any = sys.stdout
    if hasattr(stdout, "reconfigure"):
        stdout.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Send further output to the null device: flushing standard output at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> Parser:
    parser = Parser(prog="louver", description="Field projection for the output of MCP tools.")
    parser.add_argument("--version", action="version", version=f"louver {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="call the example server with a stock client and show the savings")
    demo.add_argument("--json", action="store_true", help="print the table as one JSON array")

    serve = commands.add_parser("serve", help="serve the gateway in front of MCP servers, or the example server")
    serve_group = _add_upstreams(serve)
    serve_group.add_argument("--example", action="store_true", help="serve the example server")
    serve.add_argument(
        "--exposure",
        choices=("full", "minimal", "discovery", "gateway"),
        help="how tools are listed: in full, in one sentence each, behind five discovery tools, or behind one tool",
    )
    scripts = serve.add_mutually_exclusive_group()
    scripts.add_argument("--execute", action="store_true", default=None, help="enable Lua scripts")
    scripts.add_argument("--no-execute", action="store_false", dest="execute", help="disable Lua scripts")
    serve.add_argument(
        "--ready-views", action="store_true", help="shorten the answers of well-known servers with the shipped views"
    )
    serve.add_argument("--log", choices=("text", "json"), default="text", help="log format")
    transport = serve.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="serve over standard input and output (default)")
    transport.add_argument(
        "--http", metavar="HOST:PORT", help="serve over Streamable HTTP at /mcp; port 0: any free one"
    )
    serve.add_argument(
        "--no-auth", action="store_true", help="serve every client that reaches a loopback address, without a token"
    )
    serve.add_argument(
        "--allowed-host",
        metavar="HOST",
        action="append",
        default=[],
        help="accept this Host header, besides the address (repeatable)",
    )

    check = commands.add_parser("check", help="check a configuration and its servers")
    _add_upstreams(check)

    tools = commands.add_parser("tools", help="list the tools of servers and the tokens that each costs")
    _add_upstreams(tools)
    tools.add_argument("--upstream", metavar="NAME", help="only this server of the file")
    tools.add_argument("--query", metavar="WORDS", help="only matching tools, the best first, with scores")
    tools.add_argument("--json", action="store_true", help="print one JSON array")

    call = commands.add_parser("call", help="call one tool of a server")
    call.add_argument("target", metavar="TARGET", help="the server: its URL, or its command in one word")
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    call.add_argument("arguments", metavar="ARGS", nargs="?", default="{}", help="its arguments, a JSON object")
    _add_fields(call)
    call.add_argument("--view", metavar="NAME", help="a view of the tool")
    call.add_argument("--json", action="store_true", help="print the whole result, one JSON object")

    conformance = commands.add_parser("conformance", help="run the conformance suite against a server")
    conformance.add_argument("target", metavar="TARGET", help="the server: its URL, or its command in one word")
    conformance.add_argument(
        "--era",
        action="append",
        default=[],
        choices=("2025-11-25", "2026-07-28"),
        help="a required revision (repeatable)",
    )
    conformance.add_argument(
        "--group",
        action="append",
        default=[],
        choices=_GROUPS,
        metavar="GROUP",
        help=f"only these checks (repeatable): {', '.join(_GROUPS)}",
    )
    conformance.add_argument("--fixture", metavar="FILE", help="arguments for its tools, a JSON object")
    conformance.add_argument("--baseline", metavar="FILE", help="known failures, one per line")
    conformance.add_argument("--json", action="store_true", help="print the report as one JSON object")
    conformance.add_argument("--junit", metavar="FILE", help="write the report as JUnit XML")

    suggest = commands.add_parser(
        "suggest", help="call tools, weigh their answers by field, and suggest views and schemas"
    )
    _add_upstreams(suggest)
    suggest.add_argument("--upstream", metavar="NAME", help="only this server of the file")
    suggest.add_argument(
        "--call",
        dest="calls",
        nargs=2,
        metavar=("TOOL", "ARGS"),
        action="append",
        required=True,
        help="a sample call: the tool's name and its arguments, a JSON object (repeatable)",
    )
    suggest.add_argument("--run-anyway", action="store_true", help="also call tools without readOnlyHint")
    suggest.add_argument("--out", metavar="FOLDER", help="write the view and schema files to this folder")
    suggest.add_argument("--learn", action="store_true", help="store the fields of tools without an output schema")
    suggest.add_argument("--json", action="store_true", help="print one JSON array")

    explain = commands.add_parser("explain", help="explain what a policy shows to a principal of a tool's output")
    explain.add_argument("--policy", metavar="FILE", help="policy file (default: that of --config)")
    explain.add_argument(
        "--as",
        dest="who",
        metavar="WHO",
        required=True,
        help="the principal: 'nobody', or for example role:support,scope:orders:read,client:desk",
    )
    explain.add_argument("--tool", metavar="TOOL", required=True, help="the tool's name at its server")
    explain_group = _add_upstreams(explain, required=False)
    explain_group.add_argument("--schema", metavar="FILE", help="the tool's output schema")
    explain.add_argument("--upstream", metavar="NAME", help="only this server of the file")
    audit = commands.add_parser("audit", help="report which fields of which tools went to which principal")
    audit.add_argument("file", metavar="FILE", help="audit database, as named in the configuration")
    audit.add_argument("--by", choices=("tool", "principal", "field"), default="tool", help="group the totals by this")
    audit.add_argument("--since", metavar="TIME", help="only records since 7d, 12h or 30m ago, or an ISO 8601 time")
    format_group = audit.add_mutually_exclusive_group()
    format_group.add_argument("--json", action="store_true", help="print one JSON array")
    format_group.add_argument("--export", action="store_true", help="print every record, one JSON object per line")

    token = commands.add_parser("token", help="create a bearer token, and its entry for a token file")
    token.add_argument("--subject", metavar="NAME", help="the subject of the token")
    token.add_argument("--client", metavar="NAME", help="the client id")
    token.add_argument("--scopes", metavar="WORDS", default="", help="scopes, separated by spaces")
    token.add_argument("--roles", metavar="WORDS", default="", help="roles of the subject, separated by spaces")
    token.add_argument("--days", metavar="NUMBER", type=float, help="days until it expires (default: never)")

    init = commands.add_parser("init", help="write a configuration with the servers of an MCP host")
    init.add_argument("--from", dest="host", choices=("claude", "cursor", "vscode"), required=True, help="the host")
    init.add_argument("--file", metavar="FILE", help="the host's configuration file, if it is not at its default path")
    init.add_argument("--out", metavar="FILE", default="mcp.json", help="the file to write (default: mcp.json)")

    project = commands.add_parser("project", help="trim the JSON value on standard input")
    _add_request(project)
    project.add_argument("--schema", metavar="FILE", help="the value's JSON Schema")

    derive = commands.add_parser("derive", help="derive the JSON Schema of trimmed values")
    _add_request(derive)
    derive.add_argument("--relax", action="store_true", help="derive the schema that every projection satisfies")
    return parser


def _add_upstreams(parser: Parser, *, required: bool = True) -> Any:
    """Add the mutually exclusive options that name servers; return their group."""
    group = parser.add_mutually_exclusive_group(required=required)
    group.add_argument("command_line", metavar="-- COMMAND", nargs="*", default=[], help="the command of a server")
    group.add_argument("--url", help="the URL of a server")
    group.add_argument("--config", metavar="FILE", help="a configuration file with servers, as hosts have it: mcp.json")
    return group


def _add_fields(parser: Parser) -> None:
    for option, description in (("--include", "a field to keep"), ("--exclude", "a field to leave out")):
        parser.add_argument(option, metavar="PATH", action="append", default=[], help=f"{description} (repeatable)")


def _add_request(parser: Parser) -> None:
    _add_fields(parser)
    parser.add_argument("--view", metavar="NAME", help="a view of the file given by --views")
    parser.add_argument("--views", metavar="FILE", help="a file of views, <tool>.views.json")
