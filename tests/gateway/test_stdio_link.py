"""A link to a process: whatever the process does, calls get what is theirs, or fail at once."""

import asyncio
import gc
import logging
import os
import signal
import sys
from pathlib import Path

import pytest

from fixtures.failsafe import A_WHILE_S, FAILSAFE_S, until
from fixtures.faulty import FAULT_OF_EACH_CLASS
from gateway.links import EVERYTHING, FAULTY, Ears, begun, call, fails, opened
from louver.concurrency.budget import PeerBudget
from louver.errors import UpstreamInvalidOutput, UpstreamTooLarge, UpstreamUnavailable
from louver.gateway.back.transports import process
from louver.gateway.back.transports.budgets import UpstreamBudgets
from louver.gateway.back.transports.stdio import StdioTransport
from louver.gateway.back.transports.transport import Call
from louver.limits import MAX_READ_ON_LOOP, MAX_UPSTREAM_BYTES
from louver.wire.jsonrpc.errors import JsonRpcError

pytestmark = pytest.mark.anyio


@pytest.fixture
async def ears():
    return Ears(**{"roots/list": {"roots": []}})


@pytest.fixture
async def link(ears):
    """A link to a process that answers as its tools say."""
    async with opened(StdioTransport(FAULTY, listener=ears)) as link:
        yield link


@pytest.fixture
def no_patience(monkeypatch):
    """With processes that do not end; what they are sent for it."""
    sent, send = [], process.Process._signal

    def signalled(ended, number):
        sent.append(number)
        send(ended, number)

    monkeypatch.setattr(process, "UPSTREAM_EXIT_SECONDS", 0.05)
    monkeypatch.setattr(process.Process, "_signal", signalled)
    return sent


@pytest.fixture
def all_patience(monkeypatch):
    """With processes that end by themselves."""
    monkeypatch.setattr(process, "UPSTREAM_EXIT_SECONDS", FAILSAFE_S)


def is_alive(pid):
    try:
        # A process that nobody waits for is still listed.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def ends(pid):
    await until(lambda: not is_alive(pid))


# What it is for


async def test_a_call_gets_its_result_as_it_stands(link):
    """GATEWAY.md: raw requests and wire dicts."""
    result = await call(link, "echo", a=None, b=[2**70, "é"], meta={"x.y/z": 1})
    assert result["params"] == {"name": "echo", "arguments": {"a": None, "b": [2**70, "é"]}, "_meta": {"x.y/z": 1}}


async def test_a_pipe_can_always_be_heard(link, ears):
    """Ours: lists may be kept whose changes are told."""
    await link.listen()
    assert ears.open == [True]


async def test_an_error_is_the_upstreams_own(link):
    error = await fails(call(link, "fail", code=-5, message="m", data={"a": 1}), JsonRpcError)
    assert (error.code, error.message, error.data) == (-5, "m", {"a": 1})


async def test_a_process_gets_a_few_variables_and_its_own(ears, monkeypatch, tmp_path):
    """The SDK's rule: a secret in our environment is not for every upstream. VALUE.md: certificates and proxies are."""
    monkeypatch.setenv("LOUVER_SECRET", "not for upstreams")
    network = {"HTTPS_PROXY": "http://10.0.0.1:3128", "no_proxy": "127.0.0.1", "NODE_EXTRA_CA_CERTS": "/etc/own.pem"}
    for name, value in network.items():
        monkeypatch.setenv(name, value)
    async with opened(StdioTransport(FAULTY, env={"KEY": "value"}, cwd=str(tmp_path), listener=ears)) as link:
        result = await call(link, "echo")
    assert result["env"]["KEY"] == "value"
    assert result["env"]["PATH"] == os.environ["PATH"]
    assert network.items() <= result["env"].items()
    assert "LOUVER_SECRET" not in result["env"]
    assert result["cwd"] == str(tmp_path)


async def test_what_was_said_before_a_result_is_heard_before_it(link):
    """Ours; and nothing of it reaches the listener."""
    ears = Ears()
    await call(link, "progress", ears=ears, meta={"progressToken": "p"}, steps=500)
    assert [params["progress"] for _, params in ears.notes] == list(range(500))
    assert {params["progressToken"] for _, params in ears.notes} == {"p"}


async def test_two_calls_may_have_the_same_progress_token(link, ears):
    """Two clients both use 1; what comes after the answer is for nobody, least of all for a third."""
    both = [Ears(), Ears()]
    calls = [await begun(call(link, "hold", ears=one, meta={"progressToken": 1})) for one in both]
    await call(link, "release")
    numbers = [(await one)["number"] for one in calls]
    assert [[params["progress"] for _, params in one.notes] for one in both] == [[number] for number in numbers]
    assert [params["progressToken"] for one in both for _, params in one.notes] == [1, 1]
    assert link.stray_messages.count == 1
    assert ears.notes == []


async def test_the_number_of_a_request_may_come_back_as_a_text(link):
    """Both SDKs take it for the number, as an id and as a progress token."""
    own = Ears()
    assert await call(link, "as_text", ears=own, meta={"progressToken": "p"}) == {}
    assert [params["progressToken"] for _, params in own.notes] == ["p"]


async def test_progress_that_was_not_asked_for_is_dropped(link, ears):
    """MCP: only a request with a token has progress."""
    own = Ears()
    await call(link, "progress", ears=own, steps=1)
    assert [own.notes, ears.notes, link.stray_messages.count] == [[], [], 1]


async def test_frames_of_a_subscription_reach_their_call(link, ears):
    """2026-07-28, `subscriptions/listen`: by the id of the request; another's reach nobody."""
    own = Ears()
    await call(link, "subscribe", ears=own)
    assert own.methods == ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"]
    await ears.hears(1)
    assert ears.notes == [("notifications/tools/list_changed", {})]
    assert link.stray_messages.count == 1


async def test_a_question_with_the_id_zero_is_answered(link, ears):
    """PRIVACY.md; it is asked of the listener, since a pipe does not tell which call caused it."""
    answered = (await call(link, "ask", a=1))["answered"]
    assert answered == {"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}
    assert ears.questions == [("roots/list", {"of": {"a": 1}})]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (JsonRpcError(-1, "User rejected", {"a": 1}), {"code": -1, "message": "User rejected", "data": {"a": 1}}),
        (ValueError("secret"), {"code": -32603, "message": "Internal error"}),
    ],
)
async def test_a_question_that_fails_is_answered_with_an_error(link, ears, raised, error, caplog):
    """Ours: with the client's error, or with a constant one."""

    async def fail(params):
        raise raised

    ears.answers["roots/list"] = fail
    assert (await call(link, "ask"))["answered"] == {"jsonrpc": "2.0", "id": 0, "error": error}
    assert "secret" not in caplog.text


async def test_nothing_waits_for_the_answer_to_a_question(link, ears):
    """A human may take minutes."""
    human = asyncio.Event()

    async def later(params):
        await human.wait()
        return {}

    ears.answers["roots/list"] = later
    asking = await begun(call(link, "ask"))
    await call(link, "echo")
    human.set()
    assert (await asking)["answered"]["result"] == {}


async def test_a_question_can_be_taken_back(link, ears):
    """MCP, cancellation: by the upstream's own id."""
    dropped = asyncio.Event()

    async def never(params):
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()

    ears.answers["roots/list"] = never
    await call(link, "ask_and_take_back")
    async with asyncio.timeout(FAILSAFE_S):
        if ears.questions:
            await dropped.wait()
    assert ears.notes == []


async def test_a_question_that_is_open_already_is_not_asked_again(link, ears):
    """Ours: an answer could not be told from the other's."""
    human = asyncio.Event()

    async def later(params):
        await human.wait()
        return {}

    ears.answers["roots/list"] = later
    both = [await begun(call(link, "ask")) for _ in range(2)]
    await call(link, "echo")
    human.set()
    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    assert [len(ears.questions), link.stray_messages.count] == [1, 1]
    both[0].cancel()


async def test_a_ping_is_answered_by_the_link(link, ears):
    """MCP, ping: at once, whatever the client is."""
    answered = (await call(link, "ask", asks="ping"))["answered"]
    assert (answered, ears.questions) == ({"jsonrpc": "2.0", "id": 0, "result": {}}, [])


@pytest.mark.parametrize("method", ["x.y/unknown", "tools/list", ""])
async def test_a_method_that_no_client_has_is_refused_by_the_link(link, ears, method):
    """JSON-RPC: -32601; it is passed on to nobody."""
    answered = (await call(link, "ask", asks=method))["answered"]
    assert (answered["error"]["code"], ears.questions) == (-32601, [])


async def test_requests_of_an_upstream_are_counted_over_all_its_processes(ears):
    """TRUST.md: a budget of the upstream; what is over it gets no answer."""
    human = asyncio.Event()

    async def later(params):
        await human.wait()
        return {}

    ears.answers["roots/list"] = later
    budgets = UpstreamBudgets()
    budgets.questions = PeerBudget(1)
    async with (
        opened(StdioTransport(FAULTY, listener=ears, budgets=budgets)) as one,
        opened(StdioTransport(FAULTY, listener=ears, budgets=budgets)) as other,
    ):
        first = await begun(call(one, "ask"))
        await until(lambda: ears.questions)
        second = await begun(call(other, "ask"))
        await call(other, "echo")
        assert [len(ears.questions), other.stray_messages.count] == [1, 1]
        human.set()
        await first
        second.cancel()
        await asyncio.wait([second])
        await call(other, "echo")
    assert budgets.questions.used == 0


async def test_cancelling_a_call_tells_the_upstream(link):
    """MCP, cancellation; an answer that comes all the same is dropped, and is no fault of the server."""
    silent = await begun(call(link, "silent"))
    silent.cancel()
    with pytest.raises(asyncio.CancelledError):
        await silent
    (cancelled,) = (await call(link, "wait_for", seen="notifications/cancelled"))["seen"]
    assert cancelled["params"] == {"requestId": 1}
    await call(link, "late")
    assert link.stray_messages.count == 0
    await call(link, "late")
    assert link.stray_messages.count == 1


async def test_what_opens_a_conversation_is_not_cancelled(link):
    """MCP, cancellation: a client must not cancel `initialize`; `server/discover` may go to an old server."""
    methods = ("initialize", "server/discover", "tools/call")
    calls = [await begun(call(link, "silent", method=method)) for method in methods]
    for opening in calls:
        opening.cancel()
    await asyncio.wait(calls)
    (cancelled,) = (await call(link, "wait_for", seen="notifications/cancelled"))["seen"]
    assert cancelled["params"] == {"requestId": 3}


async def test_a_deadline_is_the_callers(link):
    """Ours: the link itself waits for ever."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(A_WHILE_S):
            await call(link, "silent")
    await call(link, "wait_for", seen="notifications/cancelled")


async def test_twenty_thousand_notifications_are_heard_in_order(link, ears):
    """PRIVACY.md, "Hostile inputs": the pipe is not read faster than the listener hears, and calls go on."""
    await call(link, "storm", times=20_000)
    await ears.hears(20_000)
    assert set(ears.methods) == {"notifications/tools/list_changed"}


async def test_a_listener_that_lags_makes_the_upstream_wait(link, ears):
    """Ours: what waits in memory is bounded."""
    gate = asyncio.Event()
    heard = ears.on_notification

    async def wait_and_hear(method, params):
        await gate.wait()
        await heard(method, params)

    ears.on_notification = wait_and_hear
    storm = asyncio.create_task(call(link, "storm", times=30_000))
    await until(lambda: not link._process._output.is_reading())
    assert link._process._pending_bytes < 2**20 + 2**19
    gate.set()
    await storm
    await ears.hears(30_000)


async def test_a_listener_that_fails_hears_the_next(link, ears, caplog):
    """Ours: and the log tells no more than the kind of the error."""
    heard = ears.on_notification

    async def fail_once(method, params):
        ears.on_notification = heard
        raise ValueError("secret")

    ears.on_notification = fail_once
    await call(link, "storm", times=2)
    await ears.hears(1)
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


async def test_a_listener_that_fails_at_the_end_harms_no_call(link, ears, caplog):
    """Likewise."""

    def fail(reason):
        raise ValueError("secret")

    ears.on_closed = fail
    await fails(call(link, "die"), UpstreamUnavailable)
    await link.close()
    assert "ValueError" in caplog.text
    assert "secret" not in caplog.text


# What it may do wrong


async def test_an_answer_that_is_not_strict_fails_its_call_alone(link):
    """GATEWAY.md, "JSON strictly"; `tests/wire/jsonrpc` has the other faults."""
    other = await begun(call(link, "hold", meta={"progressToken": 1}))
    for fault in FAULT_OF_EACH_CLASS:
        error = await fails(call(link, fault), (UpstreamInvalidOutput, UpstreamTooLarge))
        assert isinstance(error, UpstreamTooLarge) == fault.startswith("brackets"), fault
    await call(link, "release")
    assert await other == {"number": 1}


async def test_an_integer_of_five_thousand_digits_is_kept(link):
    assert await call(link, "digits") == {"value": 1 - 10**5000}


async def test_garbage_is_dropped_and_counted(link, ears, caplog):
    """Ours: told by what kind of thing it was, at every power of two; of a doubled answer the first counts."""
    with caplog.at_level(logging.DEBUG):
        assert await call(link, "garbage") == {"which": "first"}
        await call(link, "echo")
    assert link.stray_messages.count == 12
    assert [record.args[1] for record in caplog.records if record.levelno == logging.WARNING] == [1, 2, 4, 8]
    assert "yours" not in caplog.text
    assert "listening" not in caplog.text
    assert ears.notes == []


async def test_an_answer_just_below_the_bound_is_read(link):
    """Ours: twice that of GATEWAY.md, as a file of 5 MB is sent both as text and as structured content."""
    size = MAX_UPSTREAM_BYTES - 100
    assert len((await call(link, "large", size=size))["text"]) == size


@pytest.mark.parametrize(("tool", "arguments"), [("large", {"size": 17 * 2**20}), ("endless", {})])
async def test_a_line_over_the_bound_ends_the_process(link, ears, tool, arguments):
    """GATEWAY.md: UPSTREAM_TOO_LARGE and a fresh connection, for all that were open."""
    other = await begun(call(link, "hold", meta={"progressToken": 1}))
    pid = link._process._transport.get_pid()
    await fails(call(link, tool, **arguments), UpstreamTooLarge)
    await fails(other, UpstreamTooLarge)
    assert "over 16777216 bytes" in await ears.gone_for
    await fails(call(link, "echo"), UpstreamUnavailable)
    await link.close()
    assert not is_alive(pid)


async def test_a_killed_process_fails_its_calls_at_once(link, ears):
    """GATEWAY.md: in-flight calls are answered; the link itself has no deadline."""
    other = await begun(call(link, "hold", meta={"progressToken": 1}))
    error = await fails(call(link, "die"), UpstreamUnavailable)
    await fails(other, UpstreamUnavailable)
    assert str(error) == await ears.gone_for == "the upstream's process was ended by signal 9"


@pytest.mark.parametrize("keeps_pipes", [True, False])
async def test_a_grandchild_hides_nothing(link, ears, keeps_pipes):
    """`npx` and its like: the end is the process's own; the grandchild is ended with the link."""
    await fails(call(link, "die_with_grandchild", keeps_pipes=keeps_pipes), UpstreamUnavailable)
    await ears.hears(1)
    grandchild = ears.notes[0][1]["data"]
    assert is_alive(grandchild)
    await link.close()
    await ends(grandchild)


@pytest.mark.usefixtures("no_patience")
async def test_a_process_that_closes_its_output_and_stays_fails_its_calls():
    """Ours: its end is waited for, since that would say more."""
    closes = [sys.executable, "-c", "import os, sys; os.close(1); sys.stdin.read()"]
    started = await process.Process.start(closes, None, None, logging.getLogger("it"))
    try:
        error = await fails(started.line(), UpstreamUnavailable)
        assert str(error) == "the upstream has closed its pipes"
    finally:
        await started.close()


LEAVES_A_DAEMON = """
import subprocess, sys
print(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True).pid, flush=True)
sys.stdin.read()
"""


async def test_who_holds_the_pipes_from_another_session_is_not_waited_for(monkeypatch):
    """Ours: a process that is killed ends at once, and no signal of ours reaches the other."""
    monkeypatch.setattr(process, "UPSTREAM_EXIT_SECONDS", 0.05)
    sent, send = [], process.Process._signal

    def signalled(ended, number):
        sent.append(number)
        if number == signal.SIGKILL:
            monkeypatch.setattr(process, "UPSTREAM_EXIT_SECONDS", FAILSAFE_S)
        send(ended, number)

    monkeypatch.setattr(process.Process, "_signal", signalled)
    started = await process.Process.start([sys.executable, "-c", LEAVES_A_DAEMON], None, None, logging.getLogger("it"))
    daemon = int(await started.line())
    try:
        async with asyncio.timeout(FAILSAFE_S):
            await started.close()
        assert signal.SIGKILL in sent
        assert is_alive(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


async def test_the_last_words_of_a_process_are_heard(link, ears):
    """Ours: what it said comes before its end."""
    assert await call(link, "exit", code=7) == {"code": 7}
    await ears.hears(1)
    assert await ears.gone_for == "the upstream's process has ended with code 7"


async def test_a_process_that_dies_at_once_fails_the_first_call(ears):
    async with opened(StdioTransport([*FAULTY, "dies"], listener=ears)) as link:
        await fails(call(link, "echo"), UpstreamUnavailable)
        assert await ears.gone_for == "the upstream's process has ended with code 3"


async def test_a_link_is_opened_first(ears):
    await fails(call(StdioTransport(FAULTY, listener=ears), "echo"), UpstreamUnavailable)


@pytest.mark.parametrize("command", [["no-such-program-anywhere"], ["/"], ["nul\0"]])
async def test_a_command_that_cannot_run_is_told(ears, command):
    error = await fails(StdioTransport(command, listener=ears).open(), UpstreamUnavailable)
    assert str(error).startswith(f"the upstream {command[0]!r} cannot be started: ")


async def test_a_folder_that_is_not_there_is_not_taken_for_the_command(ears, tmp_path):
    """Ours: what is told is what is to be mended."""
    error = await fails(StdioTransport(FAULTY, cwd=tmp_path / "none", listener=ears).open(), UpstreamUnavailable)
    assert f"cannot be started: its folder '{tmp_path / 'none'}': No such file" in str(error)


async def test_a_command_that_is_written_as_one_word_is_told_how_it_is_written(ears):
    """Ours: in the files of hosts, too, the command stands apart from its arguments."""
    error = await fails(StdioTransport(["npx -y no-such-server"], listener=ears).open(), UpstreamUnavailable)
    assert str(error).endswith(
        "No such file or directory. The command is one word, as 'npx'; the others are its arguments"
    )


@pytest.mark.usefixtures("no_patience")
async def test_a_stopped_process_blocks_nobody(link):
    """SIGSTOP: the pipe fills, then what waits is bounded, then calls fail."""
    stopped = await begun(call(link, "stop"))
    waiting = [asyncio.create_task(call(link, "echo", text="a" * 2**20)) for _ in range(8)]
    done, open_ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert [str(task.exception()) for task in done] == ["the upstream does not read what it is sent"] * len(done)
    assert len(open_) >= 4
    cancelled = open_.pop()
    cancelled.cancel()
    await asyncio.wait([cancelled])
    await link.close()
    for task in [stopped, *open_]:
        await fails(task, UpstreamUnavailable)


async def test_a_process_that_will_not_end_is_killed(ears, no_patience):
    """Input closed, SIGTERM, SIGKILL; in bounded time."""
    async with opened(StdioTransport([*FAULTY, "stubborn"], listener=ears)) as link:
        await call(link, "echo")
        pid = link._process._transport.get_pid()
        await link.close()
        assert no_patience == [None, signal.SIGTERM, signal.SIGKILL, signal.SIGKILL]
    assert not is_alive(pid)
    assert not ears.gone_for.done()


@pytest.mark.usefixtures("all_patience")
async def test_closing_is_quick_where_the_process_is_good(link):
    """Ours: no signal is waited for."""
    await call(link, "echo")
    channel = link._process
    await link.close()
    await link.close()
    assert channel._transport.get_returncode() == 0
    error = await fails(call(link, "echo"), UpstreamUnavailable)
    assert str(error) == "the connection is closed"


async def test_standard_error_is_a_log_line_by_line(link, caplog):
    """Ours: bounded, not as an error, and nothing that steers a terminal."""
    with caplog.at_level(logging.INFO, "louver.upstream"):
        await call(link, "complain")
        await link.close()
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert said[:2] == ["listening [31m", "b" * 1000]
    assert said[-1] == "no end"
    assert len(said) < 1003


async def test_nothing_is_left_behind(ears):
    """pytest turns a transport that was not closed into an error, once it is collected."""
    async with opened(StdioTransport(FAULTY, listener=ears)) as link:
        await call(link, "echo")
    del link
    gc.collect()
    assert [task for task in asyncio.all_tasks() if "gateway" in str(task.get_coro())] == []


# A server of the SDK


async def test_a_server_of_the_sdk_is_spoken_to(ears):
    async with opened(StdioTransport(EVERYTHING, listener=ears)) as link:
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        hello = await link.call(Call("initialize", client, ears.on_notification, ears.on_request))
        await link.notify("notifications/initialized", None)
        own = Ears()
        result = await call(link, "test_tool_with_progress", ears=own, meta={"progressToken": 0})
    assert hello["serverInfo"]["name"] == "everything"
    assert result["content"][0]["text"] == "Tool with progress executed successfully"
    assert [(params["progressToken"], params["progress"]) for _, params in own.notes] == [(0, 0), (0, 50), (0, 100)]


async def test_long_lines_are_taken_a_turn_each():
    """GATEWAY.md: the event loop never stalls over 250 ms; one of 256 KiB may take 100, and five came in a row."""
    taken, seen, lines = process.Process(logging.getLogger(__name__)), set(), []
    taken._add([b"x" * MAX_READ_ON_LOOP] * 3)

    async def others():
        while True:
            seen.add(len(lines))
            await asyncio.sleep(0)

    going = asyncio.create_task(others())
    for _ in range(3):
        lines += [await taken.line()]
    going.cancel()
    assert {1, 2} <= seen
