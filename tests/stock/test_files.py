"""Files, read through ten servers for files, shells, repositories and sites: byte for byte, whatever they look like.

    pretty.json     alike objects, indented: compact text, TOON and learnt fields would all change it
    rows.toon       text that Louver itself could have written
    string.json     one string of JSON
    long.txt        5 MB, past what any host shows

Each server is asked directly, then behind a gateway that learns and writes TOON, by hosts whose models get other
forms of answers. Until a shape is learnt nothing can be compact, so the gateway has learnt it from the same file.
"""

import json
import subprocess
from dataclasses import dataclass, field

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import Implementation

from benchmarks.scenarios.sessions import site_of
from fixtures.forking import PYTHON
from louver.limits import LEARNT_AFTER

from .run import node_packages, python_with
from .servers import npm, pypi

pytestmark = pytest.mark.deep

ROWS = {"rows": [{"id": number, "name": f"Name {number}"} for number in range(40)], "total": 40}
FILES = {
    "pretty.json": json.dumps(ROWS, indent=4) + "\n",
    "rows.toon": "rows[2]{id,name}:\n  1,Ann\n  2,Bob\n",
    "string.json": '"one \\u00e9 line, and \\"another\\""\n',
    "long.txt": "".join(f"{number:07} of a long file\n" for number in range(200_000)),
}
HOSTS = ["codex-mcp-client", "gemini-cli-mcp-client", "claude-code"]

NODE = {
    "@agent-infra/mcp-server-filesystem": "1.2.29",
    "@cyanheads/git-mcp-server": "2.15.3",
    "@tokenizin/mcp-npx-fetch": "1.0.0",
    "fast-filesystem-mcp": "3.5.2",
    "mcp-server-commands": "0.5.0",
}
SDK_V1 = ("cli-mcp-server==0.2.5", "mcp-shell-server==1.1.14", "mcp-text-editor==1.0.2", "mcp>=1.30,<2")
SDK_V2 = ("mcp-server-fetch==2026.10.24",)


@dataclass(frozen=True)
class Reader:
    """A server, and how it reads a file; `{folder}`, `{name}` and `{site}` are replaced."""

    command: list[str]
    tool: str
    arguments: dict
    env: dict[str, str] = field(default_factory=dict)


def node(package):
    executable, home = node_packages(json.dumps({"name": "readers", "private": True, "dependencies": NODE}))
    at = home / "node_modules" / package
    starts = json.loads((at / "package.json").read_text())["bin"]
    return [str(executable), str(at / (starts if isinstance(starts, str) else next(iter(starts.values()))))]


def python(name, group):
    return [str(python_with(*group).with_name(name))]


FILE = "{folder}/{name}"
RANGE = {"files": [{"file_path": FILE, "ranges": [{"start": 1}]}]}
READERS = {
    "filesystem": lambda: Reader([*npm("filesystem"), "{folder}"], "read_text_file", {"path": FILE}),
    "agent-infra": lambda: Reader(
        [*node("@agent-infra/mcp-server-filesystem"), "--allowed-directories", "{folder}"], "read_file", {"path": FILE}
    ),
    "fast-filesystem": lambda: Reader(
        [*node("fast-filesystem-mcp"), "--allow", "{folder}"], "fast_read_file", {"path": FILE}
    ),
    "text-editor": lambda: Reader(python("mcp-text-editor", SDK_V1), "get_text_file_contents", RANGE),
    "commands": lambda: Reader(node("mcp-server-commands"), "run_command", {"command": f"cat {FILE}"}),
    "shell": lambda: Reader(
        python("mcp-shell-server", SDK_V1),
        "shell_execute",
        {"command": ["cat", FILE], "directory": "{folder}"},
        {"ALLOW_COMMANDS": "cat"},
    ),
    "cli": lambda: Reader(
        python("cli-mcp-server", SDK_V1),
        "run_command",
        {"command": "cat {name}"},
        {"ALLOWED_DIR": "{folder}", "ALLOWED_COMMANDS": "cat", "ALLOWED_FLAGS": "all", "COMMAND_TIMEOUT": "60"},
    ),
    "git": lambda: Reader(pypi("git"), "git_show", {"repo_path": "{folder}", "revision": "HEAD:{name}"}),
    "fetch": lambda: Reader(
        [*python("mcp-server-fetch", SDK_V2), "--ignore-robots-txt"],
        "fetch",
        {"url": "{site}/{name}", "raw": True, "max_length": 900_000},
    ),
    "npx-fetch": lambda: Reader(node("@tokenizin/mcp-npx-fetch"), "fetch_txt", {"url": "{site}/{name}"}),
}


def filled(value, **names):
    text = json.dumps(value)
    for name, of in names.items():
        text = text.replace("{" + name + "}", str(of))
    return json.loads(text)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    ours = {"cwd": folder, "check": True}
    subprocess.run(["git", "init", "--quiet"], **ours)
    subprocess.run(["git", "add", "."], **ours)
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *who, "commit", "--quiet", "--message=files"], **ours)
    return folder


@pytest.fixture(scope="module")
def site(folder):
    with site_of(folder) as url:
        yield url


@pytest.fixture(scope="module", params=READERS)
def reader(request, folder, site):
    made = READERS[request.param]()
    of = {"folder": folder, "site": site}
    return Reader(*(filled(each, **of) for each in (made.command, made.tool, made.arguments, made.env)))


async def texts(server, reader, host, names):
    """What a host's model reads of each file: the text, or the structured value that its host shows in its place."""
    told = []
    async with Client(server, client_info=Implementation(name=host, version="1"), mode="legacy") as client:
        await client.list_tools()
        for name in names:
            answer = await client.call_tool(reader.tool, filled(reader.arguments, name=name))
            assert not answer.is_error, answer.content
            told.append([block.text for block in answer.content if block.type == "text"])
    return told


@pytest.fixture(scope="module")
def direct(reader):
    command, *arguments = reader.command
    server = StdioServerParameters(command=command, args=arguments, env=reader.env)
    return anyio.run(texts, server, reader, "another", FILES)


@pytest.mark.parametrize("host", HOSTS)
def test_a_file_is_what_the_server_sends(reader, direct, host, tmp_path, monkeypatch):
    """VALUE.md: nothing touches a file's own content."""
    for (told, *_), text in zip(direct, FILES.values(), strict=True):
        start = text[:40].strip()
        assert start in told or json.dumps(start)[1:-1] in told, "the server reads another file"
    command, *arguments = reader.command
    entry = {"command": command, "args": arguments, "env": reader.env}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"it": entry}, "louver": {"learn": True, "toon": True}}))
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    gateway = StdioServerParameters(command=PYTHON, args=["-m", "louver", "serve", "--config", str(config)], env=env)
    anyio.run(texts, gateway, reader, host, ["pretty.json"] * (LEARNT_AFTER + 1))
    assert anyio.run(texts, gateway, reader, host, FILES) == direct
