"""`louver serve` as a process: health, a clean end, and that clients who share an upstream share nothing else."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from contextlib import AsyncExitStack, contextmanager, suppress

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S, OF_FORKS, until
from gateway.gateways import LOUVER, LOUVER_ITSELF
from gateway.raw import HANDSHAKE, STATELESS, Http, raw
from gateway.served import at, at_a_url, children, config, fixture, lives, serving
from louver.gateway.back.transports.process import UPSTREAM_EXIT_SECONDS
from louver.gateway.front.event_store import MAX_EVENT_BYTES
from louver.gateway.front.http import OpenRequests, bind_socket, serve
from louver.limits import DRAIN_S, MAX_URI_BYTES, MAX_WATCHED

pytestmark = pytest.mark.anyio

NOWHERE = "http://127.0.0.1:1/mcp"
SHAPED = {"outputSchema": {"type": "object"}}
FILES = 200
FEW_FILES = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({FILES}, {FILES}))
os.execv(sys.argv[1], sys.argv[1:])
"""

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


@pytest.fixture
def folder(tmp_path):
    return tmp_path


async def session_of(http, url):
    """The headers of a new session of 2025-11-25."""
    info = {"name": "tests", "version": "1"}
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": info}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": HANDSHAKE}
    opening = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
    opened = await http.post(url, json=opening, headers=headers)
    headers["mcp-session-id"] = opened.headers["mcp-session-id"]
    await http.post(url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    return headers


def calling(headers, tool):
    """A call of the id 7."""
    params = {"name": tool, "arguments": {}}
    return {"json": {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}, "headers": headers}


def events_of(text):
    """The whole events of a stream, each by its fields."""
    whole = text.replace("\r\n", "\n").split("\n\n")[:-1]
    return [{name: value for name, _, value in (line.partition(": ") for line in each.splitlines())} for each in whole]


async def gone(ends):
    """Those that have come to their end."""
    done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    return done


def unruly(folder, **louver):
    return config(folder, {"bad": fixture("unruly", **louver)})


@contextmanager
def serving_itself(folder, **louver):
    """A gateway before an unruly server."""
    with serving(*unruly(folder, **louver)) as served:
        yield served


# What is told at the start


def cells(lines):
    """The rows of a table in plain lines, the heading first: each cell is where its heading is."""
    starts = [each.start() for each in re.finditer(r"\S+", lines[0])]
    return [[line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)] for line in lines]


def test_what_stands_behind_is_told_cell_by_cell(folder):
    """GATEWAY.md, Start: of each server what it is, and of one that is not there why."""
    tools = [
        {"name": name, "inputSchema": {"type": "object"}, **more}
        for name, more in {"plain": {}, "one": SHAPED, "other": SHAPED}.items()
    ]
    servers = {"works": fixture("saying", json.dumps({"tools/list": {"tools": tools}})), "dead": at(NOWHERE)}
    with serving(*config(folder, servers)) as served:
        served.says("^dead ")
        start = next(number for number, line in enumerate(served.said) if line.startswith("server "))
        assert cells(served.said[start : start + 3]) == [
            ["server", "transport", "protocol", "tools", "projectable", "state"],
            ["works", "stdio", "2025-11-25", "3", "2", "ready"],
            ["dead", "http", "", "", "", "the upstream cannot be reached: connection refused"],
        ]


def test_to_a_program_all_is_told_as_json(folder):
    """Ours: a line that is none breaks what reads logs."""
    with serving(*config(folder, {"works": fixture("unruly"), "dead": at(NOWHERE)}), "--log", "json") as served:
        served.says("server 'dead': transport http, state the upstream cannot be reached: connection refused")
        served.says("server 'works': transport stdio, protocol 2025-11-25, tools [0-9]+, projectable 0, state ready")
    assert all(json.loads(line)["message"] for line in served.said)


# The way in


async def test_more_clients_than_there_are_files_for_are_sent_away(folder):
    """Ours: half of the files that the process may open are for clients; those who are there are served meanwhile."""
    few = (sys.executable, "-c", FEW_FILES, *LOUVER_ITSELF)
    with serving(*unruly(folder), command=few) as served:
        async with raw(served.url) as client, AsyncExitStack() as silent:
            working = client.begin(client.call("work", {"progressToken": 1}, seconds=3))
            await client.hears("notifications/progress")
            url = httpx2.URL(served.url)
            streams = [await asyncio.open_connection(url.host, url.port) for _ in range(FILES)]
            for _, writer in streams:
                silent.callback(writer.close)
            ends = [asyncio.create_task(reader.read()) for reader, _ in streams]
            served.says(r"a client is sent away: \d+ are connected")
            async with asyncio.timeout(FAILSAFE_S):
                while len(await gone(ends)) < FILES // 2:
                    pass
            assert (await working)["content"][0]["text"] == "done"
            for end in ends:
                end.cancel()
        # Those who were let in have gone, so others can come.
        async with asyncio.timeout(FAILSAFE_S):
            while True:
                with suppress(httpx2.TransportError):
                    async with raw(served.url) as client:
                        assert (await client.request("ping"))["result"] == {}
                        break
        assert served.find("out of system resource") is None


async def test_a_client_takes_up_its_own_stream_and_no_other(folder):
    """2025-11-25, "Resumability and Redelivery": clients that number their requests alike are told apart."""
    with serving(*config(folder, {"all": fixture("everything")})) as served:
        async with httpx2.AsyncClient(trust_env=False) as http:
            mine, other = [await session_of(http, served.url) for _ in range(2)]
            first, *_ = events_of((await http.post(served.url, **calling(mine, "test_tool_with_logging"))).text)
            await http.post(served.url, **calling(other, "test_logging_tool"))
            resumed = {"headers": {**mine, "last-event-id": first["id"]}}
            async with http.stream("GET", served.url, **resumed) as again:
                said = ""
                async for text in again.aiter_text():
                    said += text
                    # After what came, an event without data tells that the stream is open again.
                    if events_of(said)[-1:] and events_of(said)[-1]["data"] == "":
                        break
            assert "Tool execution" in said
            assert "Logged to whom" not in said
            # Events are counted by session: one of that number is the other's own.
            own = await http.get(served.url, headers={**other, "last-event-id": first["id"]})
            assert "Tool execution" not in own.text
            assert "Logged to whom" in own.text
            none = await http.get(served.url, headers={**other, "last-event-id": "999"})
            assert (none.status_code, none.headers["content-type"]) == (400, "application/json")


async def test_a_stream_can_be_taken_up_whatever_others_are_answered(folder):
    """2025-11-25, "Resumability and Redelivery": what is large for another takes nothing."""
    with serving(*unruly(folder)) as served:
        async with raw(served.url) as mine, raw(served.url) as other:
            params = {"name": "hold", "arguments": {}, "_meta": {"progressToken": "p"}}
            call = {"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}
            async with mine.client.stream("POST", served.url, json=call, headers=mine.headers()) as broken:
                last = await anext(line async for line in broken.aiter_lines() if line.startswith("id:"))
            await mine.reaches("hold")
            await other.call("large", size=MAX_EVENT_BYTES)
            await mine.call("release")
            await other.call("large", size=MAX_EVENT_BYTES)
            headers = {**mine.headers(), "last-event-id": last.removeprefix("id:").strip()}
            async with asyncio.timeout(FAILSAFE_S), mine.client.stream("GET", served.url, headers=headers) as again:
                answer, _ = await mine._answer(again, 77)
            assert answer is not None
            assert "result" in answer


# The end


async def test_health_and_readiness_are_told(folder, monkeypatch):
    """Ours: `GET /healthz` and `/readyz`; while it ends it lives, and is not ready."""
    monkeypatch.setenv(OF_FORKS.format("DRAIN_S"), str(FAILSAFE_S))
    with serving_itself(folder) as served:
        at = served.url.removesuffix("/mcp")
        async with raw(served.url) as client, httpx2.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"{at}/healthz")).status_code == 200
            assert (await http.get(f"{at}/readyz")).status_code == 200
            working = client.begin(client.call("work", {"progressToken": 1}, seconds=1))
            await client.hears("notifications/progress")
            served.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(FAILSAFE_S):
                # This connection was there before, so it is still served.
                while (await http.get(f"{at}/readyz")).status_code == 200:
                    pass
            assert (await http.get(f"{at}/healthz")).status_code == 200
            assert (await working)["content"][0]["text"] == "done"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_calls_come_to_their_end(folder, number, monkeypatch):
    """Ours: SIGTERM drains; streams end, the exit status is 0, and no child is left."""
    monkeypatch.setenv(OF_FORKS.format("DRAIN_S"), str(FAILSAFE_S))
    with serving_itself(folder) as served:
        async with raw(served.url) as client, raw(served.url, STATELESS) as modern:
            listening = modern.begin(modern.request("subscriptions/listen", notifications={"toolsListChanged": True}))
            await modern.hears("notifications/subscriptions/acknowledged")
            both = (client, modern)
            working = [each.begin(each.call("work", {"progressToken": 1}, seconds=1.5)) for each in both]
            for each in both:
                await each.hears("notifications/progress")
            started = children(served.pid)
            assert len(started) == 2
            served.process.send_signal(number)
            results = await asyncio.gather(*working)
            assert [result["content"][0]["text"] for result in results] == ["done", "done"]
            async with asyncio.timeout(FAILSAFE_S):
                await listening
            status = await asyncio.to_thread(served.ends)
        assert status == 0
        assert not any(map(lives, started))
        assert not served.find("Traceback"), "".join(served.said)


async def test_a_call_that_does_not_end_is_cut_off(folder):
    """Ours: whatever a call does."""
    with serving_itself(folder) as served:
        async with raw(served.url, STATELESS) as client:
            client.begin(client.call("silent"))
            await client.reaches("silent")
            (child,) = children(served.pid)
            served.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(served.ends) == 0
        assert not lives(child)
        assert not served.find("Traceback"), "".join(served.said)


@pytest.mark.parametrize("is_stopped", [False, True], ids=["busy", "stopped"])
async def test_servers_that_do_not_end_by_themselves_end_with_the_gateway(folder, is_stopped):
    """Ours: also where each client has a server of its own."""
    with serving_itself(folder) as served:
        async with raw(served.url) as client, raw(served.url) as other:
            await other.result("logging/setLevel", level="error")
            client.begin(client.call("work", {"progressToken": 1}, seconds=600))
            await client.hears("notifications/progress")
            started = children(served.pid)
            for child in started if is_stopped else ():
                os.kill(child, signal.SIGSTOP)
            served.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(served.ends) == 0
        assert not any(map(lives, started))
        assert not served.find("Traceback"), "".join(served.said)


def test_what_is_waited_for_one_after_the_other_is_less_than_10_s():
    """Ours: calls, then servers that are asked twice to end; a second is left for all else."""
    assert DRAIN_S + 2 * UPSTREAM_EXIT_SECONDS <= 9


async def test_what_is_behind_ends_while_clients_leave():
    """Ours: one after the other would take longer than 10 s."""
    ended = asyncio.Event()

    async def app(scope, receive, send):
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await ended.wait()
        await send({"type": "lifespan.shutdown.complete"})

    async def end_behind():
        ended.set()

    with bind_socket("127.0.0.1", 0) as listening:
        async with asyncio.timeout(FAILSAFE_S):
            await serve(app, listening, ready=lambda end: end(), end_streams=lambda: None, close_upstreams=end_behind)


async def test_what_is_not_answered_by_the_end_or_comes_later_is_told_so():
    """Ours: status 503; connections stay open for a moment after the last call."""
    begun = asyncio.Event()

    async def app(scope, receive, send):
        begun.set()
        await asyncio.Event().wait()

    doors = OpenRequests(app, lambda: False)

    async def answer():
        said = []

        async def send(message):
            said.append(message)

        async with asyncio.timeout(FAILSAFE_S):
            await doors({"type": "http", "method": "POST", "path": "/mcp", "headers": []}, None, send)
        return [message.get("status", message.get("body")) for message in said]

    unanswered = asyncio.create_task(answer())
    await begun.wait()
    await doors.drain(0, lambda: None)
    assert await unanswered == [503, b"ending"]
    assert await answer() == [503, b"ending"]


@pytest.mark.parametrize(
    ("method", "headers"), [("GET", []), ("POST", [(b"mcp-method", b"subscriptions/listen"), (b"accept", b"*/*")])]
)
async def test_streams_are_not_waited_for(method, headers):
    """Ours: they go on for as long as the process does."""
    begun = asyncio.Event()

    async def app(scope, receive, send):
        begun.set()
        await asyncio.Event().wait()

    async def send(message):
        pass

    doors = OpenRequests(app, lambda: False)
    stream = asyncio.create_task(
        doors({"type": "http", "method": method, "path": "/mcp", "headers": headers}, None, send)
    )
    await begun.wait()
    async with asyncio.timeout(FAILSAFE_S):
        await doors.drain(FAILSAFE_S, lambda: None)
        await stream


@every_era
@pytest.mark.parametrize("end", ["SIGTERM", "EOF"])
async def test_the_end_over_stdio_leaves_nothing_behind(folder, era, end):
    """MCP, stdio: the client closes standard input, else sends SIGTERM."""
    async with raw([*LOUVER, *unruly(folder)], era) as client:
        await client.call("wait_for", seen="tools/call")
        (child,) = children(client.process.pid)
        if end == "EOF":
            client.process.stdin.close()
        else:
            client.process.send_signal(signal.SIGTERM)
        assert await client.ends() == 0
        assert not lives(child)
        assert "Traceback" not in "".join(client.said)


async def test_a_client_that_hears_no_more_is_an_end_too(folder):
    """Ours: whoever reads nothing any more is gone, also if its end of the other pipe is open."""
    async with raw([*LOUVER, *unruly(folder)]) as client:
        await client.call("echo")
        (child,) = children(client.process.pid)
        client.process._transport.get_pipe_transport(1).close()
        await client.line(b'{"jsonrpc":"2.0","id":99,"method":"ping"}')
        assert await client.ends() == 0
        assert not lives(child)
        assert "Traceback" not in "".join(client.said)


@every_era
async def test_garbage_of_a_client_harms_nothing(folder, era):
    """PRIVACY.md, hostile inputs: what is no message is passed over or refused, the next one is served."""
    async with raw([*LOUVER, *unruly(folder)], era) as client:
        for line in (b"garbage", b"", b"[]", b"17", b'{"jsonrpc":"2.0"}', b"\xff\xfe", b'{"a":' * 900, b'{"id":1}'):
            await client.line(line)
        await client.line(b'{"jsonrpc":"2.0","id":5,"result":{"whose":"nobody"}}')
        assert (await client.call("echo"))["params"]["name"] == "echo"
        assert "Traceback" not in "".join(client.said)


# Who shares what


async def test_each_client_of_the_handshake_era_has_its_own_process(folder):
    """GATEWAY.md: `isolation: session`, made on first use, closed with it."""
    with serving_itself(folder) as served:
        served.says("ready")
        (shared,) = children(served.pid)
        async with raw(served.url) as first, raw(served.url) as second, raw(served.url, STATELESS) as modern:
            for client in (first, second, modern):
                await client.call("echo")
            assert len(children(served.pid)) == 3
            seen = (await first.call("wait_for", seen="tools/call"))["seen"]
            assert len(seen) == 2
            await first.end()
            await until(lambda: len(children(served.pid)) == 2)
            await second.call("echo")
            await second.end()
            await until(lambda: list(children(served.pid)) == [shared])
            await modern.call("echo")


async def test_clients_that_share_a_process_share_no_progress(folder):
    """GATEWAY.md: `shared`; two clients may use the same progress token."""
    with serving_itself(folder, isolation="shared") as served:
        async with raw(served.url) as first, raw(served.url) as second, raw(served.url, STATELESS) as modern:
            clients = (first, second, modern)
            holding = [client.begin(client.call("hold", {"progressToken": "p"})) for client in clients]
            async with asyncio.timeout(FAILSAFE_S):
                seen = 0
                while seen < 3:
                    said = (await first.call("wait_for", seen="tools/call"))["seen"]
                    seen = sum(call["params"]["name"] == "hold" for call in said)
            assert len(children(served.pid)) == 1
            await modern.call("release")
            for client, held in zip(clients, holding, strict=True):
                number = (await held)["number"]
                (note,) = client.heard("notifications/progress")
                assert note == {"progressToken": "p", "progress": number}


async def test_a_question_goes_to_nobody_but_whom_it_is_for(folder):
    """GATEWAY.md: to the client whose call caused it, never to another; where that cannot be told, to none."""
    roots = {"roots/list": {"roots": []}}
    able = {"capabilities": {"roots": {}}, "answers": roots}
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url, **able) as first, raw(served.url, **able) as second:
            answered = (await first.call("ask"))["answered"]
            assert answered["result"] == {"roots": []}
            assert (len(first.questions), second.questions) == (1, [])
            holding = second.begin(second.call("hold", {"progressToken": 1}))
            await first.reaches("hold")
            refused = (await first.call("ask"))["answered"]
            assert "error" in refused
            assert (len(first.questions), second.questions) == (1, [])
            await first.call("release")
            await holding
        # Servers ask for roots when they start: that is no news.
        assert "its question" not in "".join(served.said)


@pytest.mark.parametrize("how", ["cancels", "leaves", "waits for too long", "goes"])
async def test_a_call_that_was_given_up_may_be_why_something_is_asked(folder, how):
    """GATEWAY.md: as above; ours: until it is answered after all, since the server may be at it still."""
    able = {"capabilities": {"roots": {}}, "answers": {"roots/list": {"roots": []}}}
    timeout = {"timeoutSeconds": 1} if how == "waits for too long" else {}
    era = STATELESS if how == "goes" else HANDSHAKE
    with serving(*unruly(folder, isolation="shared", **timeout)) as served:
        async with raw(served.url, era, **able) as first, raw(served.url, **able) as second:
            silent = first.begin(first.call("silent"))
            await second.reaches("silent")
            if how == "cancels":
                await first.notify("notifications/cancelled", requestId=2)
            elif how == "leaves":
                await first.end()
            elif how == "goes":
                silent.cancel()
            else:
                await silent
            await second.call("wait_for", seen="notifications/cancelled")
            assert "error" in (await second.call("ask"))["answered"]
            assert (first.questions, second.questions) == ([], [])
            await second.call("late")
            assert (await second.call("ask"))["answered"]["result"] == {"roots": []}
            assert (first.questions, len(second.questions)) == ([], 1)


async def test_what_is_said_because_of_a_call_that_was_given_up_comes_to_no_other(folder):
    """GATEWAY.md: as above; ours: neither a log message nor a question, though a late answer is read with them."""
    able = {"capabilities": {"roots": {}}}
    with serving(*unruly(folder)) as served:
        async with raw(served.url, STATELESS, **able) as first, raw(served.url, STATELESS, **able) as second:
            silent = first.begin(first.call("silent"))
            await second.reaches("silent")
            silent.cancel()
            await second.call("wait_for", seen="notifications/cancelled")
            level = {"io.modelcontextprotocol/logLevel": "debug"}
            assert "error" in (await second.call("say_and_answer_late", level))["answered"]
            assert second.heard("notifications/message") == []
            await second.call("log", level, levels=["info"])
            assert len(second.heard("notifications/message")) == 1


async def test_what_is_said_before_a_question_is_told_before_it(folder):
    """Ours: as the upstream has said it."""

    async def roots(question):
        before.append(len(client.heard("notifications/message")))
        return {"roots": []}

    before = []
    with serving(*unruly(folder)) as served:
        async with raw(served.url, capabilities={"roots": {}}, answers={"roots/list": roots}) as client:
            await client.call("log_and_ask", times=50)
    assert before == [50]


@pytest.mark.parametrize("only", [HANDSHAKE, STATELESS])
async def test_questions_of_calls_at_once_are_answered_each_by_its_own_client(folder, only):
    """GATEWAY.md: to the client whose call caused it, in all combinations of eras; all are asked before one answers."""
    asked = asyncio.Barrier(4)

    def answer(name):
        return {"action": "accept", "content": {"username": name, "email": f"{name}@example.org"}}

    async def ask(name, era):
        async def elicit(question):
            await asked.wait()
            return answer(name)

        options = {"capabilities": {"elicitation": {}}, "answers": {"elicitation/create": elicit}}
        async with raw(served.url, era, **options) as client:
            call = {"name": "test_elicitation", "arguments": {"message": f"for {name}"}}
            result = await client.result("tools/call", **call)
            questions = [question["params"] for question in client.questions]
            if era == STATELESS:
                ((key, question),) = result["inputRequests"].items()
                questions.append(question["params"])
                await asked.wait()
                state = {"requestState": result["requestState"]} if "requestState" in result else {}
                result = await client.result("tools/call", **call, **state, inputResponses={key: answer(name)})
            assert [question["message"] for question in questions] == [f"for {name}"]
            content = json.dumps(answer(name)["content"])
            assert result["content"][0]["text"] == f"User response: action=accept, content={content}"

    clients = {"ada": HANDSHAKE, "bob": HANDSHAKE, "cyd": STATELESS, "dan": STATELESS}
    with (
        at_a_url("everything", "--http", "0", "--only", only) as url,
        serving(*config(folder, {"one": at(url, isolation="shared")})) as served,
    ):
        async with asyncio.timeout(FAILSAFE_S):
            await asyncio.gather(*(ask(name, era) for name, era in clients.items()))


async def test_clients_that_share_a_session_do_not_share_an_old_revision(folder):
    """Ours: it is opened in the latest that has sessions, whoever comes first; each client is told its own."""
    with (
        at_a_url("unruly", "--http") as url,
        serving(*config(folder, {"one": at(url, isolation="shared")})) as served,
    ):
        async with raw(served.url, "2024-11-05") as first, raw(served.url) as second:
            assert [each.opening["protocolVersion"] for each in (first, second)] == ["2024-11-05", HANDSHAKE]
            opened = (await second.call("wait_for", seen="initialize"))["seen"]
            assert {each["message"]["params"]["protocolVersion"] for each in opened} == {HANDSHAKE}


async def test_clients_that_share_an_upstream_share_its_log_level(folder):
    """Ours: the upstream gets the level that lets through what anybody has asked for, each client hears its own."""

    async def sets(client, level):
        assert await client.result("logging/setLevel", level=level) == {}
        said = (await client.call("wait_for", seen="logging/setLevel"))["seen"]
        return [call["params"]["level"] for call in said]

    async def hears(client):
        client.notes.clear()
        await client.call("log", levels=["debug", "info", "warning", "error"])
        return [note["level"] for note in client.heard("notifications/message")]

    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url) as first, raw(served.url) as second:
            # The second has asked for no level yet.
            assert await sets(first, "error") == ["info"]
            assert await sets(second, "debug") == ["info", "debug"]
            assert await sets(second, "info") == ["info", "debug", "info"]
            assert await sets(first, "warning") == ["info", "debug", "info", "info"]
            assert await hears(first) == ["warning", "error"]
            assert await hears(second) == ["info", "warning", "error"]
            # Whoever has gone counts no more, and a process that takes the place of another is told.
            await second.end()
            said = []
            async with asyncio.timeout(FAILSAFE_S):
                while len(said) < 5:
                    said = (await first.call("wait_for", seen="logging/setLevel"))["seen"]
            assert said[-1]["params"]["level"] == "warning"
            await first.call("die")
            said = (await first.call("wait_for", seen="logging/setLevel"))["seen"]
            assert [call["params"]["level"] for call in said] == ["warning"]


async def levels_told(client, number):
    """The log levels that a server of `unruly.py` has been told, once there are so many."""
    said = []
    async with asyncio.timeout(FAILSAFE_S):
        while len(said) < number:
            said = (await client.call("wait_for", seen="logging/setLevel"))["seen"]
    return [call["params"]["level"] for call in said]


async def test_who_asks_for_no_level_hears_what_the_server_says_by_default(folder):
    """Ours: a level that another asks for takes nothing away, neither from who is there nor from who comes later."""
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url) as first:
            assert await first.result("logging/setLevel", level="error") == {}
            assert await levels_told(first, 1) == ["error"]
            async with raw(served.url) as second:
                assert await levels_told(second, 2) == ["error", "info"]
                assert await first.result("logging/setLevel", level="critical") == {}
                assert (await levels_told(second, 3))[2:] == ["info"]
                assert await first.result("logging/setLevel", level="debug") == {}
                assert (await levels_told(second, 4))[3:] == ["debug"]
                await first.end()
                assert (await levels_told(second, 5))[4:] == ["info"]


async def test_who_asks_for_no_level_does_not_hear_what_others_ask_for(folder):
    """Ours: from `info` on, in its own calls and beside them; all that there is, while nobody asks for a level."""
    levels, said = ["debug", "info", "error"], "notifications/message"
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url) as first, raw(served.url) as second:
            await second.call("log", levels=levels)
            assert [note["level"] for note in second.heard(said)] == levels
            assert await first.result("logging/setLevel", level="debug") == {}
            second.notes.clear()
            await second.call("log", levels=levels)
            assert [note["level"] for note in second.heard(said)] == ["info", "error"]
            # With calls of both it cannot be told whose it is: all hear it.
            held = second.begin(second.call("hold", {"progressToken": 1}))
            await second.reaches("hold")
            second.notes.clear()
            await first.call("log", levels=levels)
            assert [note["level"] for note in await first.hears(said, 3)] == levels
            assert [note["level"] for note in await second.hears(said, 2)] == ["info", "error"]
            await first.call("release")
            await held


async def test_when_nobody_asks_for_a_level_any_more_the_server_says_what_it_does_by_default(folder):
    """Ours: whoever has gone counts no more, also for who comes when nobody was there. One that nobody has asked for
    a level is told none."""
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url) as alone:
            await alone.end()
        async with raw(served.url) as first:
            assert await first.result("logging/setLevel", level="error") == {}
            await first.end()
        async with raw(served.url) as later:
            assert await levels_told(later, 2) == ["error", "info"]


async def test_who_listens_is_not_told_what_changes_in_the_process_of_another(folder):
    """GATEWAY.md, `isolation: session`: what a client's own server tells is that client's."""
    changed, updated = "notifications/tools/list_changed", "notifications/resources/updated"
    with serving(*unruly(folder)) as served:
        async with raw(served.url) as other, raw(served.url, STATELESS) as client:
            filters = {"toolsListChanged": True, "resourceSubscriptions": ["test://a"]}
            client.begin(client.request("subscriptions/listen", notifications=filters))
            await client.hears("notifications/subscriptions/acknowledged")
            for each in (other, client):
                await each.call("touch", uri="test://a")
                await each.call("storm", times=1)
                await each.hears(changed)
            await client.hears(updated)
            assert [len(client.heard(method)) for method in (changed, updated)] == [1, 1]


class Deaf(Http):
    """A client that opens its stream, and reads it only when it is let."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.is_open, self.reads = asyncio.Event(), asyncio.Event()

    async def _hear(self):
        async with self.client.stream("GET", self.url, headers=self.headers()) as response:
            self.is_open.set()
            await self.reads.wait()
            await self._answer(response, None)


async def test_a_client_that_does_not_read_holds_up_nobody_else(folder):
    """Ours: what waits for it is bounded; a change of a list waits once, the rest is dropped, and that is logged."""
    shouted, changed = "notifications/x.y/unknown", "notifications/tools/list_changed"
    with serving(*unruly(folder, isolation="shared")) as served:
        deaf = Deaf(served.url)
        try:
            await deaf.open()
            await deaf.is_open.wait()
            async with raw(served.url) as other, raw(served.url, STATELESS) as modern:
                await deaf.call("echo")
                for _ in range(4):
                    await modern.call("shout", times=100, size=100_000)
                await asyncio.to_thread(served.says, "[0-9]+ notifications were dropped: a client does not")
                for number in range(1, 4):
                    await modern.call("storm", times=1)
                    await other.hears(changed, number)
                assert (await other.call("echo"))["params"]["name"] == "echo"
                deaf.reads.set()
                await deaf.hears(changed)
                counts = [note["count"] for note in deaf.heard(shouted)]
                assert 0 < len(counts) < 400
                assert counts == [number % 100 for number in range(len(counts))]
                assert len(deaf.heard(changed)) == 1
        finally:
            await deaf.close()


@every_era
async def test_a_client_is_asked_what_it_says_it_can(folder, era):
    """GATEWAY.md: client capabilities are passed on: -32021 for whom has not the capability."""

    with serving(*config(folder, {"each": fixture("everything")})) as served:
        async with raw(served.url, era) as client:
            error = await client.error("tools/call", name="test_missing_capability", arguments={})
            assert error["code"] == -32021
        async with raw(served.url, era, capabilities={"sampling": {}}) as client:
            result = await client.call("test_missing_capability")
            assert result["content"][0]["text"] == "The client can sample"


async def test_who_wants_to_watch_too_much_is_told(folder):
    """GATEWAY.md: the event loop never stalls over 250 ms; a request of 4 MiB can name half a million resources."""
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url, STATELESS) as modern:
            wanted = {"resourceSubscriptions": [f"test://{number}" for number in range(MAX_WATCHED + 1)]}
            error = await modern.error("subscriptions/listen", notifications=wanted)
            assert error == {"code": -32602, "message": "one request watches at most 10000 resources"}


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_who_wants_to_watch_a_resource_with_too_long_an_address_is_told(folder, era):
    """Ours: 10,000 addresses of 4 MB would be kept."""
    uri = "test://" + "a" * MAX_URI_BYTES
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url, era) as client:
            if era == HANDSHAKE:
                error = await client.error("resources/subscribe", uri=uri)
            else:
                wanted = {"resourceSubscriptions": ["test://a", uri]}
                error = await client.error("subscriptions/listen", notifications=wanted)
            assert error == {"code": -32602, "message": "the address of a watched resource has at most 8192 characters"}


async def test_a_resource_is_watched_for_those_who_watch_it(folder):
    """MCP, subscriptions: 2025-11-25 by a request, 2026-07-28 by its stream; one subscription at the upstream."""
    updated = "notifications/resources/updated"
    with serving(*unruly(folder, isolation="shared")) as served:
        async with raw(served.url) as first, raw(served.url) as second, raw(served.url, STATELESS) as modern:
            await first.result("resources/subscribe", uri="test://a")
            await first.result("resources/subscribe", uri="test://a")
            await second.result("resources/subscribe", uri="test://b")
            wanted = {"resourceSubscriptions": ["test://a"]}
            listening = modern.begin(modern.request("subscriptions/listen", notifications=wanted))
            await modern.hears("notifications/subscriptions/acknowledged")
            for uri in ("test://a", "test://b"):
                await modern.call("touch", uri=uri)
            assert await first.hears(updated) == [{"uri": "test://a"}]
            assert await second.hears(updated) == [{"uri": "test://b"}]
            assert [note["uri"] for note in await modern.hears(updated)] == ["test://a"]
            await first.result("resources/unsubscribe", uri="test://a")
            listening.cancel()
            await second.end()
            unsubscribed = []
            async with asyncio.timeout(FAILSAFE_S):
                while len(unsubscribed) < 2:
                    seen = (await first.call("wait_for", seen="resources/unsubscribe"))["seen"]
                    unsubscribed = sorted(call["params"]["uri"] for call in seen)
            assert unsubscribed == ["test://a", "test://b"]
            seen = (await first.call("wait_for", seen="resources/subscribe"))["seen"]
            assert sorted(call["params"]["uri"] for call in seen) == ["test://a", "test://b"]


async def test_clients_see_which_servers_are_there(tmp_path):
    """Issue 43: `/readyz` with each upstream; whoever is not admitted sees no names."""
    servers = {"records": fixture("records", isolation="shared"), "gone": {"command": "/nowhere/at-all"}}
    options = config(tmp_path, servers)
    with serving(*options) as served, httpx2.Client() as http:
        at = served.url.removesuffix("/mcp")
        await until(lambda: "unused" not in http.get(f"{at}/readyz?verbose").text)
        report = http.get(f"{at}/readyz?verbose").json()
        assert (report["status"], report["upstreams"]) == ("ok", {"records": "up", "gone": "down"})
        assert len(report["configuration"]) == 16
        assert http.get(f"{at}/readyz").text == "ok"
    with serving(*options, no_auth=False, env={**os.environ, "XDG_STATE_HOME": str(tmp_path)}) as served:
        assert httpx2.get(served.url.replace("/mcp", "/readyz?verbose")).status_code == 401
