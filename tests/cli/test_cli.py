"""The `louver` command as a user runs it."""

import json
import signal
import subprocess
import sys
from functools import partial

import pytest
from jsonschema import Draft202012Validator

from fixtures.command import louver
from fixtures.forking import PYTHON

USER = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "boss": {"type": "object", "properties": {"email": {"type": "string"}}},
    },
    "required": ["id", "name"],
}
ANN = {"id": 1, "name": "Ann", "boss": {"email": "b@example.com", "id": 2}}
ONE_WORD = {
    "ARGS": "ARGS is one word: quote the JSON object, as in '{\"user_id\": 42}'",
    "call": 'TARGET is one word: quote a command with its arguments, as in louver call "louver serve --example"',
    "conformance": "TARGET is one word: quote a command with its arguments, as in louver conformance "
    '"louver serve --example"',
}


def test_project_keeps_what_include_names():
    """Issue #1704 section 3, on the shell."""
    assert louver("project", "--include", "id", "--include", "boss.email", stdin=ANN) == (
        0,
        '{"boss":{"email":"b@example.com"},"id":1}\n',
        "",
    )


def test_project_leaves_out_what_exclude_names():
    """Issue #1704 section 3, on the shell."""
    assert louver("project", "--exclude", "**.email", stdin=ANN)[1] == '{"id":1,"name":"Ann","boss":{"id":2}}\n'


def test_project_takes_both_and_exclude_wins():
    """PROJECTION, views: where there are both, exclude wins."""
    assert louver("project", "--include", "boss", "--exclude", "boss.id", stdin=ANN)[1] == (
        '{"boss":{"email":"b@example.com"}}\n'
    )


def test_project_takes_a_view_of_a_file(tmp_path):
    """A file of views is good on the shell too."""
    file = tmp_path / "user.views.json"
    file.write_text(json.dumps({"tool": "user", "always": ["id"], "views": {"minimal": ["name"]}}))
    assert louver("project", "--view", "minimal", "--views", str(file), stdin=ANN)[1] == '{"id":1,"name":"Ann"}\n'
    assert louver("project", "--include", "boss.id", "--views", str(file), stdin=ANN)[1] == (
        '{"boss":{"id":2},"id":1}\n'
    )


def test_project_tells_paths_that_the_schema_does_not_know(tmp_path):
    """PROJECTION rule 7: lenient, and told; members stand in the schema's order."""
    file = tmp_path / "user.schema.json"
    file.write_text(json.dumps(USER))
    status, out, err = louver("project", "--include", "nam", "--include", "name", "--schema", str(file), stdin=ANN)
    assert (status, out) == (0, '{"name":"Ann"}\n')
    assert err == "louver: the schema does not know 'nam'; did you mean 'name'?\n"


def test_derive_gives_the_schema_of_what_project_leaves():
    """DERIVATION: sound and tight, on the shell."""
    status, out, err = louver("derive", "--include", "id", stdin=USER)
    assert (status, err) == (0, "")
    check = Draft202012Validator(json.loads(out))
    assert check.is_valid({"id": 1})
    assert not check.is_valid(ANN)
    assert not check.is_valid({})


def test_derive_relax_gives_the_schema_that_a_tool_lists():
    """DERIVATION: relax accepts every projection."""
    status, out, _ = louver("derive", "--relax", stdin=USER)
    assert status == 0
    assert "required" not in json.loads(out)


def test_derive_says_when_it_knows_only_the_shape():
    """DERIVATION: a custom metaschema is not derived from."""
    status, out, err = louver("derive", "--include", "id", stdin={"$schema": "https://example.com/mine"})
    assert status == 0
    assert "only the shape" in err
    assert not Draft202012Validator(json.loads(out)).is_valid({"name": 1})


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (
            ["project", "--include", "a..b"],
            {},
            "field path 'a..b': expected a name, a quoted name, or '*' at offset 2",
        ),
        (["project", "--include", "**.id"], {}, "field path '**.id': expected a name"),
        (["project"], {}, "name a field by --include or --exclude"),
        (["project", "--view", "v"], {}, "--view needs the file that the view stands in"),
        (["project", "--view", "v", "--include", "a"], {}, "--view goes alone"),
        (["project", "--include", "a"], b"{", "standard input:1: not JSON"),
        (
            ["project", "--include", "a"],
            b'{"a": 1,\n "a": 2}',
            "standard input:1: not JSON: a key stands twice",
        ),
        (["project", "--include", "a"], b'{"a": NaN}', "standard input:1: not JSON: NaN and infinities"),
        (["project", "--include", "a"], b'{"a": 1e999}', "standard input:1: not JSON: a number is too large"),
        (["project", "--include", "a"], b'{"a": ' + b"1" * 5000 + b"}", "an integer has too many digits"),
        (["project", "--include", "a"], b"[" * 100_000, "it is nested deeper than"),
        (["project", "--include", "a"], b"\xff", "standard input is not JSON: it is not UTF-8"),
        (
            ["project", "--include", "a", "--schema", "nowhere.json"],
            {},
            "nowhere.json cannot be read: No such file",
        ),
        (
            ["project", "--view", "v", "--views", "nowhere.json"],
            {},
            "nowhere.json: the file of views cannot be read",
        ),
        (["derive", "--include", "a"], [], "a JSON Schema is an object, or true, or false"),
        (["derive", "--relax", "--include", "a"], {}, "--relax goes alone"),
    ],
)
def test_what_cannot_be_done_is_refused_with_status_2_and_nothing_on_standard_output(arguments, stdin, said):
    """Ours: errors say what, where, and what would have been right."""
    status, out, err = louver(*arguments, stdin=stdin)
    assert (status, out) == (2, "")
    assert err.startswith("louver: ")
    assert said in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("serve npx -y foo", "put '--' before the command that starts a server: louver serve -- npx -y ..."),
        ("serve --stdio npx -y", "put '--' before the command that starts a server: louver serve --stdio -- npx -y"),
        (
            "check npx x --token=T1 y",
            "put '--' before the command that starts a server: louver check -- npx x --token ...",
        ),
        ("check db -pT1 y", "put '--' before the command that starts a server: louver check -- db -p ..."),
        ("serve npx --stdio foo", "put '--' before the command that starts a server: louver serve -- npx --stdio foo"),
        ("serve --confg g.json", "unknown option '--confg': did you mean '--config'?"),
        ("serve --url=http://a --qx=T1", "unknown option '--qx': the options are those above"),
        (
            "serve --exmple",
            "one of the arguments -- COMMAND --url --config --example is required; unknown option '--exmple': "
            "did you mean '--example'?",
        ),
        ("call http://a/mcp x --inclde T1", "unknown option '--inclde': did you mean '--include'?"),
        ("call http://a/mcp x {user_id: T1}", f"there is a word too many: {ONE_WORD['ARGS']}"),
        ("call a x --inclde T1", f"unknown option '--inclde': did you mean '--include'? {ONE_WORD['call']}"),
        ("call louver serve a b", f"there is a word too many: {ONE_WORD['call']}"),
        ("conformance louver serve --example", f"there is a word too many: {ONE_WORD['conformance']}"),
        ("demo T1", "there is a word too many"),
        ("explain --as nobody npx -- --qx", "the following arguments are required: --tool"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_told_by_its_command(arguments, said):
    """Ours: with what was probably meant; what follows an option that is not ours may be a secret."""
    words = arguments.split()
    status, _, err = louver(*words)
    assert status == 2
    assert err.startswith(f"usage: louver {words[0]} ")
    assert err.endswith(f"louver {words[0]}: error: {said}\n")
    assert "T1" not in err


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
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "louver" in done.stdout


@pytest.fixture
def demo(monkeypatch):
    """Run the demo; its servers are forks."""
    monkeypatch.setattr(sys, "executable", PYTHON)
    return partial(louver, "demo")


def test_the_demo_shows_both_transports_both_eras_and_all_modes_all_valid(demo):
    """#1704: its three use cases save 97.5, 95 and 97.5 percent of the estimated tokens."""
    done = demo("--json")
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


def test_the_demo_prints_a_table_and_one_answer_with_its_receipt(demo):
    """Ours: what a newcomer sees first."""
    done = demo()
    assert done.returncode == 0, done.stderr
    assert "user greeting" in done.stdout
    assert '"projectedSchema"' in done.stdout
    assert "answers are as they should be" in done.stdout


def test_serve_ends_with_status_0_when_it_is_told_to():
    """Ours: a served process ends by itself on SIGTERM."""
    command = [sys.executable, "-m", "louver", "serve", "--example", "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr.readline().startswith("louver: serving at http://127.0.0.1:")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) in (0, -signal.SIGTERM)


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
