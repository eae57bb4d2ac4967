"""`louver init`: hosts' files become a configuration, and stay as they are."""

import json
import os
import stat
import sys
from functools import partial
from pathlib import Path

import pytest

from fixtures.command import louver
from louver.cli.host_import import strip_comments
from louver.cli.hosts import Machine, sources, sources_in_file
from louver.gateway.config.read import read_config

CURSOR = """{
  // servers of this project
  "mcpServers": {
    "GitHub MCP": {
      "command": "docker", "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.example.com/github"],
      "env": {"TOKEN": "${env:GITHUB_TOKEN}"},
    },
    "files": {"timeout": 9, "command": "npx", "args": ["fs", "${workspaceFolder}/docs", "${userHome}"], "cwd": "sub"},
    "remote": {"url": "http://localhost:3000/mcp", "headers": {"API_KEY": "abc"}, "disabled": false} /* local */
  },
}
"""

VSCODE = """{
  "inputs": [{"id": "key", "type": "promptString", "password": true}],
  "servers": {
    "fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"], "dev": {"watch": "**"}},
    "gh": {"type": "http", "url": "https://api.example.com/mcp/", "gallery": true, "version": "1.0.0"}
  }
}
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project of a user who has nothing yet; `tmp_path / "home"` is the user's folder."""
    here = tmp_path / "project"
    here.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    for name in ("XDG_CONFIG_HOME", "APPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    return here


@pytest.fixture
def init(project):
    """Run the command there: `init("--from", "cursor")` -> status, out, err."""
    return partial(louver, "init")


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def written(folder, name="mcp.json"):
    return json.loads((folder / name).read_text(encoding="utf-8"))["mcpServers"]


WRITE_A_VARIABLE = "write an environment variable there instead, as '${env:TOKEN}'"
SERVER = {"mcpServers": {"it": {"command": "npx"}}}


def test_the_servers_of_a_host_become_a_configuration_and_the_host_gets_louver(init, project):
    """GATEWAY, Import: reads the host's file, writes mcp.json, never touches the original."""
    original = put(project / ".cursor" / "mcp.json", CURSOR)
    status, out, err = init("--from", "cursor")
    assert status == 0
    assert written(project) == {
        "GitHub-MCP": {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.example.com/github"],
            "env": {"TOKEN": "${GITHUB_TOKEN}"},
        },
        "files": {
            "command": "npx",
            "args": ["fs", f"{project}/docs", str(project.parent / "home")],
            "cwd": str(project / "sub"),
        },
        "remote": {"url": "http://localhost:3000/mcp", "headers": {"API_KEY": "abc"}, "disabled": False},
    }
    server = {
        "command": "louver",
        "args": ["serve", "--config", str(project / "mcp.json")],
        "env": {"GITHUB_TOKEN": "${env:GITHUB_TOKEN}"},
    }
    assert json.loads(out) == {"mcpServers": {"louver": server}}
    assert err.splitlines() == [
        f"louver: mcp.json has the 3 servers of {original}, with its secrets",
        "louver: server 'GitHub MCP' is called 'GitHub-MCP' in it",
        "louver: where Cursor runs, these environment variables must be set, and 'env' passes them on: GITHUB_TOKEN",
        f"louver: into {original}, under 'mcpServers', put 'louver' instead of 'GitHub MCP', 'files', 'remote':",
    ]
    assert original.read_text(encoding="utf-8") == CURSOR


def test_a_command_that_is_not_on_the_path_is_written_whole(init, project, monkeypatch):
    """GATEWAY, Import: hosts do not have what an environment holds that is not active."""
    put(project / ".mcp.json", SERVER)
    beside = put(project / "env" / "bin" / "louver", "")
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    _, out, _ = init("--from", "claude")
    assert json.loads(out)["mcpServers"]["louver"]["command"] == str(beside)


def test_a_variable_with_a_default_need_not_be_set(init, project):
    """Ours: what is told to be needed is."""
    put(project / ".mcp.json", {"mcpServers": {"it": {"command": "npx", "args": ["${A:-b}", "${C}"]}}})
    _, out, err = init("--from", "claude")
    assert "must be set, and 'env' passes them on: C\n" in err
    assert json.loads(out)["mcpServers"]["louver"]["env"] == {"C": "${C}"}


def test_what_is_written_can_be_served(init, project):
    """Ours, as a round trip: the same servers come out."""
    put(project / ".cursor" / "mcp.json", CURSOR)
    init("--from", "cursor")
    config = read_config(project / "mcp.json", {"GITHUB_TOKEN": "t"})
    assert [upstream.name for upstream in config.upstreams] == ["GitHub-MCP", "files", "remote"]
    assert config.upstreams[0].env == {"TOKEN": "t"}
    assert config.upstreams[1].cwd == project / "sub"
    (project / "again").mkdir()
    before = written(project)
    assert init("--from", "claude", "--file", "mcp.json", "--out", "again/mcp.json")[0] == 0
    assert written(project / "again") == before


def test_only_the_user_can_read_what_is_written(init, project):
    """Ours: it holds the secrets that the host's file holds."""
    put(project / ".mcp.json", SERVER)
    old = os.umask(0)
    try:
        init("--from", "claude")
    finally:
        os.umask(old)
    assert stat.S_IMODE((project / "mcp.json").stat().st_mode) == 0o600


def test_vs_code_keeps_its_servers_under_another_key(init, project):
    """VS Code's `.vscode/mcp.json`: `servers`, and `type` in each."""
    put(project / ".vscode" / "mcp.json", VSCODE)
    status, out, err = init("--from", "vscode", "--out", "louver.json")
    assert status == 0
    assert written(project, "louver.json") == {
        "fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"]},
        "gh": {"type": "http", "url": "https://api.example.com/mcp/"},
    }
    args = ["serve", "--config", str(project / "louver.json")]
    assert json.loads(out) == {"servers": {"louver": {"type": "stdio", "command": "louver", "args": args}}}
    assert "environment variables" not in err


def test_a_server_that_cannot_be_taken_over_is_left_out_and_told(init, project):
    """Ours: it holds up no other, enabled or not; one that can be is there, disabled as it was."""
    off = {"disabled": True}
    servers = {
        "old": {"type": "sse", "url": "http://a/sse"},
        "asks": {"command": "a", "env": {"K": "${input:k}"}},
        "file": {"command": "a", "envFile": ".env", **off},
        "text": "npx",
        "a b": {"command": "a", "arg": []},
        "sign": {"command": "a", "args": ["$${env:A}"]},
        "fits": {"command": "a", "args": ["${env:A}"], **off},
        "on": {"command": "a"},
    }
    file = put(project / ".vscode" / "mcp.json", {"servers": servers})
    status, out, err = init("--from", "vscode")
    assert status == 0
    assert written(project) == {"fits": {"command": "a", "args": ["${A}"], **off}, "on": {"command": "a"}}
    assert json.loads(out)["servers"].keys() == {"louver"}
    assert "must be set" not in err
    told = dict(line.split(" is left out, and stays where it is: ") for line in err.splitlines() if "left out" in line)
    assert list(told) == [f"louver: server {name!r}" for name in ("old", "asks", "file", "text", "a b", "sign")]
    whys = list(told.values())
    assert all(why.startswith(f"{file}:1: ") for why in whys)
    assert whys[0].startswith(f"{file}:1: 'type': expected one of 'stdio', ")
    assert whys[1] == f"{file}:1: only the host can answer '${{input:k}}': {WRITE_A_VARIABLE}"
    assert whys[2].startswith(f"{file}:1: 'envFile': not possible here. ")
    assert whys[3] == f"{file}:1: expected an object, not a string"
    assert "unknown key 'arg': " in whys[4]
    assert "there is no way to write '$${env:A}'" in whys[5]
    assert err.splitlines()[-1] == f"louver: into {file}, under 'servers', put 'louver' instead of 'fits', 'on':"


def test_where_every_server_is_left_out_nothing_is_written(init, project):
    """Ours: there is nothing to put in front of."""
    file = put(project / ".vscode" / "mcp.json", {"servers": {"old": {"type": "sse", "url": "http://a/sse"}}})
    status, out, err = init("--from", "vscode")
    assert (status, out) == (2, "")
    assert err.endswith(f"louver: {file} holds no server but those left out\n")
    assert not (project / "mcp.json").exists()


def test_what_a_host_asks_its_user_for_is_told_by_name(init, project):
    """Ours: nobody can be asked by a process without a window."""
    content = """{"servers": {
"a": {"command": "a", "env": {"X": "${env:X}",
  "T": "Bearer ${input:key}"}},
"b": {"url": "http://b/${input:who}", "headers": {"K": "${input:key}", "C": "${command:ext.token}"}}
}}"""
    file = put(project / ".vscode" / "mcp.json", content)
    _, _, err = init("--from", "vscode")
    assert err.splitlines()[:2] == [
        f"louver: server 'a' is left out, and stays where it is: {file}:3: only the host can answer '${{input:key}}': "
        f"{WRITE_A_VARIABLE}",
        f"louver: server 'b' is left out, and stays where it is: {file}:4: only the host can answer '${{input:who}}', "
        f"'${{input:key}}', '${{command:ext.token}}': {WRITE_A_VARIABLE}",
    ]


@pytest.mark.parametrize("what", ["input:my key", "input:schlüssel", "workspaceFolder:root", "extensionFolder:a.b"])
def test_what_only_the_host_can_answer_is_told_however_it_is_named(init, project, what):
    """VS Code's variables: an input has any name, and one of several folders is named by its own."""
    put(project / ".vscode" / "mcp.json", {"servers": {"a": {"command": "a", "args": [f"x${{{what}}}/y"]}}})
    status, _, err = init("--from", "vscode")
    assert status == 2
    assert f":1: only the host can answer '${{{what}}}': write" in err


def test_what_no_variable_of_ours_can_say_is_told_by_name(init, project):
    """Ours: it would become other text without a word."""
    args = ["${env:A}", "x$${env:B}y", "${env:ProgramFiles(x86)}", "$$${C:-c}", "${env:}"]
    file = put(project / ".vscode" / "mcp.json", {"servers": {"a": {"command": "a", "args": args}}})
    status, out, err = init("--from", "vscode")
    assert (status, out) == (2, "")
    assert err.startswith(
        f"louver: server 'a' is left out, and stays where it is: {file}:1: there is no way to write '$${{env:B}}', "
        "'${env:ProgramFiles(x86)}', '$${C:-c}', '${env:}' here: expected a variable with a name of letters, digits "
        "and '_', and no '$' before it\n"
    )
    assert not (project / "mcp.json").exists()


def test_a_folder_that_is_known_to_editors_only_is_told_where_there_is_none(init, project):
    """Ours: a file of the user is about no project."""
    put(project.parent / "home" / ".cursor" / "mcp.json", {"mcpServers": {"a": {"command": "${workspaceFolder}/a"}}})
    status, _, err = init("--from", "cursor")
    assert status == 2
    assert ":1: only the host can answer '${workspaceFolder}'" in err


def test_text_that_only_looks_like_a_variable_stays_text(init, project):
    """Ours: a script for a shell has such marks too."""
    script = "echo ${X%%.*} ${Y} ${ ${Z:-a b} ${z:-a} $${X#.} $${userHome}"
    put(project / ".mcp.json", {"mcpServers": {"a": {"command": "sh", "args": ["-c", script]}}})
    init("--from", "claude")
    home = project.parent / "home"
    assert written(project)["a"]["args"] == [
        "-c",
        f"echo $${{X%%.*}} ${{Y}} $${{ ${{Z:-a b}} ${{z:-a}} $$${{X#.}} ${home}",
    ]
    (upstream,) = read_config(project / "mcp.json", {"Y": "y", "Z": "z"}).upstreams
    assert upstream.command[-1] == f"echo ${{X%%.*}} y ${{ z a $${{X#.}} ${home}"


def test_names_that_cannot_stand_before_a_tool_s_are_changed_and_stay_apart(init, project):
    """Ours; a name that is right stays."""
    names = ["a b", "a/b", "a-b", "x__y", "_z", "__", "github.com/servers/tree", "é"]
    put(project / ".mcp.json", {"mcpServers": {name: {"command": name} for name in names}})
    _, _, err = init("--from", "claude")
    assert {new: server["command"] for new, server in written(project).items()} == {
        "a-b-2": "a b",
        "a-b-3": "a/b",
        "a-b": "a-b",
        "x_y": "x__y",
        "_z": "_z",
        "server": "__",
        "github.com-servers-tree": "github.com/servers/tree",
        "server-2": "é",
    }
    assert "louver: server 'a/b' is called 'a-b-3' in it" in err
    assert "server '_z'" not in err


def test_louver_itself_is_not_put_behind_louver(init, project):
    """Ours: where it has been put in front already."""
    louver = {"command": "/opt/bin/louver", "args": ["serve", "--config", "x.json"]}
    put(project / ".mcp.json", {"mcpServers": {"louver": louver, "it": {"command": "npx"}}})
    init("--from", "claude")
    assert written(project).keys() == {"it"}
    put(project / ".mcp.json", {"mcpServers": {"louver": louver}})
    status, _, err = init("--from", "claude", "--out", "other.json")
    assert status == 2
    assert "holds no server but Louver itself" in err


def test_nothing_is_overwritten(init, project):
    """GATEWAY, Import; not even by way of a link."""
    put(project / ".mcp.json", SERVER)
    put(project / "mcp.json", "mine")
    status, out, err = init("--from", "claude")
    assert (status, out) == (2, "")
    assert err == "louver: mcp.json already exists, and is not overwritten: name another file by --out\n"
    assert (project / "mcp.json").read_text() == "mine"
    (project / "link.json").symlink_to(project / "target.json")
    assert init("--from", "claude", "--out", "link.json")[0] == 2
    assert not (project / "target.json").exists()
    assert init("--from", "claude", "--out", ".mcp.json")[0] == 2
    assert json.loads((project / ".mcp.json").read_text()) == SERVER


def test_a_place_that_cannot_be_written_to_is_told(init, project):
    """Ours: in the words of the system."""
    put(project / ".mcp.json", SERVER)
    status, _, err = init("--from", "claude", "--out", "nowhere/mcp.json")
    assert status == 2
    assert err == "louver: nowhere/mcp.json cannot be written: No such file or directory\n"


PLACES = {
    "Claude Code, the project": ("claude", "project/.mcp.json", ()),
    "Claude Code, the user's for the project": ("claude", "home/.claude.json", ("projects", "{project}")),
    "Claude Code, the user": ("claude", "home/.claude.json", ()),
    "Claude Desktop": ("claude", "home/.config/Claude/claude_desktop_config.json", ()),
    "Cursor, the project": ("cursor", "project/.cursor/mcp.json", ()),
    "Cursor, the user": ("cursor", "home/.cursor/mcp.json", ()),
    "VS Code, the project": ("vscode", "project/.vscode/mcp.json", ()),
    "VS Code, the user": ("vscode", "home/.config/Code/User/mcp.json", ()),
}


@pytest.mark.parametrize(("host", "file", "below"), PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("named", [False, True], ids=["found", "named"])
def test_a_host_s_file_is_found_in_its_place(init, project, host, file, below, named):
    """What the hosts document."""
    servers = {"servers" if host == "vscode" else "mcpServers": {"it": {"command": file}}}
    content = servers
    for key in reversed(below):
        content = {key.format(project=project): content}
    path = put(project.parent / file, {"numStartups": 7, **content})
    status, _, err = init("--from", host, *(("--file", str(path)) if named else ()))
    assert status == 0, err
    assert written(project)["it"]["command"] == file


def test_the_nearest_file_with_servers_counts(init, project):
    """Ours: a file without any is passed over."""
    put(project / ".mcp.json", {"mcpServers": {}})
    put(project.parent / "home" / ".claude.json", {"projects": {str(project): {"mcpServers": {}}}, "mcpServers": {}})
    put(project.parent / "home/.config/Claude/claude_desktop_config.json", SERVER)
    _, _, err = init("--from", "claude")
    assert "claude_desktop_config.json" in err
    put(project / ".mcp.json", SERVER)
    _, _, err = init("--from", "claude", "--out", "other.json")
    assert f"the 1 server of {project / '.mcp.json'}," in err


WITH_TOKEN = {"it": {"command": "npx", "args": ["${TOKEN}"]}}


@pytest.mark.parametrize(
    ("host", "file", "key", "env"),
    [
        ("claude", ".mcp.json", "mcpServers", "${TOKEN}"),
        ("cursor", ".cursor/mcp.json", "mcpServers", "${env:TOKEN}"),
        ("vscode", ".vscode/mcp.json", "servers", "${env:TOKEN}"),
    ],
)
def test_a_host_hands_on_the_variables_in_its_own_spelling(init, project, host, file, key, env):
    """Ours: a host with a window starts Louver without the variables of a shell."""
    put(project / file, {key: WITH_TOKEN})
    _, out, _ = init("--from", host)
    assert json.loads(out)[key]["louver"]["env"] == {"TOKEN": env}


def test_claude_desktop_puts_in_no_variables(init, project):
    """What it documents: the value itself stands there, which is not printed."""
    put(project.parent / "home/.config/Claude/claude_desktop_config.json", {"mcpServers": WITH_TOKEN})
    _, out, err = init("--from", "claude")
    assert "env" not in json.loads(out)["mcpServers"]["louver"]
    assert "louver: Claude Desktop puts in no variables: write the values of these under 'env': TOKEN\n" in err


def test_what_is_put_in_stands_under_the_keys_of_the_host_s_file(init, project):
    """Claude Code's servers of one project stand deeper in its file."""
    path = put(project.parent / "home" / ".claude.json", {"projects": {str(project): SERVER}})
    _, out, err = init("--from", "claude")
    assert json.loads(out)["projects"][str(project)]["mcpServers"].keys() == {"louver"}
    assert err.endswith(f"into {path}, under 'projects', '{project}', 'mcpServers', put 'louver' instead of 'it':\n")


def test_servers_in_other_places_are_told_and_how_they_are_taken(init, project):
    """Ours: what is told works, step by step, and no Louver hides another."""
    home = project.parent / "home"
    near = put(project / ".mcp.json", SERVER)
    user = put(home / ".claude.json", {"projects": {str(project): SERVER}, "mcpServers": {"far": {"command": "b"}}})
    put(home / ".config/Claude/claude_desktop_config.json", "{")
    deep = f"under 'projects', '{project}', 'mcpServers'"
    _, out, err = init("--from", "claude")
    put(near, out)
    how = f"and are not taken: --file {user} takes them, with another --out"
    assert [line for line in err.splitlines() if "too" in line] == [
        f"louver: servers stand in {user} too, {deep}, {how}",
        f"louver: servers stand in {user} too, under 'mcpServers', {how}, once Louver has the others there",
    ]
    _, out, err = init("--from", "claude", "--file", str(user), "--out", "2.json")
    assert written(project, "2.json").keys() == {"it"}
    assert f"servers stand in {user} too, under 'mcpServers', {how}, once Louver has the others there\n" in err
    deeper = json.loads(out)
    assert deeper["projects"][str(project)]["mcpServers"].keys() == {"louver-2"}
    put(user, {**json.loads(user.read_text()), **deeper})
    _, out, err = init("--from", "claude", "--file", str(user), "--out", "3.json")
    assert written(project, "3.json").keys() == {"far"}
    assert json.loads(out)["mcpServers"].keys() == {"louver-3"}
    assert "too" not in err


def test_a_place_that_holds_louver_alone_is_passed_over(init, project):
    """Ours: what is behind it already need not be taken again."""
    louver = {"command": "louver", "args": ["serve", "--config", "x.json"]}
    put(project / ".mcp.json", {"mcpServers": {"louver": louver}})
    put(project.parent / "home" / ".claude.json", SERVER)
    assert init("--from", "claude")[0] == 0
    assert written(project).keys() == {"it"}


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("darwin", {}, "home/Library/Application Support"),
        ("linux", {}, "home/.config"),
        ("linux", {"XDG_CONFIG_HOME": "xdg"}, "xdg"),
        ("win32", {}, "home/AppData/Roaming"),
        ("win32", {"APPDATA": "roaming"}, "roaming"),
    ],
)
def test_applications_keep_their_settings_where_the_system_wants_it(platform, environ, folder):
    """What the hosts document."""
    machine = Machine(Path("project"), Path("home"), platform, environ)
    assert sources("claude", machine)[-1].path == Path(folder, "Claude", "claude_desktop_config.json")
    assert sources("vscode", machine)[-1].path == Path(folder, "Code", "User", "mcp.json")


@pytest.mark.parametrize(
    ("file", "project"),
    [("/p/.vscode/mcp.json", "/p"), ("/p/mine.json", "/p"), ("here.json", "/q"), ("/h/.cursor/mcp.json", None)],
)
def test_a_file_that_is_named_is_about_the_project_that_it_stands_in(file, project):
    """Ours; that of the user is about none."""
    machine = Machine(Path("/q"), Path("/h"), "linux", {})
    (source,) = sources_in_file("cursor", machine, Path(file))
    assert source.project == (None if project is None else Path(project))


@pytest.mark.parametrize("host", ["claude", "cursor", "vscode"])
def test_where_there_is_none_the_places_are_told(init, host):
    """Ours."""
    status, out, err = init("--from", host)
    assert (status, out) == (2, "")
    assert err.startswith("louver: no servers of ")
    assert err.endswith("mcp.json; name the file by --file\n" if host != "claude" else "; name the file by --file\n")


WRONG = {
    "not JSON": ('{"mcpServers": {\n"a"}}', 2, "not JSON"),
    "a key twice": ('{"mcpServers": {"a": {\n"command": "a",\n"command": "b"}}}', 3, "a key stands twice: 'command'"),
    "a list": ('{\n"mcpServers": ["a"]}', 2, "'mcpServers': expected an object, not a list"),
    "a typing error": ('{"mcpServers": {"a b": {"command": "a",\n"arg": []}}}', 2, "unknown key 'arg'"),
    "the older transport": ('{"mcpServers": {"a": {"url": "http://a",\n"type": "sse"}}}', 2, "'type': expected one of"),
    "a file of variables": (
        '{"mcpServers": {"a": {"command": "a",\n"envFile": ".env"}}}',
        2,
        "'envFile': not possible",
    ),
    "a number": ('{"mcpServers": {\n"a": {"command": "a", "env": {"PORT": 1}}}}', 2, "'PORT': expected a string"),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_host_s_file_is_told_by_its_line(init, project, content, line, message):
    """Ours: nothing is written then."""
    put(project / "theirs.json", content)
    status, out, err = init("--from", "claude", "--file", "theirs.json")
    assert (status, out) == (2, "")
    assert f": theirs.json:{line}: " in err
    assert message in err
    assert not (project / "mcp.json").exists()


def test_a_file_that_is_named_must_be_there_and_hold_servers(init, project):
    """Ours."""
    assert (
        "theirs.json: the configuration cannot be read: No such file"
        in init("--from", "cursor", "--file", "theirs.json")[2]
    )
    put(project / "theirs.json", VSCODE)
    status, _, err = init("--from", "cursor", "--file", "theirs.json")
    assert (status, err) == (2, "louver: no servers of Cursor under 'mcpServers' in theirs.json\n")


def test_a_byte_order_mark_and_foreign_letters_are_taken(init, project):
    """Ours: Windows' editors write the one, people the other."""
    (project / ".mcp.json").write_bytes(
        b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "\xc3\xa9", "args": ["\\ud800"]}}}'
    )
    assert init("--from", "claude")[0] == 0
    assert written(project)["a"] == {"command": "é", "args": ["\ud800"]}
    assert "é" in (project / "mcp.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1} // x', '{"a": 1}     '),
        ('{"a": /* x\n y */ 1}', '{"a":     \n      1}'),
        ('["//", "/* */", "\\"//", 1,]', '["//", "/* */", "\\"//", 1 ]'),
        ('{"a": [1, // one\n ], }', '{"a": [1        \n ]  }'),
        ('[",]", "\\\\",]', '[",]", "\\\\" ]'),
        ('{"a": "http://x/*", "b": "*/"}', '{"a": "http://x/*", "b": "*/"}'),
        ('{"a": 1 /* no end', '{"a": 1 /* no end'),
    ],
)
def test_comments_and_trailing_commas_become_spaces(text, expected):
    """VS Code's JSONC; lines stay, so that errors can name them."""
    assert strip_comments(text) == expected
