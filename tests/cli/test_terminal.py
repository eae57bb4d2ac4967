"""What others have named is shown as it is written, and steers no terminal."""

from __future__ import annotations

import json

import pytest

from fixtures.command import louver
from gateway.served import fixture


def named(said):
    """The command of a server that says this."""
    server = fixture("named", json.dumps(said))
    return [server["command"], *server["args"]]


def cells(out):
    """The cells of the tables in what was printed."""
    return {cell.strip() for line in out.splitlines() for cell in line.split("│")}


def test_tools_are_listed_by_the_names_that_they_have():
    """Ours: names are the server's."""
    names = ["[/red]evil", "[bold]gone[/bold]", ":warning:", "\x1b[2J\x1b]0;title\x07", "two\nlines", "ünï"]
    done = louver("tools", "--", *named(names))
    assert (done.returncode, done.stderr) == (0, "")
    shown = {*names[:3], r"\x1b[2J\x1b]0;title\x07", r"two\nlines", "ünï"}
    assert shown <= cells(done.stdout)


@pytest.mark.parametrize("command", ["tools", "check"])
@pytest.mark.parametrize("name", ["[/x]", "/[red]/x"])
def test_a_server_is_told_of_by_the_command_that_it_has(command, name, tmp_path):
    """Ours: a folder may have brackets."""
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"one": {"command": name}}}))
    done = louver(command, "--config", tmp_path / "mcp.json")
    assert done.returncode == 1
    assert f"the upstream '{name}' cannot be started" in done.stdout


def test_what_a_server_refuses_with_is_told_in_one_line():
    """Ours: its message may say anything, also what would look like ours."""
    done = louver("call", "it", "--", *named("no [/x] \x1b[31mred\x07\nlouver: all is well"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "louver: the server cannot be opened: it refuses to open, with error -32603\n"


def test_what_a_server_refuses_a_call_with_is_told_in_one_line():
    """Likewise."""
    done = louver("call", "\x1b[2J\nit", "--", *named([]))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "louver: no tool \\x1b[2J\\nit\n"


def test_a_rule_is_told_by_the_name_that_it_has(tmp_path):
    """Ours: whoever writes a policy may write brackets."""
    policy, schema = tmp_path / "it.policy.json", tmp_path / "schema.json"
    rule = {"name": "[/red]", "deny": ["`[bold]`"]}
    policy.write_text(json.dumps({"version": "1", "tools": {"it": {"rules": [rule]}}}))
    schema.write_text(json.dumps({"type": "object", "properties": {"[bold]": {"type": "string"}}}))
    done = louver("check", "--policy", str(policy), "--as", "nobody", "--tool", "it", "--schema", str(schema))
    assert (done.returncode, done.stderr) == (0, "")
    assert "By rule '[/red]'." in done.stdout
    assert {"`[bold]`", "[/red]"} <= cells(done.stdout)
