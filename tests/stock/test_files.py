"""Files, read through ten servers for files, shells, repositories and sites: byte for byte, whatever they look like.

    pretty.json     alike objects, indented: compact text, TOON and learnt fields would all change it
    rows.toon       text that Louver itself could have written
    string.json     one string of JSON
    long.txt        5 MB, past what any host shows; shells that stop at 1 MB read the beginning

Each server is asked directly, then behind a gateway that learns and writes TOON, by hosts whose models get other
forms of answers. Until a shape is learnt nothing can be compact, so the gateway has learnt it from the same file.
"""

import json
import subprocess
from dataclasses import dataclass, field, replace

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
    "mcp-server-commands": "0.5.0",
}
SDK_V1 = ("cli-mcp-server==0.2.5", "mcp-shell-server==1.1.14", "mcp-text-editor==1.0.2", "mcp>=1.30,<2")
SDK_V2 = ("mcp-server-fetch==2026.10.24",)


@dataclass(frozen=True)
class Reader:
    """A server, and how it reads a file; `{folder}`, `{name}` and `{site}` are replaced.

    Args:
        wraps: Whether it sends JSON of its own, of which the file is one string: only that is the file's content.
    """

    command: list[str]
    tool: str
    arguments: dict
    env: dict[str, str] = field(default_factory=dict)
    wraps: bool = False


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
    "cyanheads-git": lambda: Reader(
        node("@cyanheads/git-mcp-server"), "git_show", {"path": "{folder}", "object": "HEAD:{name}"}, wraps=True
    ),
    "text-editor": lambda: Reader(python("mcp-text-editor", SDK_V1), "get_text_file_contents", RANGE),
    "commands": lambda: Reader(node("mcp-server-commands"), "run_command", {"command": f"head -c 900000 {FILE}"}),
    "shell": lambda: Reader(
        python("mcp-shell-server", SDK_V1),
        "shell_execute",
        {"command": ["head", "-c", "900000", FILE], "directory": "{folder}"},
        {"ALLOW_COMMANDS": "head"},
    ),
    "cli": lambda: Reader(
        python("cli-mcp-server", SDK_V1),
        "run_command",
        {"command": "cat {name}"},
        {"ALLOWED_DIR": "{folder}", "ALLOWED_COMMANDS": "cat", "ALLOWED_FLAGS": "all", "COMMAND_TIMEOUT": "60"},
    ),
    "git": lambda: Reader(pypi("git"), "git_show", {"repo_path": "{folder}", "revision": "HEAD:{name}"}),
    "fetch": lambda: Reader(
        [*python("mcp-server-fetch", SDK_V2), "--ignore-robots-txt", "--allow-private-ips"],
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
    filled_in = {name: filled(getattr(made, name), **of) for name in ("command", "arguments", "env")}
    return replace(made, **filled_in)


def bare(text):
    """Without white space, of which some servers make one space themselves."""
    return "".join(text.split())


def unspaced(text):
    return json.dumps(json.loads(text))


async def texts(server, reader, host, names):
    """What a host's model reads of each file: the text, or the structured value that its host shows in its place."""
    told = []
    async with Client(server, client_info=Implementation(name=host, version="1"), mode="legacy") as client:
        await client.list_tools()
        for name in names:
            answer = await client.call_tool(reader.tool, filled(reader.arguments, name=name))
            assert not answer.is_error, answer.content
            read = unspaced if reader.wraps else str
            told.append([read(block.text) for block in answer.content if block.type == "text"])
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
        starts = [bare(text[:40]), bare(json.dumps(text[:40])[1:-1])]
        assert any(start in bare(told) for start in starts), "the server reads another file"
    command, *arguments = reader.command
    entry = {"command": command, "args": arguments, "env": reader.env}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"it": entry}, "louver": {"learn": True, "toon": True}}))
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    gateway = StdioServerParameters(command=PYTHON, args=["-m", "louver", "serve", "--config", str(config)], env=env)
    anyio.run(texts, gateway, reader, host, ["pretty.json"] * (LEARNT_AFTER + 1))
    assert anyio.run(texts, gateway, reader, host, FILES) == direct
