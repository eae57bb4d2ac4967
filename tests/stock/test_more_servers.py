"""More real servers: the default gateway changes nothing in their tools and answers but what it adds.

Fifteen servers of several SDKs that start without a key and without a network. Each runs directly and then behind the
gateway, both times with a new folder and a new home. Calls are harmless; a server without a call that works without a
network and a browser is only listed.
"""

import json
import shutil
import sys
from dataclasses import dataclass, field

import pytest

from benchmarks.recorded_session import create_repository
from louver.core.json import compact

from .comparing import with_relaxed_output, without_argument, without_louver, without_whitespace
from .run import HANDSHAKE, node_packages, python_with, run_driver
from .tokens import tokens

pytestmark = pytest.mark.deep

NPM = {
    "@cyanheads/git-mcp-server": "2.15.3",
    "@modelcontextprotocol/server-sequential-thinking": "2026.8.31",
    "@playwright/mcp": "0.0.83",
    "@upstash/context7-mcp": "4.1.1",
    "chrome-devtools-mcp": "1.11.0",
}
PYPI_V1 = (
    "arxiv-mcp-server==0.8.2",
    "mcp-server-calculator==0.2.1",
    "mcp-server-sqlite==2025.4.25",
    "mcp-shell-server==1.1.14",
    "mcp-text-editor==1.0.2",
    "mcp>=1.30,<2",
)
"""Servers on the SDK of before 2026-07-28."""
PYPI_V2 = (
    "excel-mcp-server==2.2.2",
    "mcp-pandoc==0.11.1",
    "mcp-server-fetch==2026.10.24",
    "mcp-server-motherduck==1.1.0",
    "wikipedia-mcp==2.0.1",
)

AT_MOST = 1.08
"""Tokens of a list behind the gateway, as a multiple of the direct list."""


@dataclass(frozen=True)
class Server:
    """How a server is started and called; `{folder}` is replaced by its folder.

    Args:
        arguments: arguments of the command.
        env: environment variables besides `HOME`.
        calls: tool and arguments.
    """

    arguments: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    calls: list[tuple[str, dict]] = field(default_factory=list)


THOUGHT = {"thought": "One.", "nextThoughtNeeded": True, "thoughtNumber": 1, "totalThoughts": 2}
BOOKS = [
    ("create_table", {"query": "CREATE TABLE books (title TEXT, year INTEGER)"}),
    ("write_query", {"query": "INSERT INTO books VALUES ('Emma', 1815), ('Nana', 1880)"}),
    ("list_tables", {}),
    ("read_query", {"query": "SELECT * FROM books ORDER BY year"}),
    ("read_query", {"query": "SELECT * FROM authors"}),
]
SERVERS = {
    "@cyanheads/git-mcp-server": Server(
        env={"GIT_CONFIG_NOSYSTEM": "1"},
        calls=[("git_status", {"path": "{folder}"}), ("git_log", {"path": "{folder}"})],
    ),
    "@modelcontextprotocol/server-sequential-thinking": Server(
        calls=[
            ("sequentialthinking", THOUGHT),
            ("sequentialthinking", {**THOUGHT, "thoughtNumber": 2, "nextThoughtNeeded": False}),
        ],
    ),
    "@playwright/mcp": Server(),
    "@upstash/context7-mcp": Server(),
    "chrome-devtools-mcp": Server(["--no-usage-statistics"]),
    "arxiv-mcp-server": Server(
        ["--storage-path", "{folder}/papers"], calls=[("list_papers", {}), ("list_watches", {})]
    ),
    "mcp-server-calculator": Server(calls=[("calculate", {"expression": "2 * (3 + 4)"})]),
    "mcp-server-sqlite": Server(["--db-path", "{folder}/books.db"], calls=BOOKS),
    "mcp-shell-server": Server(
        env={"ALLOW_COMMANDS": "ls"},
        calls=[
            ("shell_execute", {"command": ["ls"], "directory": "{folder}"}),
            ("shell_execute", {"command": ["rm", "README.md"], "directory": "{folder}"}),
        ],
    ),
    "mcp-text-editor": Server(
        calls=[
            ("get_text_file_contents", {"files": [{"file_path": "{folder}/README.md", "ranges": [{"start": 1}]}]}),
            ("get_text_file_contents", {"files": [{"file_path": "{folder}/none.txt", "ranges": [{"start": 1}]}]}),
        ],
    ),
    "excel-mcp-server": Server(
        ["stdio"],
        env={"EXCEL_MCP_WORKBOOK_DIRS": "{folder}"},
        calls=[
            ("create_workbook", {"path": "{folder}/books.xlsx", "sheets": ["Books"]}),
            ("describe_workbook", {"path": "{folder}/books.xlsx"}),
        ],
    ),
    "mcp-pandoc": Server(calls=[("convert-contents", {"contents": "# Books", "output_format": "nothing"})]),
    "mcp-server-fetch": Server(calls=[("fetch", {"url": "http://127.0.0.1:1/"})]),
    "mcp-server-motherduck": Server(
        ["--db-path", ":memory:", "--read-write"],
        calls=[
            ("execute_query", {"sql": "SELECT 'Emma' AS title, 1815 AS year"}),
            ("execute_query", {"sql": "SELECT"}),
        ],
    ),
    "wikipedia-mcp": Server(),
}
"""By package."""


def command_of(package):
    """The command that starts a server, which is installed on first use."""
    if package in NPM:
        dependencies = {"name": "more-servers", "private": True, "dependencies": NPM}
        node, home = node_packages(json.dumps(dependencies))
        at = home / "node_modules" / package
        starts = json.loads((at / "package.json").read_text())["bin"]
        return [str(node), str(at / (starts if isinstance(starts, str) else next(iter(starts.values()))))]
    group = PYPI_V1 if any(each.startswith(package) for each in PYPI_V1) else PYPI_V2
    return [str(python_with(*group).with_name(package))]


def server_entry(package, folder):
    """An entry of `mcpServers`; the server's folder and home are created anew."""
    shutil.rmtree(folder, ignore_errors=True)
    own, home = folder / "own", folder / "home"
    home.mkdir(parents=True)
    create_repository(own)
    server = SERVERS[package]
    command, *arguments = command_of(package)
    entry = {"args": [*arguments, *server.arguments], "env": {"HOME": str(home), **server.env}}
    return {"command": command, **with_folder(entry, own)}


def with_folder(value, folder):
    return json.loads(json.dumps(value).replace("{folder}", str(folder)))


def run_client(package, target, folder):
    """The tools that the stock client lists, and the results of the calls."""
    calls = [{"tool": tool, "arguments": given} for tool, given in with_folder(SERVERS[package].calls, folder / "own")]
    return run_driver("python_v2", {"target": target, "era": HANDSHAKE, "calls": calls})


@pytest.fixture(scope="module", params=SERVERS)
def package(request):
    return request.param


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("more") / "server"


@pytest.fixture(scope="module")
def direct(package, folder):
    return run_client(package, server_entry(package, folder), folder)


@pytest.fixture(scope="module")
def through(package, folder, direct):
    """The same behind the gateway with its defaults."""
    entry = server_entry(package, folder)
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"it": entry}}))
    gateway = {"command": sys.executable, "args": ["-m", "louver", "serve", "--config", str(config)]}
    return run_client(package, {**gateway, "env": {"HOME": entry["env"]["HOME"]}}, folder)


def visible(tool, schema):
    """The JSON of a tool that a model sees."""
    return compact({"name": tool["name"], "description": tool.get("description"), "inputSchema": schema})


def test_the_tools_are_the_servers(direct, through):
    """GATEWAY.md, "Transparency first": what a model sees is equal byte for byte, but for the argument."""
    assert direct["listed"]
    assert list(map(without_louver, through["listed"])) == list(map(with_relaxed_output, direct["listed"]))
    seen = [visible(tool, without_argument(tool["inputSchema"])) for tool in through["listed"]]
    assert seen == [visible(tool, tool["inputSchema"]) for tool in direct["listed"]]


def test_the_answers_are_the_servers(package, direct, through):
    """GATEWAY.md, "Transparency first": without a request only the white space of JSON differs."""
    assert len(direct["calls"]) == len(SERVERS[package].calls)
    assert all(call["ok"] for call in direct["calls"])
    assert list(map(without_whitespace, through["calls"])) == list(map(without_whitespace, direct["calls"]))


def test_a_list_costs_a_model_little_more_than_directly(package, direct, through):
    """HOSTS.md, "The default may never make a session dearer"; in tokens of o200k."""
    texts = [",".join(visible(tool, tool["inputSchema"]) for tool in each["listed"]) for each in (direct, through)]
    without, with_louver = tokens(texts)
    ratio = with_louver / without
    assert ratio <= AT_MOST, f"{with_louver} tokens, {without} directly: {ratio:.3f}x"
