"""`louver doctor`, `--apply` and `louver undo`: what servers cost, and Louver before them and away again."""

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from fixtures.command import louver
from fixtures.failsafe import A_WHILE_S, FAILSAFE_S
from fixtures.forking import PYTHON
from gateway.back.test_kept_catalogue import Starting
from gateway.served import fixture
from louver.cli import terminal
from louver.core.json import compact
from louver.desk.doctor import apply as applying
from louver.desk.doctor import measure as measuring
from louver.desk.doctor.answers import AnswerCost, _shown_sizes
from louver.desk.doctor.places import find_places
from louver.desk.doctor.recommend import recommend
from louver.desk.doctor.report import Diagnosis
from louver.desk.hosts.table import HOSTS, Machine
from louver.desk.samples import SampledTool
from louver.errors import InvalidConfig
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.gateway.routing import dispatch
from steps.wire import OLD, connect

pytestmark = pytest.mark.anyio

EXAMPLE = {"command": PYTHON, "args": ["-m", "louver", "serve", "--example"]}


def saying(**answers):
    """A server that answers with what it is given."""
    return fixture("saying", json.dumps({name.replace("_", "/"): value for name, value in answers.items()}))


def tools(count):
    """A list of so many tools, which a model would pay for."""
    words = "Reads the records of one kind, and returns those that match the filter, newest first."
    schema = {"type": "object", "properties": {"filter": {"type": "string", "description": words}}}
    return {"tools": [{"name": f"read_{n}", "description": words, "inputSchema": schema} for n in range(count)]}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The folder of a user who has nothing yet; the working folder is `home / "work"`."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2), encoding="utf-8")
    return path


def codex(servers):
    """A file of Codex with comments."""
    tables = [
        f"[mcp_servers.{name}] # {name}\ncommand = {json.dumps(each['command'])}\nargs = {json.dumps(each['args'])}\n"
        for name, each in servers.items()
    ]
    return '# mine\nmodel = "gpt"\n\n' + "\n".join(tables) + "\n[tui]\nnotifications = true\n"


def report(*arguments):
    """What `louver doctor --json` prints, and its messages."""
    status, out, err = louver("doctor", "--yes", "--json", *arguments)
    assert status == 0, err
    return json.loads(out), err


def call(command, arguments, tool, arguments_of_tool):
    """Call a tool of a server that a host's file names, as that host does."""
    parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))

    async def called():
        async with Client(stdio_client(parameters), mode="legacy") as client:
            return await client.call_tool(tool, arguments_of_tool)

    return anyio.run(called)


@pytest.fixture
def three_hosts(home):
    """Files of three hosts with five servers."""
    servers = {
        "issues": EXAMPLE,
        "notes": fixture("searchable"),
        "records": fixture("records"),
        "many": saying(tools_list=tools(150)),
        "small": fixture("named", '["a"]'),
    }
    of_opencode = {
        name: {"type": "local", "command": [each["command"], *each["args"]]} for name, each in servers.items()
    }
    files = [
        put(home / ".cursor" / "mcp.json", {"mcpServers": servers}),
        put(home / ".codex" / "config.toml", codex(servers)),
        put(home / "work" / "opencode.json", {"$schema": "https://opencode.ai/config.json", "mcp": of_opencode}),
    ]
    files[0].chmod(0o600)
    return files


def test_from_the_files_of_three_hosts_to_a_call_and_back(home, three_hosts):
    """Issue 42: doctor, apply, a call through the host's own file, undo: the bytes are equal."""
    before = [(file.read_bytes(), file.stat().st_mode) for file in three_hosts]
    status, out, err = louver("doctor", "--yes", "--apply")
    assert status == 0, err
    assert len(re.findall(r"^louver: notes: \d+ tools", err, re.MULTILINE)) == 1, "each server starts once"
    assert max(map(len, out.split("\nCursor, ")[0].splitlines())) <= 80
    assert "Tokens are\nestimated: characters / " in out, "no line is broken again"
    cursor, config, opencode = (file.read_text("utf-8") for file in three_hosts)
    entries = [
        json.loads(cursor)["mcpServers"],
        tomllib.loads(config)["mcp_servers"],
        json.loads(opencode)["mcp"],
    ]
    assert [list(each) for each in entries] == [["louver"]] * 3
    assert config.startswith('# mine\nmodel = "gpt"\n')
    assert config.endswith("[tui]\nnotifications = true\n")
    commands = [
        [entries[0]["louver"]["command"], *entries[0]["louver"]["args"]],
        [entries[1]["louver"]["command"], *entries[1]["louver"]["args"]],
        entries[2]["louver"]["command"],
    ]
    for program, *arguments in commands:
        assert json.loads(Path(arguments[-1]).read_text())["louver"]["exposure"] == "deferred"
        request = {"tool": "issues__get_issue", "arguments": {"number": 7}}
        result = call(program, arguments, "search_tools", request)
        assert not result.is_error, result
        assert '"number":7' in compact(result.structured_content)
    status, _, err = louver("undo")
    assert (status, err.count("is as it was before Louver")) == (0, 3)
    assert [(file.read_bytes(), file.stat().st_mode) for file in three_hosts] == before
    assert not list((home / ".config" / "louver" / "hosts").iterdir())
    assert louver("undo") == (0, "", "louver: there is nothing to undo\n")


async def test_what_is_measured_is_in_the_first_list(home, monkeypatch):
    """Step 19: of `louver serve`, though its servers are slow by then; in another folder too."""
    monkeypatch.setattr(dispatch, "LEFT_OUT_S", 0.05)
    server = Starting(home)
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"it": server.entry}})
    await anyio.to_thread.run_sync(report, "cursor")
    server.waits()
    monkeypatch.chdir(home)
    gateway = Gateway(
        {"mcpServers": {"it": server.entry}}, catalogues=home / ".local" / "state" / "louver" / "catalogue"
    )
    try:
        async with connect(sdk_server(gateway.answer), OLD) as wire:
            assert set(await wire.tools()) == {"read"}
            assert not server.is_up
    finally:
        await gateway.close()


def test_the_figures_are_those_of_real_lists(home):
    """Issue 42: counted as a model sees them, of the servers and of a gateway before them, not by a formula."""
    servers = {"issues": EXAMPLE, "many": saying(tools_list=tools(150))}
    put(home / ".codex" / "config.toml", codex(servers))
    [found], _ = report("codex")

    async def states():
        gateway = Gateway({"mcpServers": servers})
        try:
            return await gateway.open()
        finally:
            await gateway.close()

    async def listed(exposure):
        settings = {"exposure": exposure, "disclosure": "on-error", "pinned": []}
        host = Implementation(name="codex-mcp-client", version="1")
        async with (
            Gateway({"mcpServers": servers, "louver": settings}) as gateway,
            Client(gateway.server, client_info=host) as client,
        ):
            return [tool.model_dump(by_alias=True) for tool in (await client.list_tools()).tools]

    def tokens(tools):
        keys = ("name", "description", "inputSchema")
        return sum(terminal.list_tokens(len(compact({key: tool[key] for key in keys}))) for tool in tools)

    assert [(each["name"], each["tools"], each["list_tokens"]) for each in found["servers"]] == [
        (state.name, len(state.tools), tokens(state.tools)) for state in anyio.run(states)
    ]
    costs = {name: tokens(anyio.run(listed, name)) for name in ("full", "deferred", "minimal", "gateway")}
    in_use = round(costs["full"] * 8 / sum(each["tools"] for each in found["servers"]))
    assert found["exposures"] == costs | {"deferred": costs["deferred"] + in_use}
    assert found["recommended"] == "deferred"
    assert found["conversation_tokens_with_louver"] < found["conversation_tokens"]


def test_a_view_of_measured_answers_shortens_them(home):
    """Issue 42: `--apply` writes suggested views and learned fields; of answers only names and sizes are kept."""
    servers = {"issues": EXAMPLE, "records": fixture("records")}
    file = put(home / ".cursor" / "mcp.json", {"mcpServers": servers})
    arguments = ("--call", "list_issues", '{"limit": 5}', "--call", "issues__export_stats", "{}")
    [found], _ = report("cursor", *arguments)
    answers = {each["tool"]: each for each in found["servers"][0]["answers"]}
    assert answers["list_issues"]["tokens_with_view"] < answers["list_issues"]["tokens"] / 2
    status, _, err = louver("doctor", "--yes", "--apply", "cursor", *arguments)
    assert status == 0, err
    assert "answers of issues: list_issues are shortened by a view in " in err
    entry = json.loads(file.read_text())["mcpServers"]["louver"]
    folder = next((home / ".config" / "louver" / "hosts").iterdir())
    assert entry["args"] == ["serve", "--config", str(folder / "mcp.json")]
    config = json.loads((folder / "mcp.json").read_text())
    assert config["mcpServers"]["issues"]["louver"] == {"views": "views/issues"}
    assert json.loads((folder / "views/issues/list_issues.views.json").read_text())["default"] == "compact"
    written = "".join(path.read_text() for path in folder.rglob("*.json"))
    assert "ghost" not in written
    assert "octocat" not in written
    name = "list_issues" if config["louver"]["exposure"] == "gateway" else "issues__list_issues"
    full = call(EXAMPLE["command"], EXAMPLE["args"], "list_issues", {"limit": 5})
    if config["louver"]["exposure"] == "gateway":
        request = {"action": "call", "id": f"issues__{name}", "arguments": {"limit": 5}}
        shown = call(entry["command"], entry["args"], "gateway", request)
    else:
        shown = call(entry["command"], entry["args"], name, {"limit": 5})
    sizes = [len(compact(each.structured_content)) for each in (full, shown)]
    assert sizes[1] < sizes[0] / 2


def test_a_well_known_server_gets_the_views_that_ship(home):
    """VALUE.md, "What doctor and `saved` must say"."""
    known = saying(initialize={"serverInfo": {"name": "memory-server", "version": "1"}}, tools_list=tools(20))
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"memory": known, "other": saying(tools_list=tools(20))}})
    status, _, err = louver("doctor", "--yes", "--apply", "cursor")
    assert status == 0, err
    [folder] = (home / ".config" / "louver" / "hosts").iterdir()
    servers = json.loads((folder / "mcp.json").read_text())["mcpServers"]
    assert {name: server.get("louver") for name, server in servers.items()} == {
        "memory": {"readyViews": True},
        "other": None,
    }


HONEST = {
    "few tools": ("cursor", ".cursor/mcp.json", {"one": fixture("named", '["a", "b"]')}, "the list is short"),
    "tools on demand": (
        "qwen-code",
        ".qwen/settings.json",
        {"many": saying(tools_list=tools(150))},
        "this host loads tools on demand",
    ),
    "no tools": (
        "cursor",
        ".cursor/mcp.json",
        {"none": saying(tools_list={"tools": []})},
        "no server has listed a tool",
    ),
}


@pytest.mark.parametrize(("host", "file", "servers", "reason"), HONEST.values(), ids=HONEST)
def test_where_louver_does_not_help_it_says_so(home, host, file, servers, reason):
    """Issue 42: "leave it"; and `--apply` without a host changes nothing there."""
    path = put(home / file, {"mcpServers": servers})
    before = path.read_bytes()
    status, out, _ = louver("doctor", "--yes", "--apply")
    assert status == 0
    assert f"{path}: leave it, since {reason}" in out.replace("\n", " ")
    assert "--apply" not in out
    assert path.read_bytes() == before


@pytest.mark.parametrize(("form", "tokens"), [("structured", 10), ("text", 30), ("both", 10)])
def test_of_an_unknown_host_the_shorter_form_counts(form, tokens):
    """Ours: as in `louver report`; indentation of the text is no saving of a view."""
    tool = SampledTool("s", {"name": "t"})
    assert AnswerCost(tool, structured=10, text=30, suggestion=None).shown(form) == tokens


@pytest.mark.whole
@pytest.mark.parametrize(
    ("host", "file", "is_named"), [("gemini-cli", ".gemini/settings.json", True), ("cursor", ".cursor/mcp.json", False)]
)
def test_what_toon_would_save_is_named_where_it_is_much(home, host, file, is_named):
    """VALUE.md: to known hosts alone, and only with the library."""
    rows = {"rows": [{"id": number, "name": f"n{number}"} for number in range(50)]}
    answer = {"content": [{"type": "text", "text": compact(rows)}], "structuredContent": rows}
    tool = {"name": "t", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    put(home / file, {"mcpServers": {"it": saying(tools_list={"tools": [tool]}, tools_call=answer)}})
    [found], _ = report(host, "--call", "t", "{}")
    (cost,) = found["servers"][0]["answers"]
    assert (cost["tokens_with_toon"] < cost["tokens"] * 0.6) is is_named
    _, out, _ = louver("doctor", "--yes", host, "--call", "t", "{}")
    assert ('  The setting "toon" of a gateway saves ' in out) is is_named


def test_without_the_library_toon_is_not_named(monkeypatch):
    """Ours."""
    rows = {"content": [], "structuredContent": {"rows": [{"id": 1, "name": "a"}] * 50}}
    assert len(_shown_sizes(rows)) == 4
    monkeypatch.setitem(sys.modules, "louver.steps.calls.toon", None)
    assert len(_shown_sizes(rows)) == 2
    assert AnswerCost(SampledTool("s", {"name": "t"}), 10, 30, None).with_toon("text") is None


def test_a_list_that_is_not_short_is_not_said_to_be(home):
    """Ours: what Louver would save is too little, whatever the length of the list."""
    measured = measuring.Measurement(
        [], measuring.ListCost({"a": 9000}), {"minimal": measuring.ListCost({"a": 8900})}, []
    )
    advice = recommend(measured, None)
    assert (advice.exposure, advice.reason) == (None, "Louver would save less than 5% of a conversation")


def test_a_host_that_is_named_gets_louver_anyway(home):
    """Ours: for fields and views, where a list is short."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"one": EXAMPLE}})
    assert louver("doctor", "--yes", "--apply", "cursor", "--call", "get_user_profile", '{"user_id": 42}')[0] == 0
    entry = json.loads(path.read_text())["mcpServers"]["louver"]
    assert not (call(entry["command"], entry["args"], "get_issue", {"number": 7})).is_error


def test_without_a_terminal_nothing_starts_unasked(home):
    """Issue 42."""
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"one": {"command": "touch", "args": [str(home / "started")]}}})
    status, out, err = louver("doctor")
    assert (status, out) == (2, "")
    assert "  one: touch\n" in err
    assert err.endswith(": --yes agrees\n")
    assert not (home / "started").exists()


ANSWERS = {
    "n": ("n\n", "", 1),
    "start": ("start\nn\n", "with Louver", 1),
    "y": ("y\nn\n", "with Louver", 1),
    "the end": ("\x04", "", 1),
}


@pytest.mark.parametrize(("typed", "shown", "status"), ANSWERS.values(), ids=ANSWERS)
def test_a_person_at_a_terminal_is_asked(home, typed, shown, status):
    """Issue 42: before servers start, and before a file changes."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"one": EXAMPLE}})
    before = path.read_bytes()
    ours, theirs = pty.openpty()
    command = [PYTHON, "-m", "louver", "doctor", "--apply", "cursor"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        os.close(theirs)
        os.write(ours, typed.encode())
        out, err = process.communicate(timeout=FAILSAFE_S)
    os.close(ours)
    assert process.returncode == status, err
    assert "Start 1 servers, and call those" in err
    assert shown in out
    assert ("list_issues" in err) is False
    assert ("Write this to" in err) == bool(shown)
    assert path.read_bytes() == before


ASKS = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") == "tools/list":
        print(json.dumps({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "?",
              "requestedSchema": {"type": "object", "properties": {}}}}), flush=True)
        waiting = request["id"]
    elif request.get("method") == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                 "serverInfo": {"name": "asks", "version": "1"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": about}), flush=True)
    elif request.get("id") == "q":
        tools = [{"name": "t", "inputSchema": {"type": "object"}}]
        print(json.dumps({"jsonrpc": "2.0", "id": waiting, "result": {"tools": tools}}), flush=True)
    elif "id" in request:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}), flush=True)
"""


def test_servers_that_hang_die_or_ask_hold_up_no_other(home, monkeypatch):
    """Issue 42: each has its state in the table, and stays in the host's file."""
    start = measuring._start

    async def impatient(gateway, server):
        monkeypatch.setattr(measuring, "DOCTOR_START_S", A_WHILE_S if server.name == "hangs" else FAILSAFE_S)
        return await start(gateway, server)

    monkeypatch.setattr(measuring, "_start", impatient)
    servers = {
        "hangs": {"command": PYTHON, "args": ["-c", "import time; time.sleep(60)"]},
        "dies": {"command": PYTHON, "args": ["-c", "raise SystemExit(3)"]},
        "missing": {"command": "/no/such/program", "args": []},
        "asks": {"command": PYTHON, "args": ["-c", ASKS]},
        "unset": {"command": "npx", "env": {"T": "${env:SURELY_NOT_SET}"}},
        "off": {"command": "npx", "disabled": True},
        "good": saying(tools_list=tools(150)),
    }
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": servers})
    status, out, err = louver("doctor", "--yes", "--apply", "--json")
    assert status == 0, err
    found = {each["name"]: each for each in json.loads(out)[0]["servers"]}
    assert found["hangs"]["problem"].startswith("it has not listed its tools within ")
    assert found["dies"]["problem"]
    assert found["missing"]["problem"]
    assert (found["asks"]["tools"], found["good"]["tools"]) == (1, 150)
    assert "server 'unset' of " in err
    assert "'SURELY_NOT_SET' is not set" in err
    kept = json.loads(path.read_text())["mcpServers"]
    assert list(kept) == ["hangs", "dies", "missing", "louver", "unset", "off"]


def test_no_server_at_all(home):
    """Issue 42: the files are named."""
    put(home / ".cursor" / "mcp.json", {"mcpServers": {}})
    status, out, err = louver("doctor", "cursor", "--yes")
    assert (status, out) == (2, "")
    assert err.startswith("louver: there is no server to measure in ")
    assert str(home / ".cursor" / "mcp.json") in err
    assert "'louver demo' shows" in err


@pytest.mark.parametrize("arguments", [("--apply", "emacs"), ("emacs",)])
def test_an_unknown_host_is_answered_with_the_known_ones(arguments):
    """Ours."""
    status, _, err = louver("doctor", *arguments)
    assert status == 2
    assert "there is no 'emacs': there are 'claude-code', " in err


def test_a_file_with_too_many_servers_starts_none(home):
    """Issue 42: bounded."""
    put(home / ".cursor" / "mcp.json", {"mcpServers": {f"s{n}": {"command": "npx"} for n in range(65)}})
    status, _, err = louver("doctor", "cursor", "--yes")
    assert status == 2
    assert "it has 65 servers: at most 64 are started" in err


def test_a_broken_file_of_one_host_holds_up_no_other(home):
    """Issue 42: broken, a pipe, no object, huge."""
    put(home / ".gemini" / "settings.json", '{"mcpServers": {\n"a"}}')
    put(home / ".codex" / "config.toml", 'model = "geheim')
    put(home / ".qwen" / "settings.json", {"mcpServers": ["a"]})
    (home / ".config" / "zed").mkdir(parents=True)
    os.mkfifo(home / ".config" / "zed" / "settings.json")
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"one": fixture("named", '["a"]')}})
    found, err = report()
    assert [each["host"] for each in found] == ["cursor"]
    for text in (
        "settings.json:2: not JSON",
        "config.toml: not TOML",
        "'mcpServers': expected an object, not a list",
        "settings.json: the file cannot be read: it is no regular file",
    ):
        assert text in err
    assert "geheim" not in err


def test_hostile_names_do_not_reach_the_terminal(home):
    """Issue 42: of servers, of tools, and in the file of a host; nothing is markup, nothing moves the cursor."""
    evil = "[red]\x1b]0;title\x07\u202e"
    hostile = {"tools": [{"name": evil, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}]}
    put(home / ".cursor" / "mcp.json", {"mcpServers": {evil: saying(tools_list=hostile), "b": {"x\x1b": 1}}})
    status, out, err = louver("doctor", "--yes", "--apply", "cursor")
    assert status == 0, err
    assert not {"\x1b", "\x07", "\u202e"} & {*out, *err}
    assert "[red]" in err


def test_louver_is_applied_once(home):
    """Ours: a second time says how to go on; after undo it works again."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    assert louver("doctor", "--yes", "--apply")[0] == 0
    status, _, err = louver("doctor", "--yes", "--apply")
    assert status == 2
    assert "has Louver already: 'louver undo cursor' removes it" in err
    content = json.loads(path.read_text())
    content["mcpServers"]["new"] = fixture("named", '["a"]')
    put(path, content)
    status, _, err = louver("doctor", "--yes", "--apply", "cursor")
    assert status == 1
    assert "the file has Louver already: 'louver undo cursor' first, then apply again" in err
    status, _, err = louver("undo", "cursor")
    assert status == 1
    assert "is left alone, since it has changed in lines " in err
    path.write_bytes(before)
    assert louver("undo")[0] == 0
    assert louver("doctor", "--yes", "--apply")[0] == 0
    assert louver("undo", "codex") == (0, "", "louver: there is nothing to undo\n")
    assert louver("undo", "cursor")[0] == 0
    assert path.read_bytes() == before


def test_servers_that_several_files_have_are_started_once(home):
    """VALUE.md: also where the files of other hosts have some of them."""
    servers = {name: fixture("named", f'["{name}"]') for name in ("a", "b", "c")}
    put(home / ".cursor" / "mcp.json", {"mcpServers": servers})
    put(home / ".gemini" / "settings.json", {"mcpServers": {name: servers[name] for name in ("c", "a")}})
    put(home / ".qwen" / "settings.json", {"mcpServers": {"a": servers["a"]}})
    found, err = report("cursor", "gemini-cli", "qwen-code")
    assert ".gemini/settings.json, of these: c, a" in err
    assert err.count(" tools, ") == 3
    assert {each["host"]: [one["name"] for one in each["servers"]] for each in found} == {
        "cursor": ["a", "b", "c"],
        "gemini-cli": ["a", "c"],
        "qwen-code": ["a"],
    }


async def diagnosed(home):
    machine = Machine(home / "work", home, "linux", os.environ)
    [place] = find_places([HOSTS["cursor"]], machine)
    [measured] = await measuring.measure([(place.config, None)], [], call_others=False)
    return machine, place, Diagnosis(place.source, measured, recommend(measured, None))


async def test_a_file_that_changes_before_it_is_written_stays(home):
    """Issue 42: between showing the difference and writing; nothing of Louver is left."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    machine, place, diagnosis = await diagnosed(home)
    change = applying.prepare(machine, place, diagnosis)
    path.write_text(path.read_text() + " ")
    with pytest.raises(InvalidConfig, match="has changed meanwhile"):
        change.write()
    assert not list((home / ".config" / "louver" / "hosts").iterdir())
    put(path, {"mcpServers": {"other": {"command": "x"}}})
    with pytest.raises(InvalidConfig, match="its servers have changed meanwhile"):
        applying.prepare(machine, place, diagnosis)


async def test_two_doctors_leave_one_another_s_copies(home):
    """Ours: the second was asked before the first has written, and answers after it."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    machine, place, diagnosis = await diagnosed(home)
    first, second = (applying.prepare(machine, place, diagnosis) for _ in range(2))
    first.write()
    with pytest.raises(InvalidConfig, match="has changed meanwhile"):
        second.write()
    assert (first.swap.folder / "mcp.json").exists()
    assert louver("undo")[0] == 0
    assert path.read_bytes() == before


async def test_a_file_that_was_exchanged_keeps_what_undoes_it(home, monkeypatch):
    """Ours: Ctrl-C just after the exchange."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    change = applying.prepare(*await diagnosed(home))
    exchange = applying.exchange

    def interrupted(*arguments):
        exchange(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(applying, "exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        change.write()
    assert path.read_bytes() != before
    assert louver("undo")[0] == 0
    assert path.read_bytes() == before


def test_copies_of_servers_that_are_nowhere_else_stay(home):
    """Ours: Louver's entry was removed by hand, and another server added."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    assert louver("doctor", "--yes", "--apply")[0] == 0
    put(path, {"mcpServers": {"other": saying(tools_list=tools(150))}})
    status, _, err = louver("doctor", "--yes", "--apply", "cursor")
    assert status == 1
    assert "Louver was removed from it otherwise than by 'louver undo'" in err
    [copy] = (home / ".config" / "louver" / "hosts").glob("*/before")
    assert copy.read_bytes() == before


def test_one_broken_record_holds_up_no_other_file(home):
    """Ours."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    assert louver("doctor", "--yes", "--apply")[0] == 0
    put(home / ".config" / "louver" / "hosts" / "zed-1" / "swap.json", "{")
    status, _, err = louver("undo")
    assert status == 1
    assert "restore its file 'before'" in err
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_is_reported(home):
    """Ours."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    put(home / ".config" / "louver", "a file")
    status, _, err = louver("doctor", "--yes", "--apply")
    assert status == 1
    assert "cannot be written: Not a directory" in err
    assert path.read_bytes() == before


def test_a_file_that_others_can_write_is_measured_and_not_changed(home):
    """Issue 42."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    path.chmod(0o666)
    before = path.read_bytes()
    status, out, err = louver("doctor", "--yes", "--apply")
    assert status == 1
    assert "the file is not changed: others than its owner can write it" in err
    assert "with Louver" in out
    assert path.read_bytes() == before


def test_a_louver_in_a_cache_is_not_written_into_a_file(home, monkeypatch):
    """Ours: what `uvx` runs is gone once its cache is cleared."""
    path = put(home / ".cursor" / "mcp.json", {"mcpServers": {"many": saying(tools_list=tools(150))}})
    before = path.read_bytes()
    put(home / "cache" / "CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55")
    monkeypatch.setattr(sys, "prefix", str(home / "cache" / "archive-v0" / "abc"))
    status, _, err = louver("doctor", "--yes", "--apply")
    assert status == 1
    assert "install it first, for example by uv tool install louver" in err
    assert path.read_bytes() == before


CALLS = {
    "unknown": (("--call", "list_isues", "{}"), 1, "there is no tool 'list_isues': "),
    "not read-only": (("--call", "find", "{}"), 2, "does not say that it only reads"),
    "no JSON": (("--call", "list_issues", "{"), 2, "not JSON"),
    "an error": (("--call", "list_issues", '{"limit": "x"}'), 0, "list_issues: the tool answers with an error"),
}


@pytest.mark.parametrize(("arguments", "expected", "message"), CALLS.values(), ids=CALLS)
def test_a_call_without_an_answer_is_reported(home, arguments, expected, message):
    """Ours: the table comes all the same, unless nothing may start."""
    put(home / ".cursor" / "mcp.json", {"mcpServers": {"issues": EXAMPLE, "records": fixture("records")}})
    status, _, err = louver("doctor", "cursor", "--yes", *arguments)
    assert status == expected, err
    assert message in err
