"""The commands of the command line, their options, and their help: a table, and the parser that it makes.

A command has its usage, its summary (which `louver --help` lists), its examples, and its options in the order of its
help. An option has its usage too: `--yes`, `--http HOST:PORT`, `--apply [HOST]`, `--include PATH ...` (repeatable).
"""

from __future__ import annotations

import argparse
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from louver import __version__
from louver.cli.parser import SEPARATOR, Parser, one_of

if TYPE_CHECKING:
    from collections.abc import Iterable

_HOSTS = "claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, qwen-code, opencode, zed, windsurf"
# Equal to the names in `louver.desk.hosts.table`, whose imports `--help` does without; a test compares them.
HOST_NAMES = tuple(_HOSTS.split(", "))

_WIDTH = 78  # columns of a description


class Option(NamedTuple):
    name: str
    settings: dict[str, Any]  # those of `argparse`


class Group(NamedTuple):
    title: str | None  # `None`: its options exclude each other
    parts: tuple[Part, ...]


class Servers(NamedTuple):
    """The options that name servers."""

    others: tuple[Option, ...] = ()  # options that replace them
    is_required: bool = True


Part = Option | Group | Servers


class Command(NamedTuple):
    usage: str  # its name, and what follows it
    summary: str
    examples: tuple[str, ...]
    parts: tuple[Part, ...]
    more: str = ""  # what its description adds to the summary
    module: str = ""  # within `louver`; by default that of its name in `cli.commands`


def _command(usage: str, summary: str, examples: tuple[str, ...], *parts: Part, **settings: str) -> Command:
    return Command(usage, summary, examples, parts, **settings)


def _group(title: str | None, *parts: Part) -> Group:
    return Group(title, parts)


def _option(usage: str, says: str, **settings: Any) -> Option:
    name, *words = usage.split()
    found: dict[str, Any] = {"help": says}
    if words[-1:] == ["..."]:
        words.pop()
        found |= {"action": "append", "default": []} if name.startswith("-") else {"nargs": "*"}
    if words[0:1] and words[0].startswith("["):
        found |= {"metavar": words[0].strip("[]"), "nargs": "?"}
    elif words:
        found |= {"metavar": words[0]} if len(words) == 1 else {"metavar": tuple(words), "nargs": len(words)}
    elif "choices" not in settings:
        found["action"] = "store_true"
    if "choices" in settings:
        found["type"] = one_of(*settings["choices"])
    return Option(name, found | settings)


def _call(says: str, **settings: Any) -> Option:
    return _option("--call TOOL ARGS ...", f"{says}; ARGS is a JSON object (repeatable)", dest="calls", **settings)


_COMMAND_LINE = "the command that starts the server, at the end of the line"
_HEADER = "send this header to the URL (repeatable); no secrets: other users see it"
_SERVER_OPTIONS = (
    # Declared for the help alone: `parse` takes the words after the separator.
    _option(f"{SEPARATOR} COMMAND", _COMMAND_LINE, dest="command_line"),
    Option("--url", {"help": "the URL of the server"}),
    _option("--header NAME=VALUE ...", _HEADER),
    _option("--token FILE", "send the bearer token from this file (mode 600)"),
    _option("--config FILE", "the servers of a configuration file"),
    _option("--server NAME", "only this server of the file"),
)
_JSON_ARRAY = _option("--json", "print one JSON array")
_JSON_OBJECT = _option("--json", "print one JSON object")
_BY = ("tool", "server", "view", "day", "principal", "field")
_FIELDS = (
    _option("--include PATH ...", "keep this field (repeatable)"),
    _option("--exclude PATH ...", "drop this field (repeatable)"),
)
_EXPOSURE = """\
list tools in full, only those in use (deferred), in a sentence each (minimal), behind five tools (discovery), or \
behind one (gateway)"""

COMMANDS = (
    _command(
        "demo [OPTIONS]",
        "show on an example server what projection saves",
        ("louver demo",),
        _option("--all", "show it over both transports and in both protocol revisions"),
        _JSON_ARRAY,
    ),
    _command(
        "serve [OPTIONS] SERVER",
        "serve a gateway in front of MCP servers",
        (
            "louver serve -- npx -y @modelcontextprotocol/server-memory",
            "louver serve --config mcp.json --http 127.0.0.1:8080",
        ),
        Servers((_option("--example", "serve the example server, without the gateway"),)),
        _group(
            "the clients",
            _group(
                None,
                _option("--stdio", "serve one client over standard streams (default)"),
                _option("--http HOST:PORT", "serve many clients over Streamable HTTP at /mcp; port 0: any free one"),
            ),
            _option("--no-auth", "admit clients without a token (loopback only)"),
            _option("--allowed-host HOST ...", "also accept this name in the Host header (repeatable)"),
            _option("--ui", "also serve a page at /ui to look at answers"),
        ),
        _group(
            "the tools",
            _option("--exposure", _EXPOSURE, choices=("full", "deferred", "minimal", "discovery", "gateway")),
            _group(
                None,
                _option("--execute", "enable Lua scripts", default=None),
                _option("--no-execute", "disable Lua scripts", action="store_false", dest="execute"),
            ),
            _option("--ready-views", "shorten answers of well-known servers with shipped views"),
        ),
        _option("--metrics HOST:PORT", "serve /metrics for Prometheus there"),
        _option("--access-log", "print a line of JSON for each HTTP request"),
        _option("--log", "log format (default: text)", choices=("text", "json"), default="text"),
        more="Agents connect to the gateway. Their calls can name the fields that they need.",
    ),
    _command(
        "ui [OPTIONS] SERVER",
        "look at the answers of servers in a browser",
        ("louver ui --config mcp.json", "louver ui -- louver serve --example"),
        Servers(),
        _option("--no-open", "only print the address", action="store_false", dest="open"),
        more="It shows what each field of an answer costs, and what remains of it under a projection or a policy.",
        module="desk.commands.ui",
    ),
    _command(
        "doctor [HOST ...] [OPTIONS]",
        "show what your hosts' MCP servers cost, and what Louver saves",
        (
            "louver doctor",
            'louver doctor codex --call search_nodes \'{"query": "Ada"}\'',
            "louver doctor --apply codex",
        ),
        _option("hosts HOST ...", f"only these hosts: {_HOSTS} (default: all)", type=one_of(*HOST_NAMES)),
        _option("--yes", "agree to everything in advance"),
        _call("call this tool, which must only read"),
        _JSON_ARRAY,
        _option(
            "--apply [HOST]",
            "put Louver in front: where recommended, or in this host",
            type=one_of(*HOST_NAMES),
            const=False,
        ),
        more="It asks before it starts servers, calls tools, or changes a file.",
        module="desk.commands.doctor",
    ),
    _command(
        "undo [HOST]",
        "restore the files that 'louver doctor --apply' changed",
        ("louver undo", "louver undo codex"),
        _option("host [HOST]", "only the files of this host", choices=HOST_NAMES),
        more="What else has changed in a file since stays. A file whose servers have changed is left alone.",
        module="desk.commands.doctor",
    ),
    _command(
        "check [OPTIONS] SERVER",
        "check a configuration and its servers, or what a policy shows to a caller",
        (
            "louver check --config mcp.json",
            "louver check --as role:support --tool search --config mcp.json --server crm",
        ),
        Servers((_option("--schema FILE", "with --as: the tool's output schema, in place of a server"),)),
        _group(
            "what a caller sees",
            _option("--as WHO", "the caller: nobody, or for example role:support,scope:orders:read", dest="who"),
            _option("--tool TOOL", "the tool's name at its server"),
            _option("--against WHO", "compare with this caller: show only what differs"),
            _option("--policy FILE", "the policy file (default: that of --config)"),
            _JSON_OBJECT,
        ),
        more="The exit status is 1 if there is a problem.",
    ),
    _command(
        "login [OPTIONS] SERVER",
        "log in to a server with OAuth",
        ("louver login --config mcp.json --server tracker", "louver login --url https://mcp.example/mcp"),
        Servers(),
        _option(
            "--no-browser",
            "print the page to open; read the address where it ends from standard input",
            action="store_false",
            dest="browser",
        ),
        more="From then on the gateway sends the tokens to that server, and renews them, without a restart.",
        module="team.commands.login",
    ),
    _command(
        "logout [OPTIONS] SERVER",
        "revoke and forget the login at a server",
        (
            "louver logout --config mcp.json --server tracker",
            "louver logout --config mcp.json --principal subject:ann,client:desk",
        ),
        Servers(),
        _option("--principal NAME", "log out this caller alone: subject:ann,client:desk"),
        module="team.commands.logout",
    ),
    _command(
        "tools [OPTIONS] SERVER",
        "list tools, with the tokens that each costs",
        ("louver tools -- louver serve --example", "louver tools --query 'create an issue' --config mcp.json"),
        Servers(),
        _option("--query WORDS", "only matching tools, best match first, with scores"),
        _JSON_ARRAY,
    ),
    _command(
        "types --out FOLDER [OPTIONS] SERVER",
        "write typed stubs of tools, in Python and TypeScript",
        (
            "louver types --out stubs -- louver serve --example",
            "louver types --out stubs --as role:support --config mcp.json",
        ),
        _option("--out FOLDER", "write NAME.pyi and NAME.d.ts of each server to this folder", required=True),
        _option("--as WHO", "only what this caller sees (default: 'principal', or nobody)", dest="who"),
        Servers(),
        more="They have a function for each tool, and the types of what it takes and returns.",
    ),
    _command(
        "call [OPTIONS] TOOL [NAME=VALUE ...] SERVER",
        "call one tool and print its answer",
        (
            "louver call get_issue number=7 --include title -- louver serve --example",
            "louver call list_issues --view brief --config mcp.json --server tracker",
        ),
        _group(
            "the call",
            _option("tool TOOL", "the name of the tool"),
            _option("pairs NAME=VALUE ...", "an argument; the tool's schema says whether VALUE is text or JSON"),
            _option("--json-args JSON", "arguments as JSON; @FILE reads a file, - standard input"),
        ),
        Servers(),
        _group(
            "the answer",
            *_FIELDS,
            _option("--view NAME", "trim the answer by this view of the tool"),
            _option("--json", "print the whole result as one JSON object"),
        ),
        more="With --config the call goes through the gateway, so views and policies of the file apply.",
    ),
    _command(
        "suggest --call TOOL ARGS [OPTIONS] SERVER",
        "call tools, show which fields are large, and suggest views",
        (
            "louver suggest --call list_issues '{\"limit\": 20}' -- louver serve --example",
            "louver suggest --call get_issue '{\"number\": 7}' --out views --config mcp.json",
        ),
        _group(
            "the calls",
            _call("call this tool", required=True),
            _option("--run-anyway", "also call tools without readOnlyHint"),
        ),
        Servers(),
        _group(
            "the result",
            _option("--out FOLDER", "write views and schemas to this folder"),
            _option("--learn", "store the fields of tools without an output schema"),
            _JSON_ARRAY,
        ),
        more="It never prints or stores a value of an answer.",
        module="desk.commands.suggest",
    ),
    _command(
        "report [OPTIONS] [FILE]",
        "report the tokens that projection saved, or which fields went to which caller",
        (
            "louver report --by view --since 30d",
            "louver report audit.db --by field --since 7d",
        ),
        _option(
            "file [FILE]",
            "the file of 'savings' or 'audit' (default: ~/.local/state/louver/savings.db)",
        ),
        _option("--since TIME", "since 7d, 12h or 30m ago, or an ISO 8601 time"),
        _option(
            "--by", "one row for each of these (default: tool; of audit records, callers, then fields)", choices=_BY
        ),
        _option("--json", "print JSON in place of tables"),
        _group(
            "of audit records",
            _option("--principal NAME", "only this caller: ann, subject:ann,client:desk, nobody, or a digest"),
            _option("--export", "print every record, as JSON lines"),
        ),
        more="louver serve counts the calls that pass through it.",
    ),
    _command(
        "token [OPTIONS]",
        "make a bearer token, and its entry for a token file",
        ("louver token --subject ann --scopes 'orders:read orders:write' --days 90",),
        _option("--subject NAME", "the user who gets the token"),
        _option("--client NAME", "the id of the program that sends it"),
        _option("--scopes WORDS", "its scopes, separated by spaces", default=""),
        _option("--roles WORDS", "the roles of the user, separated by spaces", default=""),
        _option("--days NUMBER", "days until it expires (default: never)", type=float),
    ),
)


# What people do -> the commands for it.
GROUPS = {
    "start": ("demo", "doctor", "undo"),
    "serve": ("serve", "check", "login", "logout", "token"),
    "look": ("ui", "tools", "types", "call", "suggest", "report"),
}


def _overview() -> str:
    """The commands by group, with their summaries."""
    summaries = {each.usage.partition(" ")[0]: each.summary for each in COMMANDS}
    parts = ["Ask MCP tools for only the fields you need."]
    for title, names in GROUPS.items():
        listed = (fill(f"  {name:<8}  {summaries[name]}", _WIDTH, subsequent_indent=" " * 12) for name in names)
        parts.append("\n".join((f"{title}:", *listed)))
    return "\n\n".join(parts)


def build_parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the command line, and those of its commands by name."""
    parser = Parser(
        prog="louver",
        usage="louver COMMAND [OPTIONS]",
        description=_overview(),
        epilog="'louver COMMAND --help' explains a command. Start with: louver demo",
    )
    parser.add_argument("--version", action="version", version=f"louver {__version__}")
    commands: Any = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND", help=argparse.SUPPRESS, prog="louver"
    )
    for usage, summary, examples, parts, more, module in COMMANDS:
        name = usage.partition(" ")[0]
        declared: Parser = commands.add_parser(
            name,
            usage=f"louver {usage}",
            description=fill(f"{summary[0].upper()}{summary[1:]}. {more}", _WIDTH),
            epilog="\n".join(("examples:", *(f"  {each}" for each in examples))),
        )
        declared.set_defaults(module=module or f"cli.commands.{name}")
        _add(declared, parts)
    # Between and after the options.
    commands.choices["call"].trailing = "pairs"
    return parser, commands.choices


def _add(group: Any, parts: Iterable[Part]) -> None:
    for part in parts:
        match part:
            case Option(name, settings):
                group.add_argument(name, **settings)
            case Group(None, below):
                _add(group.add_mutually_exclusive_group(), below)
            case Group(title, below):
                _add(group.add_argument_group(title), below)
            case Servers(others, is_required):
                names = tuple(each.name for each in others)
                _add(group.add_server_group(names, required=is_required), (*_SERVER_OPTIONS, *others))
