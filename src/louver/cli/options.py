"""The commands and options of the command line, and their help."""

from __future__ import annotations

import re
from argparse import ArgumentTypeError
from textwrap import fill
from typing import Any

from louver import __version__
from louver.cli.parser import Parser, one_of
from louver.limits import MAX_WORKERS

# Equal to `louver_conformance.checks.GROUPS`, which need not be installed; a test compares them.
GROUPS = ("capability", "hint", "projection", "schema", "errors", "disclosure", "isolation", "search", "stock")

# Equal to the names in `louver.cli.hosts.table`, whose imports `--help` does without; a test compares them.
HOST_NAMES = (
    "claude-code",
    "claude-desktop",
    "cursor",
    "vscode",
    "codex",
    "gemini-cli",
    "qwen-code",
    "opencode",
    "zed",
    "windsurf",
)

_WIDTH = 78  # columns of a description


def build_parser() -> tuple[Parser, dict[str, Parser]]:
    """The parser of the command line, and those of its commands by name."""
    parser = Parser(
        prog="louver",
        usage="louver COMMAND [OPTIONS]",
        description="Ask MCP tools for only the fields you need.",
        epilog="'louver COMMAND --help' explains a command. Start with: louver demo",
    )
    parser.add_argument("--version", action="version", version=f"louver {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", title="commands", prog="louver")
    _demo(commands)
    _serve(commands)
    _ui(commands)
    _doctor(commands)
    _undo(commands)
    _check(commands)
    _login(commands)
    _logout(commands)
    _tools(commands)
    _call(commands)
    _suggest(commands)
    _explain(commands)
    _saved(commands)
    _audit(commands)
    _token(commands)
    _conformance(commands)
    _project(commands)
    _derive(commands)
    _completion(commands)
    return parser, commands.choices


def _demo(commands: Any) -> None:
    parser = _add_command(
        commands, "demo", "[OPTIONS]", "show on an example server what projection saves", "louver demo"
    )
    parser.add_argument(
        "--all", action="store_true", help="show it over both transports and in both protocol revisions"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def _serve(commands: Any) -> None:
    parser = _add_command(
        commands,
        "serve",
        "[OPTIONS] SERVER",
        "serve a gateway in front of MCP servers",
        "louver serve -- npx -y @modelcontextprotocol/server-memory",
        "louver serve --config mcp.json --http 127.0.0.1:8080",
        more="Agents connect to the gateway. Their calls can name the fields that they need.",
    )
    group = parser.add_server_options("--example")
    group.add_argument("--example", action="store_true", help="serve the built-in example server, without the gateway")
    clients = parser.add_argument_group("the clients")
    transport = clients.add_mutually_exclusive_group()
    transport.add_argument("--stdio", action="store_true", help="serve one client over standard streams (default)")
    transport.add_argument(
        "--http", metavar="HOST:PORT", help="serve many clients over Streamable HTTP at /mcp; port 0: any free port"
    )
    clients.add_argument(
        "--workers",
        metavar="N",
        type=_worker_count,
        default=1,
        help="serve over HTTP with so many processes (default: 1)",
    )
    clients.add_argument("--no-auth", action="store_true", help="admit clients without a token (loopback only)")
    clients.add_argument(
        "--allowed-host",
        metavar="HOST",
        action="append",
        default=[],
        help="also accept this name in the Host header (repeatable)",
    )
    clients.add_argument("--ui", action="store_true", help="also serve a page at /ui, to look at answers in a browser")
    tools = parser.add_argument_group("the tools")
    _add_choice(
        tools,
        "--exposure",
        ("full", "minimal", "discovery", "gateway"),
        help="list tools in full, in one sentence each (minimal), behind five tools that find them (discovery), or "
        "behind one tool (gateway)",
    )
    scripts = tools.add_mutually_exclusive_group()
    scripts.add_argument("--execute", action="store_true", default=None, help="enable Lua scripts")
    scripts.add_argument("--no-execute", action="store_false", dest="execute", help="disable Lua scripts")
    tools.add_argument(
        "--ready-views", action="store_true", help="shorten the answers of well-known servers with the shipped views"
    )
    parser.add_argument(
        "--metrics",
        metavar="HOST:PORT",
        help="serve /metrics for Prometheus there; each worker has the next port",
    )
    parser.add_argument(
        "--access-log", action="store_true", help="print a line of JSON for each HTTP request on standard output"
    )
    _add_choice(parser, "--log", ("text", "json"), default="text", help="log format (default: text)")


def _ui(commands: Any) -> None:
    parser = _add_command(
        commands,
        "ui",
        "[OPTIONS] SERVER",
        "look at the answers of servers in a browser",
        "louver ui --config mcp.json",
        "louver ui -- louver serve --example",
        more="It shows what each field of an answer costs, and what remains of it under a projection or a policy.",
    )
    parser.add_server_options()
    parser.add_argument("--no-open", action="store_false", dest="open", help="only print the address, with its token")


def _doctor(commands: Any) -> None:
    parser = _add_command(
        commands,
        "doctor",
        "[HOST ...] [OPTIONS]",
        "show what the MCP servers of your hosts cost, and what Louver saves",
        "louver doctor",
        'louver doctor codex --call search_nodes \'{"query": "Ada"}\'',
        "louver doctor --apply codex",
        more="It asks before it starts servers, calls tools, or changes a file.",
    )
    parser.add_argument(
        "hosts",
        metavar="HOST",
        nargs="*",
        type=one_of(*HOST_NAMES),
        help=f"only these hosts: {', '.join(HOST_NAMES)} (default: all)",
    )
    parser.add_argument("--yes", action="store_true", help="agree to everything in advance")
    _add_calls(parser, "call this tool, which must only read, to see how much it answers", default=[])
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    parser.add_argument(
        "--apply",
        metavar="HOST",
        nargs="?",
        const=False,
        type=one_of(*HOST_NAMES),
        help="put Louver in front of the servers: where it is recommended, or in this host",
    )


def _undo(commands: Any) -> None:
    parser = _add_command(
        commands,
        "undo",
        "[HOST]",
        "restore the files that 'louver doctor --apply' has changed",
        "louver undo",
        "louver undo codex",
        more="What else has changed in a file since stays. A file whose servers have changed is left alone.",
    )
    _add_choice(parser, "host", HOST_NAMES, metavar="HOST", nargs="?", help="only the files of this host")


def _check(commands: Any) -> None:
    parser = _add_command(
        commands,
        "check",
        "SERVER",
        "check a configuration and its servers",
        "louver check --config mcp.json",
        more="The exit status is 1 if there is a problem.",
    )
    parser.add_server_options()


def _login(commands: Any) -> None:
    parser = _add_command(
        commands,
        "login",
        "[OPTIONS] SERVER",
        "log in to a server that asks for it by OAuth",
        "louver login --config mcp.json --server tracker",
        "louver login --url https://mcp.example/mcp",
        more="From then on the gateway sends the tokens to that server, and renews them, without a restart.",
    )
    parser.add_server_options()
    parser.add_argument(
        "--no-browser",
        action="store_false",
        dest="browser",
        help="print the page to open, and read the address where it ends from standard input",
    )


def _logout(commands: Any) -> None:
    parser = _add_command(
        commands,
        "logout",
        "[OPTIONS] SERVER",
        "revoke and forget the login at a server",
        "louver logout --config mcp.json --server tracker",
        "louver logout --config mcp.json --principal subject:ann,client:desk",
    )
    parser.add_server_options()
    parser.add_argument(
        "--principal", metavar="NAME", help="log out this caller alone, by subject and client: subject:ann,client:desk"
    )


def _tools(commands: Any) -> None:
    parser = _add_command(
        commands,
        "tools",
        "[OPTIONS] SERVER",
        "list the tools of servers, with the tokens that each costs",
        "louver tools -- louver serve --example",
        "louver tools --query 'create an issue' --config mcp.json",
    )
    parser.add_server_options()
    parser.add_argument("--query", metavar="WORDS", help="only matching tools, best match first, with scores")
    parser.add_argument("--json", action="store_true", help="print one JSON array")


def _call(commands: Any) -> None:
    parser = _add_command(
        commands,
        "call",
        "[OPTIONS] TOOL [NAME=VALUE ...] SERVER",
        "call one tool and print its answer",
        "louver call get_issue number=7 --include title -- louver serve --example",
        "louver call list_issues --view brief --config mcp.json --server tracker",
        more="With --config the call goes through the gateway, so views and policies of the file apply.",
    )
    call = parser.add_argument_group("the call")
    call.add_argument("tool", metavar="TOOL", help="the name of the tool")
    call.add_argument(
        "pairs",
        metavar="NAME=VALUE",
        nargs="*",
        help="an argument of the tool; the tool's schema says whether VALUE is text or JSON",
    )
    parser.trailing = "pairs"
    call.add_argument(
        "--json-args", metavar="JSON", help="arguments as a JSON object; @FILE reads a file, - standard input"
    )
    parser.add_server_options()
    answer = parser.add_argument_group("the answer")
    _add_fields(answer)
    answer.add_argument("--view", metavar="NAME", help="trim the answer by this view of the tool")
    answer.add_argument("--json", action="store_true", help="print the whole result as one JSON object")


def _suggest(commands: Any) -> None:
    parser = _add_command(
        commands,
        "suggest",
        "--call TOOL ARGS [OPTIONS] SERVER",
        "call tools, show which fields are large, and suggest views",
        "louver suggest --call list_issues '{\"limit\": 20}' -- louver serve --example",
        "louver suggest --call get_issue '{\"number\": 7}' --out views --config mcp.json",
        more="It never prints or stores a value of an answer.",
    )
    calls = parser.add_argument_group("the calls")
    _add_calls(calls, "call this tool", required=True)
    calls.add_argument("--run-anyway", action="store_true", help="also call tools without readOnlyHint")
    parser.add_server_options()
    result = parser.add_argument_group("the result")
    result.add_argument("--out", metavar="FOLDER", help="write files of views and schemas to this folder")
    result.add_argument("--learn", action="store_true", help="store the fields of tools without an output schema")
    result.add_argument("--json", action="store_true", help="print one JSON array")


def _explain(commands: Any) -> None:
    parser = _add_command(
        commands,
        "explain",
        "--tool TOOL --as WHO [OPTIONS] [SERVER]",
        "show which fields of a tool a caller sees under a policy",
        "louver explain --tool search --as role:support --config mcp.json --server crm",
        "louver explain --tool search --as nobody --against role:ops --config mcp.json",
    )
    question = parser.add_argument_group("the tool and the caller")
    question.add_argument("--tool", metavar="TOOL", required=True, help="the tool's name at its server")
    question.add_argument(
        "--as",
        dest="who",
        metavar="WHO",
        required=True,
        help="the caller: nobody, or for example role:support,scope:orders:read,client:desk",
    )
    question.add_argument("--against", metavar="WHO", help="compare with this caller: show only what differs")
    question.add_argument("--policy", metavar="FILE", help="the policy file (default: that of --config)")
    group = parser.add_server_options("--schema", required=False)
    group.add_argument("--schema", metavar="FILE", help="the tool's output schema, in place of a server")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _saved(commands: Any) -> None:
    parser = _add_command(
        commands,
        "saved",
        "[OPTIONS] [FILE]",
        "report how many tokens projection has saved",
        "louver saved",
        "louver saved --by view --since 30d",
        more="louver serve counts the calls that pass through it.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the file that the configuration names as 'savings' (default: ~/.local/state/louver/savings.db)",
    )
    _add_since(parser)
    _add_choice(
        parser,
        "--by",
        ("tool", "server", "view", "day"),
        default="tool",
        help="one row for each of these (default: tool)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _audit(commands: Any) -> None:
    parser = _add_command(
        commands,
        "audit",
        "[OPTIONS] FILE",
        "report which fields of which tools went to which caller",
        "louver audit audit.db --by field --since 7d",
        "louver audit audit.db --principal ann",
    )
    records = parser.add_argument_group("the records")
    records.add_argument("file", metavar="FILE", help="the audit database that the configuration names")
    _add_since(records)
    records.add_argument(
        "--principal", metavar="NAME", help="only of this caller: ann, subject:ann,client:desk, nobody, or a digest"
    )
    report = parser.add_argument_group("the report")
    _add_choice(
        report, "--by", ("tool", "principal", "field"), default="tool", help="one row for each of these (default: tool)"
    )
    output = report.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print one JSON array")
    output.add_argument("--export", action="store_true", help="print every record, one JSON object per line")


def _token(commands: Any) -> None:
    parser = _add_command(
        commands,
        "token",
        "[OPTIONS]",
        "make a bearer token, and its entry for a file of tokens",
        "louver token --subject ann --scopes 'orders:read orders:write' --days 90",
    )
    parser.add_argument("--subject", metavar="NAME", help="the user who gets the token")
    parser.add_argument("--client", metavar="NAME", help="the id of the program that sends it")
    parser.add_argument("--scopes", metavar="WORDS", default="", help="its scopes, separated by spaces")
    parser.add_argument("--roles", metavar="WORDS", default="", help="the roles of the user, separated by spaces")
    parser.add_argument("--days", metavar="NUMBER", type=float, help="days until it expires (default: never)")


def _conformance(commands: Any) -> None:
    parser = _add_command(
        commands,
        "conformance",
        "[OPTIONS] SERVER",
        "check a server against the specification",
        "louver conformance -- louver serve --example",
        "louver conformance --junit report.xml --url http://127.0.0.1:8080/mcp",
        more="With --config it checks the gateway in front of the servers of the file.",
    )
    checks = parser.add_argument_group("the checks")
    _add_choice(
        checks,
        "--era",
        ("2025-11-25", "2026-07-28"),
        action="append",
        default=[],
        help="require and test this protocol revision (repeatable; default: those that the server speaks)",
    )
    _add_choice(
        checks,
        "--group",
        GROUPS,
        action="append",
        default=[],
        metavar="GROUP",
        help=f"run only these checks (repeatable): {', '.join(GROUPS)}",
    )
    checks.add_argument("--fixture", metavar="FILE", help="arguments for the tools, a JSON object")
    checks.add_argument("--baseline", metavar="FILE", help="known failures, one per line")
    parser.add_server_options()
    report = parser.add_argument_group("the report")
    report.add_argument("--json", action="store_true", help="print it as one JSON object")
    report.add_argument("--junit", metavar="FILE", help="also write it as JUnit XML")


def _project(commands: Any) -> None:
    parser = _add_command(
        commands,
        "project",
        "[OPTIONS]",
        "trim the JSON value on standard input",
        "louver project --include user.login < issue.json",
        "louver project --view brief --views list_issues.views.json < issues.json",
    )
    _add_request(parser)
    parser.add_argument("--schema", metavar="FILE", help="the JSON Schema of the value")


def _derive(commands: Any) -> None:
    parser = _add_command(
        commands,
        "derive",
        "[OPTIONS]",
        "derive the JSON Schema of trimmed values",
        "louver derive --include user.login < issue.schema.json",
        more="It reads the schema of whole values from standard input.",
    )
    _add_request(parser)
    parser.add_argument("--relax", action="store_true", help="derive the schema that every trimmed value satisfies")


def _completion(commands: Any) -> None:
    parser = _add_command(
        commands,
        "completion",
        "SHELL",
        "print a script for completion in a shell",
        'eval "$(louver completion bash)"',
        "louver completion zsh > ~/.zfunc/_louver",
    )
    _add_choice(parser, "shell", ("bash", "zsh"), metavar="SHELL", help="bash or zsh")


def _add_command(commands: Any, name: str, line: str, summary: str, *examples: str, more: str = "") -> Parser:
    return commands.add_parser(
        name,
        usage=f"louver {name} {line}",
        help=summary,
        description=fill(f"{summary[0].upper()}{summary[1:]}. {more}", _WIDTH),
        epilog="\n".join(("examples:", *(f"  {each}" for each in examples))),
    )


def _add_fields(group: Any) -> None:
    group.add_argument("--include", metavar="PATH", action="append", default=[], help="keep this field (repeatable)")
    group.add_argument("--exclude", metavar="PATH", action="append", default=[], help="drop this field (repeatable)")


def _add_request(parser: Parser) -> None:
    fields = parser.add_argument_group("the fields")
    _add_fields(fields)
    fields.add_argument("--view", metavar="NAME", help="keep the fields of this view in the file of --views")
    fields.add_argument("--views", metavar="FILE", help="a file of views, such as list_issues.views.json")


def _worker_count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]?", text) or int(text) > MAX_WORKERS:
        raise ArgumentTypeError(f"expected a number from 1 to {MAX_WORKERS}, not {text[:80]!r}")
    return int(text)


def _add_calls(group: Any, purpose: str, **settings: Any) -> None:
    group.add_argument(
        "--call",
        dest="calls",
        nargs=2,
        metavar=("TOOL", "ARGS"),
        action="append",
        help=f"{purpose}; ARGS is a JSON object (repeatable)",
        **settings,
    )


def _add_since(group: Any) -> None:
    group.add_argument("--since", metavar="TIME", help="only since 7d, 12h or 30m ago, or since an ISO 8601 time")


def _add_choice(group: Any, name: str, choices: tuple[str, ...], **settings: Any) -> None:
    group.add_argument(name, type=one_of(*choices), choices=choices, **settings)
