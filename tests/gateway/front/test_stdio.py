"""`louver serve` over stdio: what was read is answered before it ends, whatever ends it and whatever the pipes are."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S
from gateway.gateways import LOUVER
from gateway.raw import HANDSHAKE, INFO, STATELESS, raw
from gateway.served import children, config, fixture, lives
from louver.gateway.front import stdio, stdio_streams
from louver.steps.request import ANONYMOUS
from louver.wire.jsonrpc import codec
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.jsonrpc.inbound import MAX_CLIENT_CONTAINERS, MAX_CLIENT_DEPTH

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


@pytest.fixture
def command(tmp_path):
    return [*LOUVER, *config(tmp_path, {"one": fixture("unruly")})]


ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def conversation(era, requests, capabilities=None):
    """The lines of a client that says all it has to say at once; the ids of the requests are 1, 2, 3, ..."""
    capabilities = capabilities or {}
    envelope = {
        "io.modelcontextprotocol/protocolVersion": era,
        "io.modelcontextprotocol/clientInfo": INFO,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    }
    opening = {"protocolVersion": era, "capabilities": capabilities, "clientInfo": INFO}
    said = [
        {"id": 0, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
    ]
    lines = [] if era == STATELESS else said
    for number, (method, params) in enumerate(requests, 1):
        meta = {"_meta": envelope} if era == STATELESS else {}
        lines.append({"id": number, "method": method, "params": {**params, **meta}})
    return "".join(f"{json.dumps({'jsonrpc': '2.0', **line})}\n" for line in lines)


def call(tool, **arguments):
    return "tools/call", {"name": tool, "arguments": arguments}


def answered(text):
    """The answers by their ids."""
    messages = [json.loads(line) for line in text.splitlines()]
    return {message["id"]: message for message in messages if "method" not in message and message["id"] != 0}


async def test_a_client_that_does_not_wait_for_the_answer_to_discover_may_open_by_initialize(tmp_path):
    """HOSTS.md: AI SDK waits a second for it, and a server behind the gateway may take longer to start."""
    script = fixture("records")["args"][0]
    slow = f"import time, runpy; time.sleep(2); runpy.run_path({script!r}, run_name='__main__')"
    options = config(tmp_path, {"one": {"command": sys.executable, "args": ["-c", slow]}})
    discover = {"id": 1, "method": "server/discover", "params": {"_meta": ENVELOPE}}
    opening = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
    said = [
        discover,
        {"method": "notifications/cancelled", "params": {"requestId": 1, "_meta": ENVELOPE}},
        {"id": 2, "method": "initialize", "params": opening},
        {"method": "notifications/initialized"},
        {"id": 3, "method": "tools/list", "params": {}},
    ]
    text = "".join(f"{json.dumps({'jsonrpc': '2.0', **line})}\n" for line in said)
    done = await asyncio.to_thread(
        subprocess.run, [*LOUVER, *options], input=text, capture_output=True, text=True, timeout=FAILSAFE_S
    )
    answers = answered(done.stdout)
    assert answers[2]["result"]["protocolVersion"] == HANDSHAKE
    assert {tool["name"] for tool in answers[3]["result"]["tools"]} >= {"find"}
    assert done.returncode == 0


async def test_a_client_that_has_asked_more_speaks_the_revision_that_it_has_begun_with(command):
    """2026-07-28: `initialize` is refused there."""
    opening = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": INFO}
    async with raw(command, STATELESS) as client:
        await client.result("tools/list")
        refused = await client.error("initialize", **opening)
        assert refused["code"] == -32022
        assert (await client.result("tools/list"))["tools"]


# Files


async def test_the_host_that_has_given_up_a_call_is_asked_in_its_next(command):
    """Ours: over standard input there is no other who could be meant."""
    async with raw(command, STATELESS, capabilities={"roots": {}}) as client:
        client.begin(client.call("silent"))
        await client.reaches("silent")
        await client.notify("notifications/cancelled", requestId=3)
        await client.call("wait_for", seen="notifications/cancelled")
        asked = (await client.call("ask"))["inputRequests"]
    assert [question["method"] for question in asked.values()] == ["roots/list"]


@every_era
def test_requests_of_a_file_are_answered_into_a_file(command, tmp_path, era):
    """Ours: `louver serve ... < requests.jsonl > answers.jsonl`; all that was read is answered."""
    asked = [("tools/list", {}), *(call("echo", number=number) for number in range(50)), call("work", seconds=1)]
    requests, answers = tmp_path / "requests.jsonl", tmp_path / "answers.jsonl"
    requests.write_text(conversation(era, asked))
    with requests.open() as source, answers.open("w") as sink:
        ended = subprocess.run(
            command, stdin=source, stdout=sink, stderr=subprocess.PIPE, text=True, timeout=FAILSAFE_S
        )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    found = answered(answers.read_text())
    assert sorted(found) == list(range(1, 53))
    for number in range(50):
        assert found[number + 2]["result"]["params"]["arguments"] == {"number": number}
    assert found[52]["result"]["content"][0]["text"] == "done"


def test_the_example_server_answers_a_file_too(tmp_path):
    """Ours: it is served by the same front."""
    requests = tmp_path / "requests.jsonl"
    requests.write_text(conversation(HANDSHAKE, [call("get_user_profile", user_id=42)]))
    with requests.open() as source:
        command = [*LOUVER, "--example"]
        ended = subprocess.run(command, stdin=source, capture_output=True, text=True, timeout=FAILSAFE_S)
    assert ended.returncode == 0
    assert answered(ended.stdout)[1]["result"]["structuredContent"]["id"] == 42


@every_era
def test_pipes_and_nothing_at_all_are_read_and_written_too(command, era):
    """Ours: `echo ... | louver serve ... > /dev/null`, and what has nothing to say."""
    said = conversation(era, [call("work", seconds=1)])
    options = {"text": True, "stderr": subprocess.PIPE, "timeout": 60}
    piped = subprocess.run(command, input=said, stdout=subprocess.PIPE, **options)
    assert answered(piped.stdout)[1]["result"]["content"][0]["text"] == "done"
    unheard = subprocess.run(command, input=said, stdout=subprocess.DEVNULL, **options)
    silent = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, **options)
    assert silent.stdout == ""
    for ended in (piped, unheard, silent):
        assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)


ASKED = [
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":%s}',
    '{"jsonrpc":"2.0","id":%s,"params":%s,"method":"tools/call"}',
    '{"jsonrpc":"2.0","method":"tools/call","id":%s,"params":%s}',
    '{"method":"tools/call","params":%s,"jsonrpc":"2.0","id":%s}',
]
"""A request as SDKs write it: in Python, in Go, in Java, in TypeScript."""


def asked(form, number, params):
    """The line of a request."""
    number, params = json.dumps(number), json.dumps(params)
    return form % ((params, number) if form.startswith('{"method"') else (number, params))


@contextmanager
def source(path, way):
    """A descriptor to read a file by."""
    with path.open("rb") as file, subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
        yield os.dup((file if way == "file" else cat.stdout).fileno())


@pytest.mark.parametrize("way", ["pipe", "file"])
def test_a_message_that_is_too_long_is_refused_and_the_next_is_served(command, tmp_path, way):
    """Ours: as over HTTP, where that is a status 413."""
    params = {"name": "echo", "arguments": {"text": "canary" * 2**20}}
    numbers = ["two", 3, 4, 5]
    lines = [asked(form, number, params) for form, number in zip(ASKED, numbers, strict=True)]
    lines.append(json.dumps({"jsonrpc": "2.0", "method": "notifications/x", "params": params}))
    requests = tmp_path / "requests.jsonl"
    last = asked(ASKED[0], 6, {"name": "echo"})
    requests.write_text("\n".join([conversation(HANDSHAKE, [call("echo")]), *lines, last]))
    with source(requests, way) as descriptor, os.fdopen(descriptor) as stdin:
        ended = subprocess.run(command, stdin=stdin, capture_output=True, text=True, timeout=FAILSAFE_S)
    found = answered(ended.stdout)
    error = {"code": -32600, "message": "a message has at most 4194304 bytes, this one has more"}
    assert {number: found.get(number, {}).get("error") for number in numbers} == dict.fromkeys(numbers, error)
    assert "result" in found[1]
    assert "result" in found[6]
    assert len(found) == 6
    assert ended.stderr.count(error["message"]) == 5
    assert "canary" not in ended.stderr
    assert ended.returncode == 0


@pytest.mark.parametrize(("text", "code"), [("canary" * 2**20, -32600), ("canary \ud83d", -32700)])
async def test_an_answer_that_cannot_be_read_is_one_all_the_same(command, text, code):
    """Ours: who asked gets an error, and does not wait for it for ever."""
    options = {"capabilities": {"roots": {}}, "answers": {"roots/list": {"roots": [], "more": text}}}
    async with raw(command, **options) as client:
        assert (await client.call("ask"))["answered"]["error"]["code"] == code
    assert "canary" not in "".join(client.said)


@pytest.mark.parametrize("way", ["pipe", "file"])
async def test_a_line_is_too_long_over_the_bound_and_not_before(monkeypatch, tmp_path, way):
    """Ours: without its end, whichever way it is read; of one that is too long little is kept."""
    monkeypatch.setattr(stdio_streams, "MAX_CLIENT_LINE", 10_000)
    lengths = [10_000, 10_001, 1, 20_000, 20_001, 50_000, 0, 10_000]
    requests = tmp_path / "requests"
    requests.write_bytes(b"\n".join(b"a" * length for length in lengths))
    with source(requests, way) as descriptor:
        async with stdio_streams.lines_from(descriptor) as line:
            lines = [await line() for _ in lengths]
            assert await line() == b""
    are_too_long = [isinstance(line, stdio_streams.OversizedLine) for line in lines]
    assert are_too_long == [length > 10_000 for length in lengths]
    for line, length, is_too_long in zip(lines, lengths, are_too_long, strict=True):
        assert len(line) < 5000 if is_too_long else len(line.rstrip(b"\n")) == length


async def test_a_line_that_never_ends_keeps_nothing_from_ending():
    """Ours: `louver serve ... < /dev/zero`."""
    async with stdio_streams.lines_from(os.open("/dev/zero", os.O_RDONLY)) as line:
        with anyio.move_on_after(A_WHILE_S) as waiting:
            await line()
    assert waiting.cancelled_caught


def nested(levels):
    return json.loads("[" * levels + "]" * levels)


HALF = {"name": "echo", "arguments": {"text": "canary \ud83d"}}
UNREAD = {
    1: (-32700, asked(ASKED[0], 1, HALF)),
    2: (-32700, asked(ASKED[3], 2, HALF)),
    3: (-32700, '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"canary"'),
    4: (-32600, '{"jsonrpc":"2.0","id":4,"method":"canary","params":["canary"]}'),
    5: (-32600, '{"jsonrpc":"2.0","id":5,"method":"canary","params":7}'),
    7: (-32600, asked(ASKED[0], 7, {"name": "echo", "arguments": {"canary": [[]] * (MAX_CLIENT_CONTAINERS + 1)}})),
    8: (-32600, asked(ASKED[0], 8, {"name": "echo", "arguments": {"canary": nested(MAX_CLIENT_DEPTH)}})),
}
"""Requests that cannot be read, and the error of each."""
UNKNOWN = [
    "canary",
    '["canary"]',
    '{"jsonrpc":"2.0","method":"canary","params":["canary"]}',
    '{"jsonrpc":"2.0","id":null,"method":["canary"]}',
    '{"jsonrpc":"2.0","id":1.5,"method":["canary"]}',
    '{"jsonrpc":"2.0","id":01,"method":"canary"}',
    '{"jsonrpc":"2.0","id":1,"result":["canary"]}',
    '{"method":"canary","params":{"id":1}',
]
"""Lines that do not tell whom to answer."""


def test_what_cannot_be_read_is_answered_and_told_of(command):
    """JSON-RPC: parse error, invalid request; ours: it is logged without what stands in it, and the next is served."""
    lines = [*(line for _, line in UNREAD.values()), *UNKNOWN, asked(ASKED[0], 6, {"name": "echo"})]
    said = "\n".join([conversation(HANDSHAKE, []), *lines])
    ended = subprocess.run(command, input=said, capture_output=True, text=True, timeout=FAILSAFE_S)
    found = answered(ended.stdout)
    assert "result" in found.pop(6)
    assert {number: answer["error"]["code"] for number, answer in found.items()} == {
        number: code for number, (code, _) in UNREAD.items()
    }
    assert "without half a surrogate pair" in found[1]["error"]["message"]
    assert ended.stderr.count("a message of the client is not read") == len(UNREAD) + len(UNKNOWN)
    assert "canary" not in ended.stdout + ended.stderr
    assert ended.returncode == 0


def test_what_is_not_utf_8_is_replaced(command):
    """Ours: as the SDK reads it."""
    line = asked(ASKED[0], 1, {"name": "echo", "arguments": {"text": "?"}}).encode().replace(b"?", b"\xff")
    ended = subprocess.run(
        command, input=conversation(HANDSHAKE, []).encode() + line, capture_output=True, timeout=FAILSAFE_S
    )
    assert answered(ended.stdout)[1]["result"]["params"]["arguments"] == {"text": "\ufffd"}


def test_a_disk_that_is_full_is_an_end(tmp_path):
    """Ours: nobody reads what cannot be written, so that nothing is waited for."""
    command = [*LOUVER, *config(tmp_path, {"one": fixture("unruly", timeoutSeconds=600)})]
    requests = tmp_path / "requests.jsonl"
    requests.write_text(conversation(STATELESS, [call("silent"), call("echo")]))
    with requests.open() as source, Path("/dev/full").open("w") as sink:
        ended = subprocess.run(
            command, stdin=source, stdout=sink, stderr=subprocess.PIPE, text=True, timeout=FAILSAFE_S
        )
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)


def test_a_question_after_the_end_is_refused(command):
    """Ours: nobody is there who could answer it, and the call need not wait for that."""
    said = conversation(HANDSHAKE, [call("ask")], {"roots": {}})
    ended = subprocess.run(command, input=said, capture_output=True, text=True, timeout=FAILSAFE_S)
    assert ended.returncode == 0
    assert answered(ended.stdout)[1]["result"]["answered"]["error"]["code"] == -32000


def test_a_stream_of_changes_and_a_cancelled_call_are_not_waited_for(command):
    """MCP: the one ends when the server says so, the other gets no answer."""
    said = conversation(
        STATELESS, [("subscriptions/listen", {"notifications": {"toolsListChanged": True}}), call("silent")]
    )
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}}
    ended = subprocess.run(
        command, input=f"{said}{json.dumps(cancelled)}\n", capture_output=True, text=True, timeout=FAILSAFE_S
    )
    found = answered(ended.stdout)
    assert (ended.returncode, list(found)) == (0, [1])
    assert "result" in found[1]


CANCELLED = {"jsonrpc": "2.0", "method": "notifications/cancelled"}


@pytest.mark.parametrize("numbers", [(1, "1"), (7, 7)])
def test_requests_of_one_id_are_answered_each(command, numbers):
    """Ours: to the SDK a number and its text are one when they are cancelled, but both are answered."""
    quick, slow = numbers
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": quick, "method": "ping"}),
        asked(ASKED[0], slow, {"name": "work", "arguments": {"seconds": 1.5}}),
    ]
    said = "\n".join([conversation(HANDSHAKE, []), *lines])
    ended = subprocess.run(command, input=said, capture_output=True, text=True, timeout=FAILSAFE_S)
    answers = [json.loads(line) for line in ended.stdout.splitlines()][1:]
    assert [answer["id"] for answer in answers] == [quick, slow]
    assert answers[0]["result"] == {}
    assert answers[1]["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize(
    ("numbers", "of", "left"),
    [
        (["None"], {}, ["None"]),
        ([1], {"requestId": "1"}, []),
        ([1, "1"], {"requestId": 1}, ["1"]),
        ([7, 7], {"requestId": 7}, [7]),
    ],
)
def test_what_is_cancelled_is_the_last_request_of_that_id(command, numbers, of, left):
    """Ours: a text that came back for a number is that number, unless it is the id of another."""
    calls = [asked(ASKED[0], number, {"name": "work", "arguments": {"seconds": 1.5}}) for number in numbers]
    lines = [*calls, json.dumps({**CANCELLED, "params": of})]
    said = "\n".join([conversation(HANDSHAKE, []), *lines])
    ended = subprocess.run(command, input=said, capture_output=True, text=True, timeout=FAILSAFE_S)
    answers = [json.loads(line) for line in ended.stdout.splitlines()][1:]
    assert [answer["id"] for answer in answers] == left
    for answer in answers:
        assert answer["result"]["content"][0]["text"] == "done"


# Signals


@every_era
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_calls_come_to_their_end(command, era, number):
    """Ours: as over HTTP."""
    async with raw(command, era) as client:
        working = client.begin(client.call("work", {"progressToken": 1}, seconds=1.5))
        await client.hears("notifications/progress")
        (child,) = children(client.process.pid)
        client.process.send_signal(number)
        assert (await working)["content"][0]["text"] == "done"
        assert await client.ends() == 0
        assert not lives(child)
        assert "Traceback" not in "".join(client.said)


async def test_nothing_is_read_after_a_signal(tmp_path):
    """Ours: neither a request nor an answer, so that whoever asks is refused, which tells when it is so."""

    async def never(question):
        await asyncio.get_running_loop().create_future()

    servers = {"one": fixture("unruly"), "two": fixture("unruly")}
    options = {"capabilities": {"roots": {}}, "answers": {"roots/list": never}}
    async with raw([*LOUVER, *config(tmp_path, servers)], **options) as client:
        asking = client.begin(client.call("two__ask"))
        working = client.begin(client.call("one__work", {"progressToken": 1}, seconds=1.5))
        await client.hears("notifications/progress")
        client.process.send_signal(signal.SIGTERM)
        assert (await asking)["answered"]["error"]["code"] == -32000
        unread = client.begin(client.result("ping"))
        assert (await working)["content"][0]["text"] == "done"
        assert await client.ends() == 0
        with pytest.raises(EOFError):
            await unread


async def test_what_is_behind_ends_while_streams_end_and_the_client_leaves(monkeypatch):
    """Ours: one after the other would take longer than 10 s."""
    monkeypatch.setattr(stdio, "UPSTREAM_GOODBYE_SECONDS", FAILSAFE_S)
    ended = asyncio.Event()
    lines = conversation(STATELESS, [("subscriptions/listen", {"notifications": {}})]).encode().splitlines()

    async def listen(_request):
        await ended.wait()
        raise JsonRpcError(code=0, message="over")

    async def read_line():
        return lines.pop(0) if lines else b""

    async def write_line(_):
        pass

    async def close_upstreams():
        ended.set()

    async with asyncio.timeout(FAILSAFE_S):
        server = stdio._StdioServer(listen, tuple, ANONYMOUS, read_line, write_line)
        await server.serve(lambda: None, close_upstreams)


async def test_what_an_upstream_writes_on_several_lines_is_one_line():
    """MCP, stdio: a line break ends a message; else an upstream could write messages of its own."""
    lines = conversation(STATELESS, [("tools/call", {"name": "t"})]).encode().splitlines()
    # An id that cannot be written is that of nobody.
    lines.append(asked(ASKED[0], "\ud800", {}).encode())
    written = []

    async def answer(request):
        came = b'{"jsonrpc":"2.0","id":9,"result":{"content":[],\r\n"_meta":\n{"id":77}\n}}'
        request.record.received = result = codec.read(came).result()
        return result

    async def read_line():
        return lines.pop(0) if lines else b""

    async def write_line(line):
        written.append(line)

    async def nothing():
        pass

    async with asyncio.timeout(FAILSAFE_S):
        await stdio._StdioServer(answer, tuple, ANONYMOUS, read_line, write_line).serve(lambda: None, nothing)
    assert written
    assert not any(b"\n" in line or b"\r" in line for line in written)


async def test_at_the_end_each_request_has_one_answer(monkeypatch):
    """JSON-RPC: also the one whose answer the client does not read, and the one that has none yet."""
    monkeypatch.setattr(stdio, "DRAIN_S", 0.0)
    monkeypatch.setattr(stdio, "UPSTREAM_GOODBYE_SECONDS", 0.0)
    lines = conversation(STATELESS, [call("quick"), call("never")]).encode().splitlines()
    never = asyncio.get_running_loop().create_future()
    written = []

    async def answer(request):
        return {"content": []} if request.params["name"] == "quick" else await never

    async def read_line():
        return lines.pop(0) if lines else b""

    async def write_line(line):
        written.append(line.decode())
        if len(written) == 1:
            server.end()
            await never

    async def close_upstreams():
        # From now on nothing expires: open requests are refused.
        monkeypatch.setattr(stdio, "UPSTREAM_GOODBYE_SECONDS", FAILSAFE_S)

    async with asyncio.timeout(FAILSAFE_S):
        server = stdio._StdioServer(answer, tuple, ANONYMOUS, read_line, write_line)
        await server.serve(lambda: None, close_upstreams)
    assert len(written) == 2
    answers = answered("\n".join(written))
    assert answers[1]["result"] == {"content": []}
    assert answers[2]["error"]["code"] == -32000


@every_era
@pytest.mark.parametrize("is_stopped", [False, True], ids=["", "stopped"])
async def test_a_call_that_does_not_end_is_cut_off(command, era, is_stopped):
    """Ours: whatever a call or its server does, and it is told so."""
    async with raw(command, era) as client:
        if era == HANDSHAKE:
            # What the server is still to be told when the client leaves.
            await client.result("resources/subscribe", uri="test://a")
        silent = client.begin(client.call("silent"))
        await client.reaches("silent")
        (child,) = children(client.process.pid)
        if is_stopped:
            os.kill(child, signal.SIGSTOP)
        client.process.send_signal(signal.SIGTERM)
        assert (await silent)["_meta"]["dev.louver/error"]["code"] == "UPSTREAM_UNAVAILABLE"
        assert await client.ends() == 0
        assert not lives(child)
        assert "Traceback" not in "".join(client.said)
