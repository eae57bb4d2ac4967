"""The `louver` command as a user runs it."""

import json
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.tables import in_turn
from louver import limits
from louver.cli import terminal
from louver.cli.commands.demo import CASES, Row
from louver.cli.options import build_parser
from louver.cli.parser import parse

USER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "boss": {"type": "object", "properties": {"email": {"type": "string"}}},
    },
    "required": ["id", "name"],
}
SERVERS = "-- COMMAND, --url URL or --config FILE"
ANN = {"id": 1, "name": "Ann", "boss": {"email": "b@example.com", "id": 2}}


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["--include", "a..b"], {}, "field path 'a..b': expected a name, a quoted name, or '*' at offset 2"),
        (["--json-args", "-"], b"{", "standard input:1: not JSON"),
        (["--json-args", "-"], b'{"a": 1,\n "a": 2}', "standard input:1: not JSON: a key stands twice"),
        (["--json-args", "-"], b'{"a": NaN}', "standard input:1: not JSON: NaN and infinities"),
        (["--json-args", "-"], b'{"a": 1e999}', "standard input:1: not JSON: a number is too large"),
        (["--json-args", "-"], b'{"a": ' + b"1" * 5000 + b"}", "an integer has too many digits"),
        (["--json-args", "-"], b"[" * 100_000, "it is nested deeper than"),
        (["--json-args", "-"], b"\xff", "standard input is not JSON: it is not UTF-8"),
        (["--json-args", "@nowhere.json"], {}, "nowhere.json cannot be read: No such file"),
    ],
)
def test_what_cannot_be_done_is_refused_with_status_2_and_nothing_on_standard_output(arguments, stdin, said):
    """Ours: errors say what, where, and what would have been right."""
    status, out, err = louver("call", "t", *arguments, "--", "no-such-command", stdin=stdin)
    assert (status, out) == (2, "")
    assert err.startswith("louver: ")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("serve npx -y foo", "put '--' before the command that starts a server: louver serve -- npx ..."),
        ("serve --stdio npx", "put '--' before the command that starts a server: louver serve -- npx"),
        ("check npx x --token=T1 y", "put '--' before the command that starts a server: louver check -- npx ..."),
        ("check X=T1 npx", "put '--' before the command that starts a server: louver check -- COMMAND ..."),
        ("tools http://a/mcp?key=T1", "name the URL of a server by --url"),
        ("serve --confg g.json", "unknown option '--confg': did you mean '--config'?"),
        ("serve --url=http://a --qx=T1", "unknown option '--qx': 'louver serve --help' lists them"),
        ("serve --workers 2 --example", "--workers is gone: a second process behind a proxy serves more"),
        ("serve --exmple", "unknown option '--exmple': did you mean '--example'?"),
        ("serve --exposure minimul --example", "argument --exposure: there is no 'minimul': did you mean 'minimal'?"),
        ("call x --inclde T1", "unknown option '--inclde': did you mean '--include'?"),
        ("call x a=1", f"name the server: {SERVERS}"),
        ("serve", "name the server: -- COMMAND, --url URL, --config FILE or --example"),
        ("check --url http://a --config b", "name the server once: --url and --config exclude each other"),
        ("check --url http://a -- b", "name the server once: -- COMMAND and --url exclude each other"),
        ("check --as nobody --tool a --schema b -- c", "-- COMMAND and --schema exclude each other"),
        ("check --config b --token T1", "--token goes with --url"),
        ("check --config b --header A=T1", "--header goes with --url"),
        ("check --url http://a --server b", "--server goes with --config"),
        ("check --", "a command is missing after '--', for example: -- npx -y some-server"),
        ("report a.db -- npx T1", "louver report starts no server: leave out '--' and what follows"),
        ("demo T1", "there is a word too many"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_told_by_its_command(arguments, said):
    """Ours: with what was probably meant; what follows an option that is not ours may be a secret."""
    words = arguments.split()
    status, _, err = louver(*words)
    assert status == 2
    assert err.startswith(f"usage: louver {words[0]} ")
    assert f"louver {words[0]}: error: " in err
    assert said in err.splitlines()[-1]
    assert "T1" not in err


COMMANDS = ["serve", "check", "call tool", "check --as nobody --tool t --policy p.json"]
"""That are told a server."""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("server", "told", "command"),
    in_turn(
        [
            (
                "--url 127.0.0.1:8931/mcp?k=T1",
                "--url takes a URL that begins with http:// or https://: put http:// before it",
            ),
            ("--url htps://a/T1", "did you mean 'https://'?"),
            ("--url ws://a/T1", "no other is spoken"),
            ("--url http://127.0.0.1:99999/T1", "it has a host, and a port of at most 65535"),
            ("--url npx", "a command stands after '--' instead"),
            (
                "-- no-such-program-anywhere T1",
                "there is no such command: 'no-such-program-anywhere' is not on the PATH",
            ),
            ("-- pytohn T1", "'pytohn' is not on the PATH; did you mean 'python"),
            ("-- ./no/such T1", "'./no/such' is not there"),
            ("-- TOKEN=T1 npx", "a variable is set before louver itself"),
            ("-- http://a/T1", "a URL is named by --url"),
            (f"-- {__file__} T1", "is a file: put before it what runs it, as in -- python server.py"),
            ("--config no-such.json", "the configuration cannot be read"),
            ("--url http://a --header T1", "--header takes NAME=VALUE, for example X-Tenant=acme"),
            ("--url http://a --header X-A=é", "--header X-A: expected printable ASCII"),
            (
                "--url http://a --token T1",
                "--token takes a file that holds only the token, and this one cannot be read",
            ),
        ],
        COMMANDS,
    ),
)
def test_a_server_that_is_not_meant_so_is_refused_by_every_command(command, server, told):
    """Ours: with what was probably meant; nothing that may be a secret is repeated."""
    status, out, err = louver(*command.split(), *server.split())
    assert (status, out) == (2, "")
    assert told in err
    assert "T1" not in err


def test_a_command_in_quotes_is_refused():
    """Ours: so a TARGET was once written."""
    status, _, err = louver("check", "--", "python server.py")
    assert (status, err) == (
        2,
        "louver: there is no such command: leave out the quotes around the command, as in -- python server.py\n",
    )


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ("a-token", 0o604, "others than its owner can read or write it (mode 604): expected 600"),
        ("two words", 0o600, "letters, digits and signs without spaces"),
        ("", 0o600, "letters, digits and signs without spaces"),
        ("x" * (limits.MAX_TOKEN_CHARACTERS + 1), 0o600, "at most 16,384 letters"),
    ],
)
def test_a_file_that_keeps_no_token_secret_is_refused(tmp_path, content, mode, told):
    """Ours: as any other file of secrets."""
    file = tmp_path / "token"
    file.write_text(content)
    file.chmod(mode)
    status, _, err = louver("tools", "--url", "http://127.0.0.1:9/mcp", "--token", file)
    assert status == 2
    assert told in err
    file.chmod(0o600)
    file.write_text("a-token")
    arguments = ["tools", "--url", "http://127.0.0.1:9/mcp", "--token", file, "--header", "authorization=x"]
    assert "leave out that --header" in louver(*arguments).stderr


def test_a_command_that_does_not_exist_is_told():
    """Ours."""
    assert louver("serv", "--config", "mcp.json").stderr.endswith(
        "louver: error: there is no command 'serv': did you mean 'serve'?\n"
    )
    assert louver("qqq").stderr.endswith("there is no command 'qqq': 'louver --help' lists them\n")
    assert "'louver completion' is gone: 'louver --help' lists" in louver("completion", "bash").stderr
    assert "'louver conformance' is gone: 'louver-conformance' is a distribution" in louver("conformance").stderr
    assert "'louver project' is gone: in a program 'compile_projection'" in louver("project", "--include", "id").stderr
    assert "'louver explain' is gone: 'louver check --as WHO --tool TOOL'" in louver("explain").stderr
    assert "'louver saved' is gone: 'louver report'" in louver("saved").stderr
    bare = louver()
    assert bare.returncode == 2
    assert bare.stderr.endswith("louver: error: name a command: 'louver --help' lists them; begin with: louver demo\n")


def test_every_example_of_the_help_can_be_parsed():
    """Ours: each command has one or two, of lines for a terminal."""
    parser, commands = build_parser()
    for name, command in commands.items():
        heading, *examples = command.epilog.splitlines()
        assert heading == "examples:"
        assert examples
        for example in examples:
            assert len(example) <= 80, example
            words = shlex.split(example.replace("$(", "").replace(")", "").partition(" <")[0].partition(" >")[0])
            words = shlex.split(words[1]) if words[0] == "eval" else words
            assert words[:2] == ["louver", name]
            assert parse(parser, commands, words[1:]).command == name


def test_an_option_of_no_command_is_told():
    """Ours: with the usage of the whole."""
    done = louver("--versoin", "demo")
    assert done.stderr.endswith("louver: error: unknown option '--versoin': did you mean '--version'?\n")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_neither_mcp_nor_pydantic_nor_asyncio(option):
    """Ours: they answer at once."""
    script = f"""
import sys
from louver.cli import main
try:
    main([{option!r}])
except SystemExit as done:
    assert done.code == 0
print(sorted({{"mcp", "mcp_types", "pydantic", "asyncio"}} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=FAILSAFE_S
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert "louver" in done.stdout


@pytest.fixture
def demo(monkeypatch):
    """Run the demo; its servers are forks."""
    monkeypatch.setattr(sys, "executable", PYTHON)
    return partial(louver, "demo")


def test_the_demo_fails_where_an_answer_is_not_as_expected(demo, monkeypatch):
    """Ours: also where there is none."""
    good = Row(CASES[0], "stdio", "2026-07-28", [], full="x" * 1000, projected="x", valid=True, applied=True)
    for rows, status in (
        ([good], 0),
        ([good, replace(good, applied=False)], 1),
        ([replace(good, full="x")], 1),
        ([], 1),
    ):

        async def called(rows=rows):
            return rows

        monkeypatch.setattr("louver.cli.commands.demo._stdio_rows", called)
        assert demo("--json").returncode == status


def test_the_demo_shows_both_transports_both_eras_and_all_modes_all_valid(demo):
    """#1704: its three use cases save 97.5, 95 and 97.5 percent of the estimated tokens."""
    done = demo("--all", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    keys = ["tool", "transport", "era", "mode", "fields", "full_bytes", "projected_bytes", "valid", "applied"]
    assert all(list(row) == keys for row in rows)
    assert all(row["valid"] is True and row["applied"] is True for row in rows)
    assert {(row["transport"], row["era"]) for row in rows} == {
        (transport, era) for transport in ("stdio", "http") for era in ("2025-11-25", "2026-07-28")
    }
    assert {row["mode"] for row in rows} == {"include", "exclude", "view"}
    for row, fields, saves in zip(rows, [["name"], ["name", "email"], ["status"]], [0.975, 0.95, 0.975], strict=False):
        assert (row["tool"], row["mode"], row["fields"]) == ("get_user_profile", "include", fields)
        assert 1 - row["projected_bytes"] / row["full_bytes"] >= saves


@pytest.mark.parametrize("columns", [80, 120])
def test_the_demo_fits_a_terminal(demo, monkeypatch, columns):
    """Ours: one table, its total, and what to do next; the same at every width."""
    from rich.console import Console

    monkeypatch.setattr(terminal, "console", lambda: Console(width=columns))
    done = demo()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("The example server over stdio, MCP 2026-07-28")
    assert sum(line.startswith(" total ") for line in lines) == 1
    assert "…" not in done.stdout
    commands = [line.split() for line in lines if line.startswith("  louver ")]
    assert [words[1] for words in commands] == ["call", "serve", "doctor"]
    parser = build_parser()
    assert all(parse(*parser, words[1:]).command == words[1] for words in commands)


def test_an_answer_that_is_not_as_it_should_be_fails_the_demo(demo, monkeypatch):
    """Ours: it is a check of the installation, too."""
    (case,) = (each for each in CASES if each.request.get("view") == "minimal")
    monkeypatch.setattr(
        "louver.cli.commands.demo.CASES", (replace(case, min_saving=1.0), replace(case, tool="nothing"))
    )
    done = demo()
    assert done.returncode == 1
    assert done.stdout.count("failed: ") == 2
    assert "invalid" in done.stdout


def test_serve_ends_with_status_0_when_it_is_told_to():
    """Ours: a served process ends by itself on SIGTERM."""
    command = [sys.executable, "-m", "louver", "serve", "--example", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("louver: serving at http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=FAILSAFE_S) in (0, -signal.SIGTERM)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("example.com:80", "--http takes an address, for example"),
        ("127.0.0.1", "--http takes HOST:PORT"),
        ("127.0.0.1:99999", "--http takes HOST:PORT"),
        ("[::1]:x", "--http takes HOST:PORT"),
        ("127.0.0.1:²", "--http takes HOST:PORT"),
        ("127.0.0.1:٣", "--http takes HOST:PORT"),
        ("127.0.0.1:" + 5000 * "9", "--http takes HOST:PORT"),
    ],
)
def test_serve_refuses_what_is_no_address(address, said):
    """Ours: told what would be one."""
    status, _, err = louver("serve", "--example", "--http", address)
    assert status == 2
    assert said in err


def test_serve_refuses_a_port_that_is_taken():
    """Ours: said in words, not by a traceback."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        status, _, err = louver("serve", "--example", "--http", f"127.0.0.1:{taken.getsockname()[1]}")
    assert status == 2
    assert "cannot listen at 127.0.0.1" in err


@pytest.mark.parametrize(
    ("options", "instead"),
    [
        (["--exposure", "gateway"], "--exposure gateway"),
        (["--exposure", "discovery"], "--exposure discovery"),
        (["--execute"], "--exposure full --execute"),
        (["--exposure", "minimal", "--execute"], "--exposure minimal --execute"),
    ],
)
def test_what_is_for_servers_behind_the_gateway_the_example_does_not_have(options, instead):
    """Ours: nothing that was asked for is passed over; what would do it is told."""
    status, out, err = louver("serve", "--example", *options)
    assert (status, out) == (2, "")
    assert f"louver serve {instead} -- louver serve --example" in err


def test_the_example_has_no_ready_views():
    """Ours: they are for public servers behind the gateway."""
    status, out, err = louver("serve", "--example", "--ready-views")
    assert (status, out) == (2, "")
    assert "ready views are for servers behind the gateway" in err
