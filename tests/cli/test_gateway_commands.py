"""`louver call`, `louver tools` and `louver check`."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from rich.console import Console

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S, wait_until
from fixtures.forking import PYTHON
from fixtures.model2vec import written
from gateway.front.auth.issuer import issuer
from gateway.served import at, children, fixture, lives, serving
from louver.cli import terminal
from louver.cli.commands import call
from louver.cli.process import by_signal
from louver_conformance.command import main as conformance

LOUVER = [PYTHON, "-m", "louver"]
EVERYTHING = Path(__file__).parents[1] / "fixtures" / "everything.py"
SEARCHABLE = Path(__file__).parents[1] / "fixtures" / "searchable.py"
EXAMPLE = ["--", *LOUVER, "serve", "--example"]
JSON, EVENTS = "application/json", "text/event-stream"
PROFILE = ["get_user_profile", "user_id=42"]


@pytest.fixture(scope="module")
def example():
    """The URL of the example server."""
    with serving("--example") as served:
        yield served.url


@pytest.fixture
def config(tmp_path):
    """Writes a configuration; the path to it."""

    def write(**servers):
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps({"mcpServers": servers}))
        return str(path)

    return write


def test_a_tool_is_called_with_a_projection():
    """The output stands alone on standard output, so that it can be piped on."""
    done = louver("call", *PROFILE, "--include", "name", "--include", "address.city", *EXAMPLE)
    assert done.returncode == 0
    assert set(json.loads(done.stdout)) == {"name", "address"}
    receipt = json.loads(done.stderr.strip().splitlines()[-1].removeprefix("louver: "))
    assert receipt["applied"] is True
    assert "projectedSchema" not in receipt


def test_fields_that_there_are_not_are_told_in_words(example):
    """Ours: a slip would else look like an empty answer."""
    done = louver("call", *PROFILE, "--include", "nmae", "--include", "id,email", "--url", example)
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert done.stderr.splitlines()[-3:] == [
        "louver: the output has no field 'id,email'",
        "louver: the output has no field 'nmae'; did you mean 'name'?",
        "louver: an option takes one field, and stands once for each",
    ]
    done = louver("call", *PROFILE, "--include", "preferences.theem", "--url", example)
    assert done.stderr.splitlines()[-1] == "louver: this answer has none of these fields", "no schema knows this name"


SLEEPS = [sys.executable, "-c", "import os, sys, time; os.write(2, b'here\\n'); time.sleep(600)"]
"""A server that does not look at its input."""


def test_a_command_that_is_told_to_end_ends_what_it_has_started():
    """Ours: nobody else would."""
    commands = (["check", "--", *SLEEPS], ["call", "tool", "--", *SLEEPS])
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    with ExitStack() as stack:
        started = [
            (number, stack.enter_context(begun(command, number))) for command, number in product(commands, numbers)
        ]
        servers = [until_it_sleeps(process.pid) for _, process in started]
        for number, process in started:
            process.send_signal(number)
        assert [process.wait(FAILSAFE_S) - 128 for _, process in started] == [number for number, _ in started]
    assert not any(map(lives, servers))


def test_a_gateway_whose_terminal_closes_ends_what_it_has_started():
    """Ours: the servers have process groups of their own, so the terminal tells the gateway alone."""
    with begun(["serve", "--http", "127.0.0.1:0", "--no-auth", "--", *SLEEPS], signal.SIGHUP) as process:
        server = until_it_sleeps(process.pid)
        process.send_signal(signal.SIGHUP)
        assert process.wait(FAILSAFE_S) == 0
        assert not lives(server)


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_gateway_that_outlives_its_terminal_goes_on(before):
    """POSIX, nohup: SIGHUP stays ignored."""

    async def heeded():
        by_signal(print)
        try:
            return signal.getsignal(signal.SIGHUP)
        finally:
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                asyncio.get_running_loop().remove_signal_handler(number)

    own = signal.signal(signal.SIGHUP, before)
    try:
        assert (asyncio.run(heeded()) is before) is (before is signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGHUP, own)


@contextmanager
def begun(command, number):
    """A command, which heeds a signal: where tests run in the background, it would be ignored."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    heeds = partial(signal.signal, number, signal.SIG_DFL)
    with subprocess.Popen([sys.executable, "-m", "louver", *command], **pipes, preexec_fn=heeds) as process:
        try:
            yield process
        finally:
            process.kill()


def until_it_sleeps(pid):
    """The server of a command, once it has started it."""
    return wait_until(lambda: [child for child, line in children(pid).items() if "time.sleep(600)" in line])[0]


def test_a_server_that_does_not_open_is_given_up(monkeypatch):
    """Ours: within a bound, as by the gateway."""
    monkeypatch.setattr(call, "OPENING_TIMEOUT_S", 0.1)
    done = louver("call", "tool", "--", PYTHON, "-c", "import sys; sys.stdin.read()")
    assert (done.returncode, done.stderr) == (1, "louver: the server has not opened within 0.1 s\n")


@pytest.mark.parametrize("options", [["--exclude", "**.email"], ["--view", "minimal"], []])
def test_every_mode_can_be_asked_for(example, options):
    """The whole result is there with `--json`."""
    done = louver("call", *PROFILE, *options, "--json", "--url", example)
    result = json.loads(done.stdout)
    assert ("projection" in result.get("_meta", {})) is bool(options)
    assert "structuredContent" in result


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["get_user_profile", "--json-args", "{user_id: 42}"], 2, "not JSON: Expecting property name enclosed in"),
        (["get_user_profile", "--json-args", '{"user_id": NaN}'], 2, "no numbers of JSON; a tool's arguments are"),
        (["get_user_profile", "--json-args", "[]"], 2, "one JSON object"),
        ([*PROFILE, "--include", "a", "--view", "b"], 2, "at a time"),
        (["get_user_profile", "--json-args", r'{"user_id": "\ud800"}'], 2, "half a surrogate pair"),
        (["\udcff"], 2, "a byte that the locale has no letter for"),
        ([*PROFILE, "--include", "\udcff"], 2, "cannot be sent: expected whole characters"),
        ([*PROFILE, "--include", "a..b"], 2, "expected a name"),
        (["get_user_profil"], 1, "the server lists no tool 'get_user_profil'; did you mean 'get_user_profile'?"),
        (["get_user_profile", "userid=42"], 2, "the tool takes no argument 'userid': did you mean 'user_id'?"),
        (["get_user_profile", "user_id=T1"], 2, "argument 'user_id': expected integer"),
        (["get_user_profile"], 2, "argument 'user_id' is missing: expected integer"),
    ],
)
def test_what_cannot_be_called_is_told(example, arguments, status, said):
    """2 where the request is refused here, 1 where the server does."""
    done = louver("call", *arguments, "--url", example)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert "T1" not in done.stderr


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (["--", *LOUVER, "serve", "--", "no-such-command-anywhere"], "the server cannot be opened"),
        (["--url", "http://127.0.0.1:9/mcp"], "cannot be opened"),
    ],
)
def test_a_server_that_cannot_be_opened_is_told(server, told):
    """Ours."""
    done = louver("call", "tool", *server)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in done.stderr


def test_arguments_stand_between_and_after_options(example):
    """Ours; `--json-args` reads a file, and standard input, too."""
    done = louver("call", "list_issues", "--include", "issues.number", "limit=2", "--url", example, "state=open")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["issues"]) == 2
    given = louver("call", "list_issues", "--json-args", "-", "--url", example, stdin={"limit": 3})
    assert len(json.loads(given.stdout)["issues"]) == 3


def test_the_servers_of_a_file_are_called_through_the_gateway(config, tmp_path, monkeypatch):
    """Ours: the file's views apply, and all of its tools are there, whatever the exposure."""
    monkeypatch.setattr(sys, "executable", PYTHON)
    shop = {"command": PYTHON, "args": ["-m", "louver", "serve", "--example"], "louver": {"views": "views"}}
    views = tmp_path / "views"
    views.mkdir()
    (views / "get_issue.views.json").write_text(json.dumps({"tool": "get_issue", "views": {"mine": ["title"]}}))
    path = config(shop=shop, other={"command": "no-such-command-anywhere"})
    written = json.loads(Path(path).read_text())
    Path(path).write_text(json.dumps({**written, "louver": {"exposure": "discovery"}}))
    done = louver("call", "get_issue", "number=7", "--view", "mine", "--config", path, "--server", "shop")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).keys() == {"title"}
    assert done.stderr.startswith("louver: {")
    failed = louver("call", "anything", "--config", path, "--server", "other")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "No such file or directory" in failed.stderr


def test_the_status_of_a_refusal_is_told(example, tmp_path):
    """Ours. What to do about a missing token is said, and works."""
    lines = louver("token", "--subject", "ann").stdout.splitlines()
    tokens = tmp_path / "tokens.json"
    tokens.write_text(json.dumps({"tokens": json.loads(f"{{{lines[1]}}}")}))
    tokens.chmod(0o600)
    path = tmp_path / "guarded.json"
    path.write_text(json.dumps({"mcpServers": {"shop": at(example)}, "louver": {"auth": {"tokens": "tokens.json"}}}))
    with serving("--config", str(path), no_auth=False) as guarded:
        refused = louver("call", *PROFILE, "--url", guarded.url)
        token = tmp_path / "token.txt"
        token.write_text(f"{lines[0].split()[1]}\n")
        token.chmod(0o600)
        done = louver("call", *PROFILE, "--include", "name", "--url", guarded.url, "--token", token)
        tools = louver("tools", "--json", "--url", guarded.url, "--token", token)
        checks = ["--era", "2026-07-28", "--group", "stock", "--group", "hint"]
        conforms = louver(*checks, "--url", guarded.url, "--token", token, main=conformance)
    wrong = louver("call", *PROFILE, "--url", example.replace("/mcp", "/other"))
    assert (refused.returncode, wrong.returncode) == (1, 1)
    assert "louver login --url URL (with a token: --token FILE)" in refused.stderr
    assert wrong.stderr.startswith("louver: the server cannot be opened: ")
    assert "HTTP 404" in wrong.stderr
    assert (done.returncode, json.loads(done.stdout)) == (0, {"name": "Ruben Keller"}), done.stderr
    assert "get_user_profile" in tools.stdout
    assert (conforms.returncode, "fail" in conforms.stdout) == (0, False), conforms.stdout


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        (JSON, b'{"secret": 7}', "the upstream sends what cannot be used: no JSON-RPC message"),
        (JSON, b'{"secret": 7', "the upstream sends what cannot be used: not strictly JSON"),
        (EVENTS, b"data: 7\n\n", "without an answer"),
    ],
)
def test_what_is_no_answer_is_not_quoted(kind, body, told):
    """Ours: the SDK's client would."""
    with issuer() as (made, url):
        made.answers["/mcp"] = (200, body, {"content-type": kind})
        done = louver("call", *PROFILE, "--url", f"{url}/mcp")
    assert done.returncode == 1
    assert done.stderr.startswith("louver: the server cannot be opened: ")
    assert told in done.stderr
    assert "7" not in done.stderr


def test_what_a_server_writes_beside_the_protocol_is_not_quoted():
    """Ours: the SDK's own log would."""
    noisy = "print('secret: 7', flush=True); from louver.example import build_server; build_server().run()"
    done = louver("call", *PROFILE, "--", PYTHON, "-c", noisy)
    assert (done.returncode, done.stderr) == (0, "")


def test_null_beside_a_text_is_not_what_is_shown():
    """WIRE.md, Content: some servers write `null` where they have nothing structured."""
    said = {"tools/call": {"structuredContent": None}}
    saying = [PYTHON, str(Path(__file__).parents[1] / "fixtures" / "saying.py"), json.dumps(said)]
    done = louver("call", "t", "--include", "a", "--", *LOUVER, "serve", "--", *saying)
    assert (done.returncode, done.stdout) == (0, '{"a":1}\n')


def test_a_server_that_knows_nothing_of_projection_is_told():
    """Ours: it answers all the same, and what was asked for is not what came."""
    done = louver("call", "test_simple_text", "--include", "name", "--", PYTHON, str(EVERYTHING))
    assert done.returncode == 1
    assert done.stdout == "This is a simple text response for testing.\n"
    assert "this is not projected" in done.stderr


def test_the_catalogue_of_a_configuration(example, config):
    """Bytes, estimated tokens, what can be projected, views."""
    path = config(one=at(example), two=at(example))
    rows = json.loads(louver("tools", "--config", path, "--json").stdout)
    assert {row["server"] for row in rows} == {"one", "two"}
    profile = next(row for row in rows if row["tool"] == "get_user_profile")
    assert profile["projectable"] is True
    assert "minimal" in profile["views"]
    assert profile["tokens"] == round(profile["bytes"] / 3.5)
    one = json.loads(louver("tools", "--config", path, "--server", "one", "--json").stdout)
    assert one == [row for row in rows if row["server"] == "one"]
    table = louver("tools", "--config", path)
    assert table.returncode == 0
    assert "get_user_profile" in table.stdout


def test_the_table_of_tools_fits_a_narrow_terminal(monkeypatch):
    """Ours: the views wrap, and no name that could be copied."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    lines = louver("tools", "--", PYTHON, "-m", "louver", "serve", "--example").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any("│ get_user_profile │" in line for line in lines)


def test_the_tools_that_fit_a_query(example, config):
    """The best first, each with its score; of several servers their names are searched too."""
    path = config(one=at(example), two=at(example))
    rows = json.loads(louver("tools", "--config", path, "--query", "profile of a user", "--json").stdout)
    assert {(row["server"], row["tool"]) for row in rows[:2]} == {
        ("one", "get_user_profile"),
        ("two", "get_user_profile"),
    }
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0
    mine = json.loads(louver("tools", "--config", path, "--query", "two profile", "--json").stdout)
    assert (mine[0]["server"], mine[0]["tool"]) == ("two", "get_user_profile")
    all_of_two = json.loads(louver("tools", "--config", path, "--query", "two", "--json").stdout)
    assert all_of_two[0]["server"] == "two"
    one = json.loads(louver("tools", "--config", path, "--server", "one", "--query", "usr", "--json").stdout)
    assert {row["server"] for row in one} == {"one"}


@pytest.mark.parametrize("servers", [["one"], ["one", "two"]])
def test_search_terms_of_description_files_find_their_tools(example, config, tmp_path, servers):
    """Issue 45; the row of a tool does not show them."""
    folder = tmp_path / "descriptions"
    folder.mkdir()
    (folder / "get_user_profile.json").write_text(json.dumps({"searchTerms": ["dossier"]}))
    path = config(**{name: at(example, descriptions="descriptions") for name in servers})
    found = louver("tools", "--config", path, "--query", "dossier", "--json").stdout
    found_at = [(row["server"], row["tool"]) for row in json.loads(found)]
    assert sorted(found_at) == [(name, "get_user_profile") for name in servers]
    assert "dossier" not in found


def test_word_vectors_of_the_configuration_find_tools(tmp_path):
    """Issue 45: at the command line and of the gateway's tool; `bill` finds the tool that says `invoice`."""
    terms = tmp_path / "descriptions"
    terms.mkdir()
    (terms / "get_user_profile.json").write_text(json.dumps({"searchTerms": ["invoice"]}))
    (tmp_path / "model").mkdir()
    written(tmp_path / "model")
    path = tmp_path / "mcp.json"
    server = {
        "command": PYTHON,
        "args": [*LOUVER[1:], "serve", "--example"],
        "louver": {"descriptions": "descriptions"},
    }
    path.write_text(json.dumps({"mcpServers": {"one": server}, "louver": {"meaning": "model", "exposure": "gateway"}}))
    rows = json.loads(louver("tools", "--config", str(path), "--query", "bill", "--json").stdout)
    assert [row["tool"] for row in rows] == ["get_user_profile"]
    serve = ["--", *LOUVER, "serve", "--config", str(path)]
    answer = louver("call", "gateway", "action=search", "query=bill", *serve)
    assert "get_user_profile" in answer.stdout
    assert "list_issues" not in answer.stdout


def test_the_tools_that_fit_a_query_as_a_table(example):
    """The score stands beside each, the best twenty are shown."""
    table = louver("tools", "--query", "issues", "--url", example)
    assert table.returncode == 0
    assert re.search(r"│ list_issues +│ +\d(\.\d+)? │", table.stdout)
    assert "get_user_profile" not in table.stdout
    nothing = louver("tools", "--query", "submarine", "--url", example)
    assert nothing.returncode == 0
    assert "score" not in nothing.stdout
    many = louver("tools", "--query", "notes", "--", PYTHON, str(SEARCHABLE))
    assert "The best 20 of 45; all with --json." in many.stdout
    assert many.stdout.count("take_note_") == 20


def test_a_query_that_is_none_is_refused(example):
    """As on the wire; a white one is none at all."""
    done = louver("tools", "--query", "x" * 4097, "--url", example)
    assert done.returncode == 2
    assert done.stderr == "louver: a query has at most 4096 characters, not 4097: say it in a few words\n"
    assert "score" not in json.loads(louver("tools", "--query", " ", "--json", "--url", example).stdout)[0]


def test_a_server_that_is_not_in_the_configuration(config):
    """It says which there are."""
    done = louver("tools", "--config", config(one={"command": "true"}), "--server", "two")
    assert done.returncode == 2
    assert "'one'" in done.stderr


@pytest.mark.parametrize("command", ["tools", "check"])
@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({"command": "no-such-command-anywhere"}, "No such file"),
        (fixture("unruly", "listless"), "'tools/list' fails"),
    ],
)
def test_a_server_that_is_not_there_is_shown(example, config, command, bad, told):
    """And the exit status says so; the others are shown as they are."""
    path = config(good=at(example), bad=bad)
    done = louver(command, "--config", path)
    assert done.returncode == 1
    assert "ready" in done.stdout
    assert told in done.stdout


def test_the_last_words_of_a_server_that_is_not_there_are_told(config):
    """Ours: they often say what to do, and those of a server that is there are of no interest here."""
    script = "import sys; print('begun', file=sys.stderr); raise SystemExit('set API_KEY')"
    talkative = (
        f"import os, sys; print('listening', file=sys.stderr, flush=True); os.execv({LOUVER[0]!r}, sys.argv[1:])"
    )
    servers = {
        "dead": {"command": PYTHON, "args": ["-c", script]},
        "live": {"command": PYTHON, "args": ["-c", talkative, *LOUVER, "serve", "--example"]},
    }
    done = louver("check", "--config", config(**servers))
    assert done.returncode == 1
    assert done.stderr.endswith("louver: dead: begun\nlouver: dead: set API_KEY\n")
    assert "listening" not in done.stderr


def test_views_that_do_not_fit_are_found_before_serving(example, config, tmp_path):
    """`louver check` holds default views against the tools."""
    assert louver("check", "--config", config(example=at(example))).returncode == 0
    (tmp_path / "views").mkdir()
    file = tmp_path / "views" / "it.views.json"
    file.write_text(json.dumps({"tool": "get_user_profile", "default": "no_such_view", "views": {}}))
    done = louver("check", "--config", config(example=at(example, views="views")))
    assert done.returncode == 1
    assert "has no view 'no_such_view' to be its default: its views are 'contact', 'minimal'" in done.stderr


def test_what_is_said_of_tools_that_are_not_there_is_found(example, config, tmp_path):
    """`louver check`: a slip in a name would else go unseen."""
    views, texts = tmp_path / "views", tmp_path / "texts"
    for folder, name, content in ((views, "no_views.views", {"tool": "no_views", "views": {}}), (texts, "no_text", {})):
        folder.mkdir()
        (folder / f"{name}.json").write_text(json.dumps(content))
    said = {"views": str(views), "descriptions": str(texts)}
    for others in ({}, {"all": {"command": PYTHON, "args": [str(EVERYTHING)]}}):
        done = louver("check", "--config", config(example=at(example, **said), **others))
        assert done.returncode == 1
        told = " ".join(done.stderr.split())
        for what in (
            "a file holds views of a tool 'no_views', which it does not have louver:",
            "a file describes a tool 'no_text', which it does not have",
        ):
            assert f"example: {what}" in told


def test_files_of_views_that_are_not_read_are_found(example, config, tmp_path):
    """`louver check`: they would be passed over without a word."""
    folder = tmp_path / "views"
    folder.mkdir()
    (folder / "mcp.json").write_text("{}")
    (folder / "broken.json").write_text("{")
    path = config(example=at(example, views="views"))
    done = louver("check", "--config", path)
    assert (done.returncode, done.stderr) == (1, "louver: example: 'views': the folder has no file <tool>.views.json\n")
    views = json.dumps({"tool": "get_user_profile", "views": {"mine": ["name"]}})
    (folder / "get_user_profile.json").write_text(views)
    done = louver("check", "--config", path)
    assert done.returncode == 1
    assert done.stderr == (
        "louver: example: 'views': 'get_user_profile.json' is not read: a file of views is called <tool>.views.json\n"
    )
    (folder / "get_user_profile.json").rename(folder / "get_user_profile.views.json")
    assert louver("check", "--config", path).returncode == 0


def test_a_wrong_file_of_descriptions_is_found_whatever_is_exposed(example, config, tmp_path):
    """Ours: also where nothing is described on demand yet."""
    folder = tmp_path / "descriptions"
    folder.mkdir()
    (folder / "get_user_profile.json").write_text('{"sumary": "Gets one."}')
    done = louver("check", "--config", config(example=at(example, descriptions=str(folder))))
    assert done.returncode == 2
    assert "get_user_profile.json:1: unknown key 'sumary'" in done.stderr


def test_tools_that_are_hidden_from_who_meets_no_rule_are_noted(example, config, tmp_path):
    """TRUST.md, row 5: `louver check` names the file, the line and what to add; it is no problem."""
    admins = {"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]}
    everybody = {"name": "others", "allow": ["*"]}
    tools = {"get_user_profile": {"rules": [admins]}, "list_issues": {"rules": [admins, everybody]}}
    policy = tmp_path / "it.policy.json"
    policy.write_text(json.dumps({"version": "1", "tools": tools}, indent=1))
    path = Path(config(example=at(example, policy="it.policy.json")))
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "louver": {"audit": {"file": "audit.db"}}}))
    done = louver("check", "--config", path)
    assert done.returncode == 0
    line = policy.read_text().splitlines().index('      "*"') + 1
    assert f"{policy}:{line}: note: tool 'get_user_profile' is hidden from callers who meet no rule" in done.stderr
    assert '{"name": "others", "allow": ["FIELD"]}' in done.stderr
    assert "list_issues" not in done.stderr


def test_a_named_pipe_in_place_of_the_configuration_is_refused(tmp_path):
    """TRUST.md, row 12: it hung."""
    os.mkfifo(tmp_path / "mcp.json")
    for command in ("check", "serve"):
        done = louver(command, "--config", tmp_path / "mcp.json")
        assert done.returncode == 2
        assert "it is no regular file" in done.stderr
