"""Files of hosts: where they are, and how their servers become those of a configuration."""

import json
import os
from errno import EACCES
from pathlib import Path

import pytest

from louver.catalogue.files import line_numbers
from louver.cli.options import HOST_NAMES
from louver.desk.doctor.places import find_places
from louver.desk.hosts.read import HostServers, strip_comments
from louver.desk.hosts.table import HOSTS, Machine
from louver.desk.hosts.translate import import_servers
from louver.errors import InvalidConfig
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
def machine(tmp_path):
    """A user who has nothing yet, in a project."""
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Machine(tmp_path / "project", tmp_path / "home", "linux", {})


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def imported(machine, host, content, number=0):
    """The servers of the host's nearest file, or of another one by its number."""
    source = list(machine.sources(HOSTS[host]))[number]
    put(source.path, content)
    return import_servers(HostServers.read(source), machine.home)


def reasons(found):
    return {name: why.message for name, why in found.left_out.items()}


WRITE_A_VARIABLE = "write an environment variable there instead, as '${env:TOKEN}'"


def test_the_names_of_the_command_line_are_those_of_the_table():
    """Ours."""
    assert tuple(HOSTS) == HOST_NAMES


def test_the_servers_of_a_host_become_those_of_a_configuration(machine):
    """GATEWAY, Import; with comments, trailing commas, and Cursor's variables."""
    found = imported(machine, "cursor", CURSOR)
    assert found.servers == {
        "GitHub-MCP": {
            "command": "docker",
            "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.example.com/github"],
            "env": {"TOKEN": "${GITHUB_TOKEN}"},
        },
        "files": {
            "command": "npx",
            "args": ["fs", f"{machine.project}/docs", str(machine.home)],
            "cwd": str(machine.project / "sub"),
        },
        "remote": {"url": "http://localhost:3000/mcp", "headers": {"API_KEY": "abc"}, "disabled": False},
    }
    assert found.names == {"GitHub-MCP": "GitHub MCP", "files": "files", "remote": "remote"}
    assert found.left_out == {}


def test_what_is_translated_can_be_served(machine, tmp_path):
    """Ours, as a round trip."""
    servers = imported(machine, "cursor", CURSOR).servers
    config = read_config(put(tmp_path / "mcp.json", {"mcpServers": servers}), {"GITHUB_TOKEN": "t"})
    assert [upstream.name for upstream in config.upstreams] == ["GitHub-MCP", "files", "remote"]
    assert config.upstreams[0].env == {"TOKEN": "t"}
    assert config.upstreams[1].cwd == machine.project / "sub"


FORMS = {
    "VS Code": ("vscode", VSCODE, {"fetch": {"type": "stdio", "command": "uvx", "args": ["mcp-server-fetch"]}}),
    "Gemini CLI": (
        "gemini-cli",
        {"mcpServers": {"a": {"httpUrl": "http://a/mcp", "headers": {"K": "$KEY ${B} $$C"}, "trust": True}}},
        {"a": {"url": "http://a/mcp", "headers": {"K": "${KEY} ${B} $$C"}}},
    ),
    "Windsurf": (
        "windsurf",
        {"mcpServers": {"a": {"serverUrl": "http://a/mcp", "headers": {"K": "${env:KEY}"}}}},
        {"a": {"url": "http://a/mcp", "headers": {"K": "${KEY}"}}},
    ),
    "OpenCode": (
        "opencode",
        {
            "mcp": {
                "a": {"type": "local", "command": ["npx", "{env:A}/x", "${B}"], "environment": {"T": "{env:T}"}},
                "b": {"type": "remote", "url": "http://b/mcp", "enabled": False},
            }
        },
        {
            "a": {"type": "local", "command": "npx", "args": ["${A}/x", "$${B}"], "env": {"T": "${T}"}},
            "b": {"type": "http", "url": "http://b/mcp", "disabled": True},
        },
    ),
    "Codex": (
        "codex",
        """
[mcp_servers.a]
command = "npx"
args = ["${literal}"]
env_vars = ["KEY"]
startup_timeout_sec = 20
[mcp_servers.a.env]
MODE = "x"
[mcp_servers."b c"]
url = "http://b/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { A = "1" }
env_http_headers = { B = "SECRET" }
enabled = false
""",
        {
            "a": {"command": "npx", "args": ["$${literal}"], "env": {"KEY": "${KEY}", "MODE": "x"}},
            "b-c": {
                "url": "http://b/mcp",
                "headers": {"A": "1", "Authorization": "Bearer ${TOKEN}", "B": "${SECRET}"},
                "disabled": True,
            },
        },
    ),
    "Zed": (
        "zed",
        {"context_servers": {"a": {"source": "custom", "enabled": True, "command": "npx", "args": ["${x}"]}}},
        {"a": {"command": "npx", "args": ["$${x}"]}},
    ),
    "Claude Desktop": (
        "claude-desktop",
        {"mcpServers": {"a": {"command": "npx", "env": {"T": "${T}"}}}},
        {"a": {"command": "npx", "env": {"T": "$${T}"}}},
    ),
}


@pytest.mark.parametrize(("host", "content", "expected"), FORMS.values(), ids=FORMS)
def test_the_form_of_each_host_is_translated(machine, host, content, expected):
    """What the hosts document."""
    found = imported(machine, host, content)
    assert {name: found.servers[name] for name in expected} == expected
    assert found.left_out == {}


ENTRIES = {
    "claude-code": {"command": "l", "args": ["serve"], "env": {"T": "${T}"}},
    "claude-desktop": None,
    "cursor": {"command": "l", "args": ["serve"], "env": {"T": "${env:T}"}},
    "vscode": {"type": "stdio", "command": "l", "args": ["serve"], "env": {"T": "${env:T}"}},
    "codex": {
        "command": "l",
        "args": ["serve"],
        "env_vars": ["T"],
        "startup_timeout_sec": 30,
        "required": True,
    },
    "gemini-cli": {"command": "l", "args": ["serve"], "env": {"T": "${T}"}},
    "qwen-code": {"command": "l", "args": ["serve"], "env": {"T": "${T}"}},
    "opencode": {"type": "local", "command": ["l", "serve"], "environment": {"T": "{env:T}"}, "enabled": True},
    "zed": None,
    "windsurf": {"command": "l", "args": ["serve"], "env": {"T": "${env:T}"}},
}
"""Host -> Louver's entry with a variable; none where no server can need one."""


def test_an_entry_is_read_as_it_is_written(machine, subtests):
    """Ours, as a round trip: what is written for a host means the same to it."""
    plain = {"command": "l", "args": ["serve"]}
    for name, host in HOSTS.items():
        with subtests.test(name):
            entry = ENTRIES[name]
            written = host.form.write("l", ["serve"], [] if entry is None else ["T"])
            assert written == (plain if entry is None else entry)
            if name != "codex":
                translated = imported(machine, name, {host.key: {"a": written}}, -1).servers["a"]
                env = {} if entry is None else {"env": {"T": "${T}"}}
                assert {key: value for key, value in translated.items() if key != "type"} == {**plain, **env}


def test_a_server_that_cannot_be_taken_over_is_left_out_with_its_reason(machine):
    """Ours: it holds up no other, enabled or not; one that can be is there, disabled as it was."""
    off = {"disabled": True}
    servers = {
        "old": {"type": "ws", "url": "http://a/ws"},
        "asks": {"command": "a", "env": {"K": "${input:k}"}},
        "file": {"command": "a", "envFile": ".env", **off},
        "text": "npx",
        "a b": {"command": "a", "arg": []},
        "sign": {"command": "a", "args": ["$${env:A}"]},
        "fits": {"command": "a", "args": ["${env:A}"], **off},
        "on": {"command": "a"},
    }
    found = imported(machine, "vscode", {"servers": servers})
    assert found.servers == {"fits": {"command": "a", "args": ["${A}"], **off}, "on": {"command": "a"}}
    file = machine.project / ".vscode" / "mcp.json"
    whys = reasons(found)
    assert list(whys) == ["old", "asks", "file", "text", "a b", "sign"]
    assert all(why.startswith(f"{file}:1: ") for why in whys.values())
    assert whys["old"].startswith(f"{file}:1: 'type': expected one of 'stdio', ")
    assert whys["asks"] == f"{file}:1: only the host can answer '${{input:k}}': {WRITE_A_VARIABLE}"
    assert whys["file"].startswith(f"{file}:1: 'envFile': not possible here. ")
    assert whys["text"] == f"{file}:1: expected an object, not a string"
    assert "unknown key 'arg': " in whys["a b"]
    assert "there is no way to write '$${env:A}'" in whys["sign"]


def test_what_a_host_alone_can_resolve_is_named_with_its_line(machine):
    """Ours: nobody can be asked by a process without a window."""
    content = """{"servers": {
"a": {"command": "a", "env": {"X": "${env:X}",
  "T": "Bearer ${input:key}"}},
"b": {"url": "http://b/${input:who}", "headers": {"K": "${input:key}", "C": "${command:ext.token}"}}
}}"""
    file = machine.project / ".vscode" / "mcp.json"
    assert list(reasons(imported(machine, "vscode", content)).values()) == [
        f"{file}:3: only the host can answer '${{input:key}}': {WRITE_A_VARIABLE}",
        f"{file}:4: only the host can answer '${{input:who}}', '${{input:key}}', '${{command:ext.token}}': "
        f"{WRITE_A_VARIABLE}",
    ]


@pytest.mark.parametrize(
    "what", ["input:my key", "input:schlüssel", "workspaceFolder:root", "extensionFolder:a.b", "file:~/key"]
)
def test_what_only_the_host_can_answer_is_found_however_it_is_named(machine, what):
    """VS Code's variables: an input has any name, and one of several folders is named by its own; Windsurf's files."""
    found = imported(machine, "vscode", {"servers": {"a": {"command": "a", "args": [f"x${{{what}}}/y"]}}})
    assert f":1: only the host can answer '${{{what}}}': write" in reasons(found)["a"]


def test_headers_that_change_are_taken_over(machine):
    """Windsurf's files, where they do not depend on its own; Claude Code's helper, relative to the project."""
    servers = {
        "file": {"url": "http://a/", "headers": {"K": "Bearer ${file:~/key}"}},
        "near": {"url": "http://a/", "headers": {"K": "${file:key}"}},
        "helper": {"url": "http://a/", "headersHelper": "./print --now"},
    }
    found = imported(machine, "vscode", {"servers": servers})
    assert found.servers["file"]["headers"] == {"K": "Bearer ${file:~/key}"}
    assert list(found.left_out) == ["near"]
    assert found.servers["helper"]["headersHelper"] == f"{machine.project}/./print --now"


def test_a_file_that_opencode_puts_in_is_known_to_it_alone(machine):
    """OpenCode's `{file:path}`."""
    server = {"type": "local", "command": ["a"], "environment": {"K": "x{file:~/.key}"}}
    assert (
        "only the host can answer '{file:~/.key}'"
        in reasons(imported(machine, "opencode", {"mcp": {"a": server}}))["a"]
    )


def test_a_toml_file_s_server_is_named_with_its_line(machine):
    """Ours."""
    found = imported(machine, "codex", '[mcp_servers.a]\ncommand = "a"\n\n[mcp_servers."b"]\nenabled_tools = ["x"]\n')
    file = machine.project / ".codex" / "config.toml"
    assert reasons(found)["b"].startswith(f"{file}:4: ")
    assert "Write it as `tools` under `louver`" in reasons(found)["b"]


def test_what_no_variable_of_ours_can_say_is_named(machine):
    """Ours: it would become other text without a word."""
    args = ["${env:A}", "x$${env:B}y", "${env:ProgramFiles(x86)}", "$$${C:-c}", "${env:}"]
    found = imported(machine, "vscode", {"servers": {"a": {"command": "a", "args": args}}})
    assert reasons(found)["a"].endswith(
        "there is no way to write '$${env:B}', '${env:ProgramFiles(x86)}', '$${C:-c}', '${env:}' here: expected a "
        "variable with a name of letters, digits and '_', and no '$' before it"
    )


def test_a_file_of_the_user_is_of_no_project(machine):
    """Ours."""
    found = imported(machine, "cursor", {"mcpServers": {"a": {"command": "${workspaceFolder}/a"}}}, 1)
    assert ":1: only the host can answer '${workspaceFolder}'" in reasons(found)["a"]


def test_text_that_only_looks_like_a_variable_stays_text(machine, tmp_path):
    """Ours: a script for a shell has such marks too."""
    script = "echo ${X%%.*} ${Y} ${ ${Z:-a b} ${z:-a} $${X#.} $${userHome}"
    servers = imported(machine, "claude-code", {"mcpServers": {"a": {"command": "sh", "args": ["-c", script]}}}).servers
    assert servers["a"]["args"] == [
        "-c",
        f"echo $${{X%%.*}} ${{Y}} $${{ ${{Z:-a b}} ${{z:-a}} $$${{X#.}} ${machine.home}",
    ]
    (upstream,) = read_config(put(tmp_path / "m.json", {"mcpServers": servers}), {"Y": "y", "Z": "z"}).upstreams
    assert upstream.command[-1] == f"echo ${{X%%.*}} y ${{ z a $${{X#.}} ${machine.home}"


def test_names_that_cannot_stand_before_a_tool_s_are_changed_and_stay_apart(machine):
    """Ours; a name that is right stays."""
    names = ["a b", "a/b", "a-b", "x__y", "_z", "__", "github.com/servers/tree", "é"]
    found = imported(machine, "claude-code", {"mcpServers": {name: {"command": name} for name in names}})
    assert {new: server["command"] for new, server in found.servers.items()} == {
        "a-b-2": "a b",
        "a-b-3": "a/b",
        "a-b": "a-b",
        "x_y": "x__y",
        "_z": "_z",
        "server": "__",
        "github.com-servers-tree": "github.com/servers/tree",
        "server-2": "é",
    }
    assert found.names["a-b-3"] == "a/b"


def test_louver_itself_is_not_put_behind_louver(machine):
    """Ours: where it has been put in front already."""
    louver = {"command": "/opt/bin/louver", "args": ["serve", "--config", "x.json"]}
    found = imported(machine, "claude-code", {"mcpServers": {"louver": louver, "it": {"command": "npx"}}})
    assert (found.servers, found.left_out) == ({"it": {"command": "npx"}}, {})


PLACES = {
    "claude-code": ["project/.mcp.json", "home/.claude.json projects", "home/.claude.json"],
    "claude-desktop": ["home/.config/Claude/claude_desktop_config.json"],
    "cursor": ["project/.cursor/mcp.json", "home/.cursor/mcp.json"],
    "vscode": ["project/.vscode/mcp.json", "home/.config/Code/User/mcp.json"],
    "codex": ["project/.codex/config.toml", "home/.codex/config.toml"],
    "gemini-cli": ["project/.gemini/settings.json", "home/.gemini/settings.json"],
    "qwen-code": ["project/.qwen/settings.json", "home/.qwen/settings.json"],
    "opencode": [
        "project/opencode.json",
        "project/opencode.jsonc",
        "home/.config/opencode/opencode.json",
        "home/.config/opencode/opencode.jsonc",
    ],
    "zed": ["home/.config/zed/settings.json"],
    "windsurf": ["home/.codeium/windsurf/mcp_config.json"],
}


def test_a_host_s_files_are_where_the_host_documents_them(machine, subtests):
    """What the hosts document; only files of a project know its folder."""
    for name, host in HOSTS.items():
        with subtests.test(name):
            sources = list(machine.sources(host))
            files = [each.path.relative_to(machine.home.parent) for each in sources]
            of_projects = [" projects" * (each.place[0] == "projects") for each in sources]
            assert [*map("{}{}".format, files, of_projects)] == PLACES[name]
            assert [each.project is not None for each in sources] == [
                place.startswith("project/") or "projects" in place for place in PLACES[name]
            ]


def test_in_the_home_folder_a_file_is_the_user_s(tmp_path):
    """Ours: it is both the project's and the user's, and counts once."""
    sources = list(Machine(tmp_path, tmp_path, "linux", {}).sources(HOSTS["cursor"]))
    assert [(each.path, each.project) for each in sources] == [(tmp_path / ".cursor" / "mcp.json", None)]


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
    assert list(machine.sources(HOSTS["claude-desktop"]))[-1].path == Path(
        folder, "Claude", "claude_desktop_config.json"
    )
    assert list(machine.sources(HOSTS["vscode"]))[-1].path == Path(folder, "Code", "User", "mcp.json")


WRONG = {
    "not JSON": ('{"mcpServers": {\n"a"}}', 2, "not JSON"),
    "a key twice": ('{"mcpServers": {"a": {\n"command": "a",\n"command": "b"}}}', 3, "a key stands twice: 'command'"),
    "a list": ('{\n"mcpServers": ["a"]}', 2, "'mcpServers': expected an object, not a list"),
    "a typing error": ('{"mcpServers": {"a b": {"command": "a",\n"arg": []}}}', 2, "unknown key 'arg'"),
    "an unknown transport": ('{"mcpServers": {"a": {"url": "http://a",\n"type": "ws"}}}', 2, "'type': expected one of"),
    "a file of variables": (
        '{"mcpServers": {"a": {"command": "a",\n"envFile": ".env"}}}',
        2,
        "'envFile': not possible",
    ),
    "a number": ('{"mcpServers": {\n"a": {"command": "a", "env": {"PORT": 1}}}}', 2, "'PORT': expected a string"),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_host_s_file_is_named_with_its_line(machine, content, line, message):
    """Ours; of one server it is the reason to leave that out."""
    try:
        found = [*imported(machine, "claude-code", content).left_out.values()]
    except InvalidConfig as error:
        found = [error]
    [problem] = found
    assert f"{machine.project / '.mcp.json'}:{line}: " in problem.message
    assert message in problem.message


def test_wrong_servers_below_a_long_history_are_named_at_once(machine, monkeypatch):
    """TRUST.md, "Linear in the text": the text of each server is looked through once, whatever else is wrong in it."""
    looked, look = [], line_numbers.spots
    monkeypatch.setattr(line_numbers, "spots", lambda text: (looked.append(spot) or spot for spot in look(text)))
    history = [{"display": "x"}] * 500
    wrong = {f"s{n}": {f"k{key}": 1 for key in range(20)} for n in range(20)}
    content = json.dumps({"history": history, "mcpServers": wrong}, indent=0)
    lines = [int(why.message.split(":")[1]) for why in imported(machine, "claude-code", content).left_out.values()]
    assert lines == [content.count("\n", 0, content.index(f'"s{n}"')) + 2 for n in range(20)]
    assert len(looked) <= 20 * 22
    settings = "".join(f"x{n} = 1\n" for n in range(500))
    tables = "".join(f"[mcp_servers.s{n}]\nk = 1\n" for n in range(20))
    lefts = imported(machine, "codex", settings + tables).left_out.values()
    assert [int(why.message.split(":")[1]) for why in lefts] == [501 + 2 * n for n in range(20)]
    assert len(looked) <= 2 * 20 * 22


def test_a_broken_toml_file_is_named_with_its_line(machine):
    """Ours; nothing of it is repeated, which may be a secret."""
    with pytest.raises(InvalidConfig, match=r"config\.toml:2: not TOML$"):
        imported(machine, "codex", 'a = 1\nkey = "geheim\n')


URL = 'url = "http://127.0.0.1:1/"\n'
MISTYPED = {
    "variables": ('command = "x"\nenv_vars = ["A"]\nenv = "x"', "'env': expected an object, not a string"),
    "variables in a list": ('command = "x"\nenv_vars = ["A"]\nenv = [1]', "'env': expected an object, not a list"),
    "headers": (f'{URL}bearer_token_env_var = "A"\nhttp_headers = 1', "'headers': expected an object, not a number"),
    "headers in a list": (
        f'{URL}env_http_headers = {{"A" = "B"}}\nhttp_headers = [1]',
        "'headers': expected an object",
    ),
}


@pytest.mark.parametrize(("server", "message"), MISTYPED.values(), ids=MISTYPED)
def test_a_mistyped_table_of_codex_is_named(machine, server, message):
    """Ours: it is left out, and the other servers and hosts go on."""
    found = imported(machine, "codex", f'[mcp_servers.a]\n{server}\n[mcp_servers.b]\ncommand = "y"\n')
    assert message in found.left_out["a"].message
    assert [*found.servers] == ["b"]


MISNESTED = {
    "a list": ("cursor", "[]", r"mcp\.json:1: expected an object with the settings of the host"),
    "1,001 servers": (
        "cursor",
        json.dumps({"mcpServers": {f"a{n}": {} for n in range(1001)}}),
        "expected at most 1,000 servers, not 1,001",
    ),
    "servers in a list": (
        "codex",
        "mcp_servers = [1]",
        r"config\.toml:1: 'mcp_servers': expected an object, not a list",
    ),
    "5,000 digits": ("codex", f"a = {'9' * 5000}", "not TOML"),
}


@pytest.mark.parametrize(("host", "content", "message"), MISNESTED.values(), ids=MISNESTED)
def test_a_misnested_file_is_named_with_its_own_keys(machine, host, content, message):
    """Ours."""
    with pytest.raises(InvalidConfig, match=message):
        imported(machine, host, content)


def test_a_link_to_itself_is_reported_and_other_hosts_go_on(machine, capsys):
    """Ours; a link to nothing is no file."""
    loop, nothing = machine.home / ".cursor" / "mcp.json", machine.home / ".gemini" / "settings.json"
    for link, target in ((loop, loop), (nothing, machine.home / "none")):
        link.parent.mkdir()
        link.symlink_to(target)
    put(machine.home / ".codeium" / "windsurf" / "mcp_config.json", '{"mcpServers": {"a": {"command": "x"}}}')
    [place] = find_places([*HOSTS.values()], machine)
    assert place.source.host.name == "windsurf"
    assert capsys.readouterr().err == f"louver: {loop}: the file cannot be read: Too many levels of symbolic links\n"


def test_a_folder_that_cannot_be_looked_into_holds_up_no_other_host(machine, monkeypatch):
    """Ours: of another user, say; what reads it says why."""
    closed, look = machine.home / ".cursor" / "mcp.json", os.stat

    def looked(path, **how):
        if path == closed:
            raise PermissionError(EACCES, "Permission denied")
        return look(path, **how)

    put(closed, "{}")
    put(machine.home / ".codeium" / "windsurf" / "mcp_config.json", '{"mcpServers": {"a": {"command": "x"}}}')
    monkeypatch.setattr(os, "stat", looked)
    [place] = find_places([*HOSTS.values()], machine)
    assert place.source.host.name == "windsurf"


@pytest.mark.parametrize("text", ['"' + '\\"' * 100_000, "/* " * 200_000, '"' + "\\" * 200_001])
def test_text_without_an_end_is_read_once(text):
    """Ours: with the square of its length, a file of 31 MB takes days."""
    assert strip_comments(text) == text


def test_a_byte_order_mark_and_foreign_letters_are_taken(machine):
    """Ours: Windows' editors write the one, people the other."""
    source = next(machine.sources(HOSTS["claude-code"]))
    source.path.write_bytes(b'\xef\xbb\xbf{"mcpServers": {"a": {"command": "\xc3\xa9", "args": ["\\ud800"]}}}')
    found = import_servers(HostServers.read(source), machine.home)
    assert found.servers["a"] == {"command": "é", "args": ["\ud800"]}


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
