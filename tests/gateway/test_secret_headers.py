"""Secrets in headers that change: files, and a command that prints them. None is ever told."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from gateway.configs import write
from louver.errors import InvalidConfig, UpstreamUnavailable
from louver.gateway.back.transports import secret_headers as module
from louver.gateway.back.transports.secret_headers import SecretHeaders
from louver.gateway.config.model import HeadersHelper
from louver.gateway.config.read import read_config
from louver.gateway.gateway import Gateway
from louver.gateway.in_process import sdk_server
from louver.steps.request import ANONYMOUS
from steps.wire import OLD, connect

pytestmark = pytest.mark.anyio

CANARY = "c4n4ry"
EMPTY = {"type": "object"}


class Protected(BaseHTTPRequestHandler):
    """A server that wants the token of the moment, and counts the calls that ran."""

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        server = self.server
        server.seen.append(dict(self.headers))
        refused = server.refusing if self.headers.get("authorization") != f"Bearer {server.token}" else 0
        method, body = message["method"], b""
        result = {}
        if method == "initialize":
            info = {"name": "protected", "version": "1"}
            result = {"protocolVersion": OLD, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [{"name": "run", "inputSchema": EMPTY}]}
        elif method == "tools/call" and not refused:
            server.ran += 1
            result = {"content": [{"type": "text", "text": "ran"}]}
        if not refused and "id" in message:
            error = {"error": {"code": -32601, "message": "none"}} if method == "server/discover" else {}
            body = json.dumps({"jsonrpc": "2.0", "id": message["id"], **(error or {"result": result})}).encode()
        self.send_response(refused or (200 if body else 202))
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.send_error(405)

    def log_message(self, *_):
        """Nothing."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Protected) as made:
        made.token, made.refusing, made.ran, made.seen = f"{CANARY}-1", 401, 0, []
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def entry(server, **more):
    return {"url": f"http://127.0.0.1:{server.server_address[1]}/mcp", **more}


def config(folder, server):
    return read_config(write(folder, json.dumps({"mcpServers": {"it": server}})))


@asynccontextmanager
async def gateway(folder, server):
    made = Gateway(config(folder, server))
    try:
        async with connect(sdk_server(made.answer, ANONYMOUS), OLD) as wire:
            yield wire
    finally:
        await made.close()


def helper(folder, text):
    """A `headersHelper` that runs this, and counts its runs in a file."""
    script = folder / "helper.py"
    script.write_text(f"import json, os, sys, time\nopen('runs', 'a').write('.')\n{text}\n")
    return f"{sys.executable} helper.py"


def runs(folder):
    path = folder / "runs"
    return len(path.read_text()) if path.exists() else 0


async def runs_the_tool(wire):
    return (await wire.call("run"))["content"][0]["text"] == "ran"


async def test_a_file_is_read_again_when_it_changes(tmp_path, server, caplog):
    """*Ours*: `${file:PATH}`, relative to the configuration; nothing is refused meanwhile."""
    token = tmp_path / "token"
    token.write_text(f"{CANARY}-1\n")
    with caplog.at_level(logging.DEBUG):
        headers = {"Authorization": "Bearer ${file:token}", "X-Fixed": "1"}
        async with gateway(tmp_path, entry(server, headers=headers)) as wire:
            assert await runs_the_tool(wire)
            server.token = f"{CANARY}-22"
            token.write_text(f"{CANARY}-22\n")
            assert await runs_the_tool(wire)
    assert server.ran == 2
    assert {seen["x-fixed"] for seen in server.seen} == {"1"}
    assert {seen["authorization"] for seen in server.seen} == {f"Bearer {CANARY}-1", f"Bearer {CANARY}-22"}
    assert CANARY not in caplog.text


async def test_a_helper_runs_again_when_it_is_refused(tmp_path, server, caplog):
    """Claude Code, `headersHelper`: its names in the environment too; the call runs once, by a second request."""
    source = tmp_path / "source"
    source.write_text(f"{CANARY}-1")
    text = (
        "print('said', open('source').read(), file=sys.stderr)\n"
        "name = os.environ['CLAUDE_CODE_MCP_SERVER_NAME']\n"
        "print(json.dumps({'Authorization': 'Bearer ' + open('source').read(), 'X-Name': name}))"
    )
    with caplog.at_level(logging.DEBUG):
        helped = entry(server, headers={"authorization": "Bearer none"}, headersHelper=helper(tmp_path, text))
        async with gateway(tmp_path, helped) as wire:
            assert await runs_the_tool(wire)
            assert runs(tmp_path) == 1
            server.token = f"{CANARY}-2"
            source.write_text(f"{CANARY}-2")
            assert await runs_the_tool(wire)
            assert (runs(tmp_path), server.ran) == (2, 2)
            assert server.seen[-1]["x-name"] == "it"
            # It prints what is refused: it is not run for each call.
            server.token = "none"
            for _ in range(3):
                assert "HTTP 401" in json.dumps(await wire.call("run"))
            assert (runs(tmp_path), server.ran) == (2, 2)
    assert CANARY not in caplog.text


async def test_a_call_that_is_forbidden_is_not_sent_again(tmp_path, server):
    """*Ours*: it may have begun; the next one has the new headers."""
    token = tmp_path / "token"
    token.write_text(f"{CANARY}-1")
    count = "len(open('runs').read())"
    text = f"print(json.dumps({{'Authorization': 'Bearer {CANARY}-%d' % {count}}}))"
    async with gateway(tmp_path, entry(server, headersHelper=helper(tmp_path, text))) as wire:
        assert await runs_the_tool(wire)
        server.token, server.refusing = f"{CANARY}-2", 403
        sent = len(server.seen)
        assert "HTTP 403" in json.dumps(await wire.call("run"))
        assert len(server.seen) == sent + 1
        assert await runs_the_tool(wire)
    assert server.ran == 2


WRONG = {
    "a status": ("sys.exit(3)", "'headersHelper' ends with status 3"),
    "no json": (f"print('{CANARY}')", "'headersHelper' prints something else than a JSON object of headers"),
    "a number": (f'print(\'{{"A": 1, "B": "{CANARY}"}}\')', "'headersHelper' prints something else"),
    "a name": (f'print(\'{{"A {CANARY}": "1"}}\')', "'headersHelper' prints something else"),
    "two lines": (f"print(json.dumps({{'A': '{CANARY}\\n'}}))", "'headersHelper' prints something else"),
    "too much": (f"print('{CANARY}' * 20000)", "'headersHelper' prints over 65,536 bytes"),
    "too long": ("time.sleep(60)", "'headersHelper' has not ended in 0.5 s"),
    "a child": ("os.fork() or time.sleep(60)", "'headersHelper' has not ended in 0.5 s"),
}


@pytest.mark.parametrize(("text", "told"), WRONG.values(), ids=WRONG)
async def test_a_helper_that_fails_is_told_without_what_it_prints(tmp_path, caplog, monkeypatch, text, told):
    """*Ours*: bounded in time and output."""
    if "sleep" in text:
        monkeypatch.setattr(module, "HEADERS_HELPER_S", 0.5)
    helper(tmp_path, text)
    headers = SecretHeaders({}, HeadersHelper((sys.executable, "helper.py"), tmp_path, {}))
    with caplog.at_level(logging.DEBUG), pytest.raises(UpstreamUnavailable) as refused:
        await headers.headers()
    assert told in refused.value.message
    assert CANARY not in caplog.text + refused.value.message


async def test_a_command_that_there_is_not_is_told(tmp_path):
    """*Ours*."""
    headers = SecretHeaders({}, HeadersHelper(("./none",), tmp_path, {}))
    with pytest.raises(UpstreamUnavailable, match="'headersHelper' cannot be started: No such file"):
        await headers.headers()


async def test_the_state_of_a_server_says_why_it_has_no_headers(tmp_path, server):
    """*Ours*: and no request is sent without them."""
    made = Gateway(config(tmp_path, entry(server, headersHelper=helper(tmp_path, "sys.exit(3)"))))
    try:
        (state,) = await made.open()
    finally:
        await made.close()
    assert state.problem == "'headersHelper' ends with status 3"
    assert server.seen == []


async def test_calls_at_once_share_a_run(tmp_path):
    """*Ours*: also those that are refused with the same headers."""
    helper(tmp_path, "print(json.dumps({'A': str(len(open('runs').read()))}))")
    headers = SecretHeaders({}, HeadersHelper((sys.executable, "helper.py"), tmp_path, {}))
    assert await asyncio.gather(*(headers.headers() for _ in range(5))) == [{"a": "1"}] * 5
    assert await asyncio.gather(*(headers.on_refused({"a": "1"}, 401, None) for _ in range(5))) == [True] * 5
    assert await headers.headers() == {"a": "2"}
    assert not await headers.on_refused({"a": "2"}, 401, None)


async def test_a_call_that_is_cancelled_while_the_helper_runs_leaves_it_to_the_next_one(tmp_path, monkeypatch):
    """Ours: the helper was ended with it, and none ran for `HEADERS_HELPER_PAUSE_S`."""
    headers = SecretHeaders({}, HeadersHelper(("none",), tmp_path, {}))
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def run(_helper):
        begun.set()
        await go_on.wait()
        return {"a": "2"}

    headers._printed = {"a": "1"}
    monkeypatch.setattr(module, "_run", run)
    leaving = asyncio.create_task(headers.on_refused({"a": "1"}, 401, None))
    await begun.wait()
    leaving.cancel()
    go_on.set()
    assert await headers.on_refused({"a": "1"}, 401, None)


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        (None, 0o600, "the file of header 'a' cannot be read: No such file"),
        (b"\xff", 0o600, "the file of header 'a' cannot be read: it is not UTF-8"),
        (b"a\nb", 0o600, "the file of header 'a': expected printable ASCII, in one line"),
        (b"a" * 70_000, 0o600, "the file of header 'a' cannot be read: it has over 65,536 bytes"),
        (b"a", 0o666, "others than its owner can write it"),
    ],
)
async def test_a_file_that_cannot_be_used_is_told_by_its_header(tmp_path, content, mode, told):
    """*Ours*: at each request, so that it can be mended."""
    token = tmp_path / "token"
    if content is not None:
        token.write_bytes(content)
        os.chmod(token, mode)
    headers = SecretHeaders({"A": ("Bearer ", token)}, None)
    with pytest.raises(UpstreamUnavailable) as refused:
        await headers.headers()
    assert told in refused.value.message
    token.write_bytes(b"right\r\n")
    os.chmod(token, 0o600)
    assert await headers.headers() == {"a": "Bearer right"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"headersHelper": "print 'a"}, "'headersHelper': a quote is not closed"),
        ({"headersHelper": " "}, "'headersHelper': expected a command"),
        ({"headersHelper": "${NOT_SET}"}, "the environment variable 'NOT_SET' is not set"),
        ({"headers": {"A": "${file:}"}}, "a '${' that begins no variable"),
        ({"headers": {"A": "é${file:a}"}}, "'A': expected printable ASCII, in one line"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_line(tmp_path, more, told):
    """*Ours*."""
    with pytest.raises(InvalidConfig) as refused:
        config(tmp_path, {"url": "http://127.0.0.1/", **more})
    assert told in str(refused.value)


def test_a_dollar_keeps_the_text_of_a_file(tmp_path):
    """*Ours*: as with variables."""
    (made,) = config(tmp_path, {"url": "http://127.0.0.1/", "headers": {"A": "$${file:a}", "B": "b"}}).upstreams
    assert (dict(made.headers), made.header_templates) == ({"A": "${file:a}", "B": "b"}, {})
