"""What is told of a wrong configuration: by file and line, and without a value."""

import json
import os
from errno import EACCES

import pytest

from gateway.configs import ENVIRON, GOOD, SECRET, of, write
from louver.errors import InvalidConfig, LouverError
from louver.gateway.config.read import read_config

SERVERS = '{"mcpServers": {\n"a": %s}}'

WRONG = {
    "nothing": ("", 1, "not JSON: Expecting value"),
    "not JSON": ('{"mcpServers": {},\n "louver": {}', 2, "not JSON"),
    "a comment": ('{\n// servers\n"mcpServers": {}}', 2, "not JSON: a comment, which JSON does not have"),
    "a comma too many": (
        '{"mcpServers": {\n"a": {"command": "a",}}}',
        2,
        "not JSON: a comma before the end of a list or an object, which JSON does not have",
    ),
    "a byte order mark": (b'\xef\xbb\xbf{"mcpServers": {}}', 1, "expected at least one server"),
    "an abyss": ("[" * 100_000, 1, "not JSON"),
    "a list": ("[]", 1, "expected an object, not a list"),
    "no servers": ('{\n"louver": {}}', 1, "'mcpServers' is missing"),
    "an object of no servers": ('{\n"mcpServers": {}}', 2, "'mcpServers': expected at least one server, by its name"),
    "a list of servers": ('{\n"mcpServers": []}', 2, "'mcpServers': expected an object, not a list"),
    "VS Code's form": (
        '{\n"servers": {}}',
        2,
        "'servers': not possible here. Write it as `mcpServers`; `louver doctor --apply vscode` does.",
    ),
    "inputs": (
        '{"mcpServers": {"a": {"command": "a"}},\n"inputs": [{"id": "t"}]}',
        2,
        "'inputs': not possible here. Louver cannot prompt for input",
    ),
    "an unknown key at the top": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louvre": {}}',
        2,
        "unknown key 'louvre': expected one of '$schema', 'mcpServers', 'louver'; did you mean 'louver'?",
    ),
    "a setting at the top": (
        '{"mcpServers": {"a": {"command": "a"}},\n"argument": "all"}',
        2,
        "unknown key 'argument': it stands under 'louver'",
    ),
    "a doubled key": ('{"mcpServers": {},\n"mcpServers": {}}', 2, "not JSON: a key stands twice: 'mcpServers'"),
    "a doubled server": ('{"mcpServers": {\n"a": {"command": "a"},\n"a": {"command": "b"}}}', 3, "stands twice: 'a'"),
    "a doubled variable": (
        SERVERS % '{"command": "a", "env": {\n"T": "x",\n"T": "y"}}',
        4,
        "stands twice: 'T'",
    ),
    "a short key": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"keys":\n["short"]}}',
        3,
        "'keys': expected at least 32 bytes of secret randomness",
    ),
    "a folder that is not there": (
        SERVERS % '{"command": "a",\n"louver": {"descriptions": "no/where"}}',
        3,
        "'descriptions': there is no such folder: 'no/where'",
    ),
    "a name that an argument had": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"argumentName": "fields"}}',
        2,
        "the argument is 'output_fields', and 'output_fields_2' where a tool has an argument of that name",
    ),
    "hosts that there were": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"hosts": {"mine": {"shown": "text"}}}}',
        2,
        "what hosts show is known: an answer for a host that is not known is safe for all; leave out 'hosts'",
    ),
    "a catalogue that could be live": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"catalogue": "live"}}',
        2,
        "clients get what a server listed last while it starts; with 'onChange': 'block' they wait for it",
    ),
    "an isolation of all servers": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"isolation": "shared"}}',
        2,
        "'isolation' is a setting of each server: it stands under the server's 'louver'",
    ),
    "limits that stood by themselves": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"limits": {"callsPerMinute": 9}}}',
        2,
        "'callsPerMinute' and 'toolsPerMinute' stand under 'louver' themselves",
    ),
    "results kept by an object": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"keepResults": {"overBytes": 9, "minutes": 30}}}',
        2,
        "'keepResults': expected true or false or a whole number, not an object",
    ),
    "warnings by an object": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"warnings": {"items": 20}}}',
        2,
        "'warnings': expected true or false, not an object",
    ),
    "a database that there was": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"state": "postgres://${TOKEN}@h/louver"}}',
        2,
        "'state': state is on Redis or Valkey alone now: expected a URL as redis://10.0.0.7:6379/0",
    ),
    "a store that is none": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"state": "redis://:${TOKEN}@:6379"}}',
        2,
        "'state': expected the URL of Redis or Valkey, as redis://10.0.0.7:6379/0",
    ),
    "state of another kind": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"state": "mysql://${TOKEN}"}}',
        2,
        "'state': expected the URL of Redis or Valkey",
    ),
    "a replica without its endpoint": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"replicaUrl": "http://10.0.0.7:8080/"}}',
        2,
        "'replicaUrl': expected a URL, as http://10.0.0.7:8080/mcp",
    ),
    "no calls at all": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"toolsPerMinute": {"t": 0}}}',
        2,
        "'t': expected a whole number from 1",
    ),
    "a folder of a variable that is not there": (
        SERVERS % '{"command": "a",\n"louver": {"views": "views/${TOKEN}"}}',
        3,
        "'views': there is no such folder",
    ),
    "a wrong argument": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"argument": "yes"}}',
        3,
        "'argument': expected one of 'projectable', 'all', 'off'",
    ),
    "a wrong listing": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {"listing":\ntrue}}',
        2,
        "'listing': expected one of 'relaxed', 'omit', 'strict'",
    ),
    "an unknown setting": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"listings": "omit"}}',
        3,
        "'inspect', 'learn', 'meaning', 'exports', 'keys', 'replicaUrl', 'state', 'generation', 'maxProcesses', "
        "'callsPerMinute', 'toolsPerMinute', 'warnings', 'keepResults', 'toon', 'pseudonymKey', 'auth', "
        "'principal', 'audit', 'savings'; did you mean 'listing'?",
    ),
    "savings without a file": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"savings": true}}',
        3,
        "'savings': expected a file, or `false`",
    ),
    "savings in a folder that is missing": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"savings": "nowhere/savings.db"}}',
        3,
        "'savings': there is no such folder: 'nowhere'",
    ),
    "word vectors in a folder that is missing": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"meaning": "nowhere"}}',
        3,
        "'meaning': there is no such folder: 'nowhere'",
    ),
    "word vectors in a folder that has none": (
        '{"mcpServers": {"a": {"command": "a"}},\n"louver": {\n"meaning": "."}}',
        3,
        "'meaning': tokenizer.json cannot be read: No such file or directory",
    ),
    "settings that are none": ('{"mcpServers": {"a": {"command": "a"}},\n"louver": "all"}', 2, "'louver': expected an"),
    "a server that is a text": (SERVERS % '"npx"', 2, "server 'a': expected an object, not a string"),
    "neither command nor url": (SERVERS % '{\n"env": {}}', 2, "server 'a': expected either 'command' or 'url'"),
    "both": (SERVERS % '{"command": "a", "url": "http://a"}', 2, "server 'a': expected either 'command' or 'url'"),
    "an unknown key": (
        SERVERS % '{\n"comand": "npx"}',
        3,
        "server 'a': unknown key 'comand': expected one of 'command', 'args', 'env', 'cwd', 'url', 'headers', "
        "'headersHelper', 'type', 'disabled', 'louver'; did you mean 'command'?",
    ),
    "an unknown key beside others": (
        SERVERS % '{"command": "npx",\n"arg": []}',
        3,
        "server 'a': unknown key 'arg': expected one of 'command', 'args', 'env', 'cwd', 'url', 'headers', "
        "'headersHelper', 'type', 'disabled', 'louver'; did you mean 'args'?",
    ),
    "a setting of ours in its place": (
        SERVERS % '{"command": "npx",\n"timeoutSeconds": 3}',
        3,
        "server 'a': unknown key 'timeoutSeconds': it stands under 'louver'",
    ),
    "the first of two wrong lines": (
        SERVERS % '{"command": 1,\n"args": 2}',
        2,
        "server 'a': 'command': expected a string, not a number",
    ),
    "an empty command": (SERVERS % '{\n"command": ""}', 3, "server 'a': 'command': expected a command"),
    "a command from an empty variable": (SERVERS % '{\n"command": "${EMPTY}"}', 3, "'command': expected a command"),
    "arguments in one text": (
        SERVERS % '{"command": "npx",\n"args": "-y x"}',
        3,
        "'args': expected a list, not a string",
    ),
    "an argument that is a number": (
        SERVERS % '{"command": "npx",\n"args": ["--port",\n8080]}',
        3,
        "'args', element 1: expected a string, not a number",
    ),
    "a variable that is a boolean": (
        SERVERS % '{"command": "npx", "env": {\n"DEBUG": true}}',
        3,
        "'DEBUG': expected a string, not a boolean",
    ),
    "a variable that is null": (
        SERVERS % '{"command": "npx", "env": {\n"DEBUG": null}}',
        3,
        "'DEBUG': expected a string, not null",
    ),
    "a variable with a wrong name": (
        SERVERS % '{"command": "npx", "env": {\n"A=B": "c"}}',
        3,
        "'A=B': expected the name of an environment variable",
    ),
    "arguments of a url": (SERVERS % '{"url": "http://a",\n"args": []}', 3, "server 'a': 'args' goes with 'command'"),
    "a folder of a url": (SERVERS % '{"url": "http://a",\n"cwd": "."}', 3, "server 'a': 'cwd' goes with 'command'"),
    "headers of a command": (SERVERS % '{"command": "a",\n"headers": {}}', 3, "'headers' goes with 'url'"),
    "an empty folder": (SERVERS % '{"command": "a",\n"cwd": ""}', 3, "'cwd': expected a text that is not empty"),
    "another scheme": (
        SERVERS % '{\n"url": "ws://a"}',
        3,
        "'url': expected a URL that begins with http:// or https://",
    ),
    "another scheme from a variable": (SERVERS % '{\n"url": "${TOKEN}"}', 3, "'url': expected a URL that begins with"),
    "a url without a host": (SERVERS % '{\n"url": "http:///mcp"}', 3, "'url': expected a URL that begins with"),
    "an unknown transport": (
        SERVERS % '{"url": "http://a",\n"type": "ws"}',
        3,
        "'type': expected one of 'stdio', 'local', 'http', 'streamable-http', 'streamableHttp'",
    ),
    "a transport that there was": (
        SERVERS % '{"url": "http://a",\n"type": "sse"}',
        3,
        "server 'a': 'type': HTTP with SSE of 2024 is no transport any more: put a bridge to stdio before that server",
    ),
    "a url that is to be a process": (
        SERVERS % '{"url": "http://a",\n"type": "stdio"}',
        2,
        "server 'a': 'command' is missing, which its 'type' needs",
    ),
    "a process that is to be a url": (
        SERVERS % '{"command": "a",\n"type": "http"}',
        2,
        "server 'a': 'url' is missing, which its 'type' needs",
    ),
    "a header with a wrong name": (
        SERVERS % '{"url": "http://a", "headers": {\n"X Y": "z"}}',
        3,
        "'X Y': expected the name of a header",
    ),
    "a header of two lines": (
        SERVERS % '{"url": "http://a", "headers": {\n"X": "${LINES}"}}',
        3,
        "server 'a': 'X': expected printable ASCII, in one line",
    ),
    "a header that is not ASCII": (
        SERVERS % '{"url": "http://a", "headers": {\n"X": "é"}}',
        3,
        "server 'a': 'X': expected printable ASCII, in one line",
    ),
    "a text that no process can get": (
        SERVERS % '{"command": "a", "env": {\n"X": "${NUL}"}}',
        3,
        "server 'a': 'X': expected a text without the character U+0000",
    ),
    "half a surrogate pair": (
        SERVERS % '{"command": "a", "args": [\n"\\ud83d"]}',
        3,
        "server 'a': 'args': expected a text without half a surrogate pair",
    ),
    "half a surrogate pair in a secret": (
        '{"mcpServers": {"a": {"command": "a"}}, "louver": {\n"keys": ["\\ud83d"]}}',
        2,
        "'keys': expected a text without half a surrogate pair",
    ),
    "a secret that is not UTF-8": (
        '{"mcpServers": {"a": {"command": "a"}}, "louver": {\n"keys": ["${BYTES}"]}}',
        2,
        "'keys': expected a secret in UTF-8",
    ),
    "disabled in words": (SERVERS % '{"command": "a",\n"disabled": "yes"}', 3, "expected true or false, not a string"),
    "a file of variables": (
        SERVERS % '{"command": "a",\n"envFile": ".env"}',
        3,
        "server 'a': 'envFile': not possible here. Louver does not read the file: put its variables into `env`.",
    ),
    "hidden tools": (SERVERS % '{"command": "a",\n"disabledTools": ["drop"]}', 3, "Write it as `tools` under `louver`"),
    "chosen tools": (SERVERS % '{"command": "a",\n"tools": ["get"]}', 3, "Write it as `tools` under `louver`"),
    "a sandbox": (SERVERS % '{"command": "a",\n"sandboxEnabled": true}', 3, "Louver has no sandbox"),
    "a variable that is not set": (
        SERVERS % '{"command": "a", "args": ["-t",\n"${NOT_SET}"]}',
        3,
        "server 'a': the environment variable 'NOT_SET' is not set: set it, or write '${NOT_SET:-default}'",
    ),
    "a header whose variable is not set": (
        SERVERS % '{"url": "http://a",\n"headers": {\n"Authorization": "Bearer ${env:NOT_SET}"}}',
        4,
        "server 'a': the environment variable 'NOT_SET' is not set",
    ),
    "a variable of editors": (
        SERVERS % '{"command": "a",\n"cwd": "${workspaceFolder}"}',
        3,
        "'${workspaceFolder}' is known to editors only: write the path, or let `louver doctor --apply` do so",
    ),
    "a question to the user": (
        SERVERS % '{"command": "a",\n"args": ["${input:token}"]}',
        3,
        "a '${' that begins no variable",
    ),
    "settings of a server that are none": (
        SERVERS % '{"command": "a",\n"louver": []}',
        3,
        "server 'a': 'louver': expected an object, not a list",
    ),
    "an unknown setting of a server": (
        SERVERS % '{"command": "a", "louver": {\n"timeout": 3}}',
        3,
        "unknown key 'timeout': expected one of 'policy', 'tools', 'views', 'schemas', 'readyViews', "
        "'descriptions', 'isolation', 'onChange', 'timeoutSeconds'",
    ),
    "views that are not there": (
        SERVERS % '{"command": "a", "louver": {\n"views": "views"}}',
        3,
        "server 'a': 'views': there is no such folder: 'views'",
    ),
    "schemas that are not there": (
        SERVERS % '{"command": "a", "louver": {\n"schemas": "schemas"}}',
        3,
        "server 'a': 'schemas': there is no such folder",
    ),
    "schemas beside a policy": (
        SERVERS % '{"command": "a", "louver": {"policy": "p.json",\n"schemas": "schemas"}}',
        3,
        "server 'a': 'schemas' does not go with 'policy'",
    ),
    "ready views in words": (
        SERVERS % '{"command": "a", "louver": {\n"readyViews": "ready"}}',
        3,
        "'readyViews': expected true or false, not a string",
    ),
    "views in the file": (SERVERS % '{"command": "a", "louver": {\n"views": {}}}', 3, "'views': expected a string"),
    "a default view, as it was once": (
        SERVERS % '{"command": "a", "louver": {\n"defaultViews": {"t": "v"}}}',
        3,
        "'default' in the file of a tool's views names the view for calls without a request",
    ),
    "another isolation": (
        SERVERS % '{"command": "a", "louver": {\n"isolation": "none"}}',
        3,
        "'isolation': expected one of 'session', 'shared'",
    ),
    "no time at all": (
        SERVERS % '{"command": "a", "louver": {\n"timeoutSeconds": 0}}',
        3,
        "'timeoutSeconds': expected a number over 0 and at most 86400",
    ),
    "two days": (
        SERVERS % '{"command": "a", "louver": {\n"timeoutSeconds": 172800}}',
        3,
        "expected a number over 0 and",
    ),
    "a time in words": (
        SERVERS % '{"command": "a", "louver": {\n"timeoutSeconds": "30s"}}',
        3,
        "'timeoutSeconds': expected a number, not a string",
    ),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_told_by_file_and_line_without_a_secret(tmp_path, content, line, message):
    """GATEWAY, Start: unknown key, bad type, duplicate key, missing secret; what would be right, no secret."""
    path = write(tmp_path, content)
    with pytest.raises(InvalidConfig) as raised:
        read_config(path, ENVIRON)
    error = raised.value
    assert message in error.message
    assert error.message.startswith(f"{path}:{line}: ")
    assert error.fields == {"file": str(path), "line": line}
    assert error.code == "INVALID_CONFIG"
    assert SECRET not in error.message


@pytest.mark.parametrize(
    "louver",
    [
        {"descriptions": "closed/to us"},
        {"savings": "closed/to us/s.db"},
        {"auth": {"tokens": "closed/to us"}},
    ],
)
def test_a_place_that_cannot_be_looked_at_is_told(tmp_path, louver, monkeypatch):
    """Ours: a folder of another user, say; it was no error of the configuration."""
    look = os.stat

    def looked(path, **how):
        if "to us" in str(path):
            raise PermissionError(EACCES, "Permission denied")
        return look(path, **how)

    (tmp_path / "closed").mkdir()
    server = {"command": "a", **({"louver": louver} if "descriptions" in louver else {})}
    content = {"mcpServers": {"a": server}, "louver": {} if "louver" in server else louver}
    monkeypatch.setattr(os, "stat", looked)
    with pytest.raises(InvalidConfig, match="there is no such f"):
        read_config(write(tmp_path, json.dumps(content)))


NAMES = ["", "a b", "a/b", "a__b", "a_", "ü", "a\\n", "a:b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_cannot_stand_before_a_tool_s_is_refused(tmp_path, name):
    """GATEWAY, Transparency: `server__tool`, which must be told apart in one way only."""
    path = write(tmp_path, f'{{"mcpServers": {{\n"ok": {{"command": "a"}},\n"{name}": {{"command": "a"}}}}}}')
    with pytest.raises(InvalidConfig, match=f"^{path}:3: server .*: expected a name of letters, digits, '_'"):
        read_config(path, ENVIRON)


@pytest.mark.parametrize("name", ["a", "A-b.c_d", "_a", "0", "io.github.octo-cat"])
def test_a_name_that_can_is_taken(tmp_path, name):
    """Likewise."""
    assert read_config(write(tmp_path, of(**{name: {"command": "a"}}))).upstreams[0].name == name


def places(value, place=()):
    """Where something stands in a value."""
    for key, member in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*place, key)
        if isinstance(member, dict | list):
            yield from places(member, (*place, key))


@pytest.mark.parametrize("wrong", [f"${{NOT_SET}}{SECRET}", [SECRET], {SECRET[:2]: SECRET}, 82394711])
def test_no_value_of_a_file_is_told_wherever_it_is_wrong(tmp_path, wrong):
    """Ours: each value in turn is of the wrong kind, or of no use."""
    (tmp_path / "views").mkdir()
    messages = []
    for place in places(json.loads(GOOD)):
        changed = at = json.loads(GOOD)
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = wrong
        try:
            read_config(write(tmp_path, json.dumps(changed)), ENVIRON)
        except LouverError as error:
            messages.append(error.message)
    assert len(messages) > 15
    assert not any(SECRET in message or "82394711" in message for message in messages)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    """Ours: in the words of the system."""
    with pytest.raises(InvalidConfig, match=r"mcp\.json: the configuration cannot be read: No such file"):
        read_config(tmp_path / "mcp.json")
    with pytest.raises(InvalidConfig, match=r"mcp\.json: the configuration cannot be read: it is not UTF-8"):
        read_config(write(tmp_path, b'{"mcpServers": "\xff"}'))
