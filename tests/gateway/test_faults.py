"""Whatever one upstream does, its calls are answered with an exact code, and those of the others go on.

The gateway is a process, and so is each upstream.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from fixtures.faulty import FAULT_OF_EACH_CLASS
from fixtures.tables import in_turn
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import at, at_a_url, children, config, fixture, lives, serving, stateless

pytestmark = pytest.mark.anyio

MARK = "canary"
"""What `unruly.py` marks its results with."""

TIMEOUT_S = 1
TOO_LARGE = 17 * 2**20

ERAS = [HANDSHAKE, STATELESS]
every_era = pytest.mark.parametrize("era", ERAS)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """A gateway before a good upstream, and those that are not: of some it is impatient."""
    with at_a_url("unruly", "--http") as url:
        servers = {
            "good": fixture("everything", isolation="shared"),
            "bad": fixture("unruly", isolation="shared"),
            "late": fixture("unruly", isolation="shared", timeoutSeconds=TIMEOUT_S),
            "mortal": fixture("unruly", isolation="shared"),
            "web": at(url, isolation="shared"),
            "late-web": at(url, isolation="shared", timeoutSeconds=TIMEOUT_S),
        }
        with serving(*config(tmp_path_factory.mktemp("faults"), servers)) as served:
            yield served
            started = children(served.pid)
        assert len(started) >= 2
        assert not any(map(lives, started))
        said = "".join(served.said)
        assert not [word for word in (MARK, "yours", "Traceback") if word in said], said


@pytest.fixture
async def client(gateway, era):
    """A client in each era."""
    async with raw(gateway.url, era) as client:
        yield client


async def process_of(client, server="bad"):
    """The process of an upstream, as it is now, once it answers."""
    async with asyncio.timeout(FAILSAFE_S):
        while "pid" not in (result := await client.call(f"{server}__pid")):
            pass
    return result["pid"]


@asynccontextmanager
async def unharmed(client):
    """Meanwhile the good upstream answers every call."""

    async def ask():
        while True:
            await works(client)

    asking = asyncio.create_task(ask())
    try:
        yield
    finally:
        await works(client)
        asking.cancel()
        (ended,) = await asyncio.gather(asking, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError), ended


async def works(client):
    result = await client.call("good__test_simple_text")
    assert result["content"] == [{"type": "text", "text": "This is a simple text response for testing."}]


def code_of(result):
    """The code that an error result says, to models and to programs."""
    assert result["isError"] is True
    assert "structuredContent" not in result
    (block,) = result["content"]
    said = json.loads(block["text"])["error"]
    assert result["_meta"]["dev.louver/error"] == said
    assert MARK not in json.dumps(result)
    return said["code"]


async def answers(client, tool):
    """Wait until a tool answers."""
    async with asyncio.timeout(FAILSAFE_S):
        while (await client.call(tool, steps=0)).get("isError"):
            pass


# What an upstream asks


@pytest.mark.parametrize(("server", "era"), in_turn(["bad", "web"], ERAS))
async def test_a_ping_in_the_middle_of_a_call_is_answered_by_the_gateway(client, server):
    """TRUST.md, row 11: to a 2026-07-28 client it became `input_required`."""
    assert (await client.call(f"{server}__ask", asks="ping")).get("answered", {}).get("result") == {}
    assert client.questions == []


@pytest.mark.parametrize(("server", "era"), in_turn(["bad", "web"], ERAS))
async def test_a_method_that_no_client_has_is_refused_by_the_gateway(client, server):
    """JSON-RPC: -32601."""
    assert (await client.call(f"{server}__ask", asks="x.y/unknown"))["answered"]["error"]["code"] == -32601
    assert client.questions == []


# What an upstream answers


@every_era
async def test_an_answer_that_is_not_strict_is_told_by_its_code(client):
    """GATEWAY.md, "JSON strictly": UPSTREAM_INVALID_OUTPUT; and what has too many parts is too large."""
    for fault in FAULT_OF_EACH_CLASS:
        result = await client.call(f"bad__{fault}")
        expected = "UPSTREAM_TOO_LARGE" if fault.startswith("brackets") else "UPSTREAM_INVALID_OUTPUT"
        assert code_of(result) == expected, fault
        await works(client)


@every_era
async def test_an_integer_of_five_thousand_digits_is_sent_on(client):
    """PRIVACY.md: Python itself writes no more than 4,300."""
    async with unharmed(client):
        assert (await client.call("bad__digits"))["value"] == "-" + "9" * 5000


@every_era
async def test_garbage_between_messages_is_passed_over(client, gateway):
    """PRIVACY.md: a garbage line, an answer to nobody, an answer twice; of these the first counts."""
    async with unharmed(client):
        assert (await client.call("bad__garbage"))["which"] == "first"
    assert gateway.find(r"messages from the server without a recipient: \d+, the last: ")


@pytest.mark.parametrize(("tool", "arguments", "era"), in_turn([("large", {"size": TOO_LARGE}), ("endless", {})], ERAS))
async def test_an_answer_over_the_bound_is_refused_and_the_process_replaced(client, tool, arguments):
    """GATEWAY.md: too large -> UPSTREAM_TOO_LARGE and a fresh connection."""
    await answers(client, "bad__progress")
    before = await process_of(client)
    async with unharmed(client):
        assert code_of(await client.call(f"bad__{tool}", **arguments)) == "UPSTREAM_TOO_LARGE"
        await answers(client, "bad__progress")
    assert await process_of(client) != before


@pytest.mark.parametrize(
    ("tool", "arguments", "code", "era"),
    in_turn(
        [
            ("web__bomb", {"size": TOO_LARGE}, "UPSTREAM_TOO_LARGE"),
            ("web__large", {"size": TOO_LARGE}, "UPSTREAM_TOO_LARGE"),
            ("web__wrong_id", {}, "UPSTREAM_INVALID_OUTPUT"),
            ("web__cut", {}, "UPSTREAM_UNAVAILABLE"),
            ("late-web__silent", {}, "UPSTREAM_TIMEOUT"),
        ],
        ERAS,
    ),
)
async def test_a_fault_over_http_fails_its_call_alone(client, tool, arguments, code):
    """PRIVACY.md: a gzip bomb, a wrong id, a connection that breaks, silence."""
    async with unharmed(client):
        assert code_of(await client.call(tool, **arguments)) == code
    assert (await client.call("web__echo"))["params"]["name"] == "echo"


@every_era
async def test_a_redirect_is_not_followed_and_told(client):
    """PRIVACY.md: a redirect to another host; where it leads is not repeated."""
    for status in (301, 302, 303, 307, 308):
        async with unharmed(client):
            result = await client.call("web__redirect", status=status)
        assert code_of(result) == "UPSTREAM_UNAVAILABLE"
        assert result["_meta"]["dev.louver/error"] == {
            "code": "UPSTREAM_UNAVAILABLE",
            "message": f"the upstream redirects, which is not followed: HTTP {status}",
            "status": status,
        }
    assert (await client.call("web__echo"))["params"]["name"] == "echo"


# What becomes of an upstream


@every_era
async def test_a_killed_upstream_is_answered_for_and_comes_back(client):
    """GATEWAY.md: in-flight calls are answered before their deadline, restart."""
    await answers(client, "mortal__progress")
    before = await process_of(client, "mortal")
    async with unharmed(client):
        waiting = client.begin(client.call("mortal__hold", _meta={"progressToken": "p"}))
        await client.reaches("hold", "mortal__")
        await works(client)
        assert not waiting.done()
        os.kill(before, signal.SIGKILL)
        assert code_of(await waiting) == "UPSTREAM_UNAVAILABLE"
        await answers(client, "mortal__progress")
    assert await process_of(client, "mortal") != before
    assert not lives(before)


@pytest.mark.parametrize(("tool", "runs", "era"), in_turn([("read", 2), ("repeat", 2), ("write", 1)], ERAS))
async def test_only_what_does_no_harm_is_called_again(client, tmp_path, tool, runs):
    """GATEWAY.md: never retried unless idempotent or read-only by annotation; then once."""
    await client.result("tools/list")
    # One that ends at once, before it has answered anybody, is not started again at once.
    await answers(client, "bad__progress")
    result = await client.call(f"bad__{tool}", runs=str(tmp_path / "runs"))
    assert (tmp_path / "runs").read_text() == "run\n" * runs
    if runs == 1:
        assert code_of(result) == "UPSTREAM_UNAVAILABLE"
    else:
        assert result["content"] == [{"type": "text", "text": MARK}]


@every_era
async def test_a_stopped_upstream_runs_into_its_deadline(client):
    """PRIVACY.md: SIGSTOP. It is not ended: it may go on."""
    process = await process_of(client, "late")
    async with unharmed(client):
        try:
            assert code_of(await client.call("late__stop")) == "UPSTREAM_TIMEOUT"
        finally:
            os.kill(process, signal.SIGCONT)
    assert await process_of(client, "late") == process


@every_era
async def test_a_client_that_goes_is_told_to_the_upstream(gateway, client):
    """PRIVACY.md: disconnect mid-call."""
    async with raw(gateway.url, STATELESS) as other:
        other.begin(other.call("mortal__hold", _meta={"progressToken": "gone"}, beside=client.era))
        call = await client.reaches("hold", "mortal__", beside=client.era)
    cancelled = []
    async with unharmed(client), asyncio.timeout(FAILSAFE_S):
        while call["id"] not in cancelled:
            seen = (await client.call("mortal__wait_for", seen="notifications/cancelled"))["seen"]
            cancelled = [message["params"]["requestId"] for message in seen]


async def test_a_storm_of_changes_is_told_as_few(gateway):
    """GATEWAY.md: `list_changed` storms are debounced, in both eras; the last is never lost."""
    changed = "notifications/tools/list_changed"
    async with raw(gateway.url) as client, raw(gateway.url, STATELESS) as modern:
        modern.begin(modern.request("subscriptions/listen", notifications={"toolsListChanged": True}))
        await modern.hears("notifications/subscriptions/acknowledged")
        async with unharmed(client):
            await client.call("bad__storm", times=20_000)
        for each in (client, modern):
            await each.hears(changed)
        before = [len(each.heard(changed)) for each in (client, modern)]
        assert max(before) < 2_000
        await client.call("bad__storm", times=1)
        for each, number in zip((client, modern), before, strict=True):
            await each.hears(changed, number + 1)


# What an upstream lists


async def test_an_upstream_that_is_not_there_is_left_out(tmp_path):
    """GATEWAY.md: an upstream that dies at start or errors on `tools/list` shows as unhealthy, the rest serve."""
    servers = {
        "good": fixture("everything"),
        "dead": fixture("unruly", "dies", str(tmp_path / "runs")),
        "listless": fixture("unruly", "listless"),
        "failing": fixture("unruly", "failing"),
        "toolless": fixture("unruly", "toolless"),
        "nowhere": at("http://127.0.0.1:1/mcp"),
    }
    with serving(*config(tmp_path, servers)) as served:
        # A server that says that it has tools lists them.
        served.says(r"^listless +stdio +2025-11-25 +'tools/list' fails with -32601$")
        served.says(r"^failing +stdio +2025-11-25 +'tools/list' fails with -32603$")
        served.says(r"^toolless +stdio +2025-11-25 +0 +0 +ready$")
        for era in (HANDSHAKE, STATELESS):
            async with raw(served.url, era) as client, unharmed(client):
                tools = (await client.result("tools/list"))["tools"]
                assert {tool["name"].partition("__")[0] for tool in tools} == {"good"}
                for name in ("dead", "nowhere"):
                    assert code_of(await client.call(f"{name}__echo")) == "UPSTREAM_UNAVAILABLE"
        # It is tried again, but later each time.
        async with raw(served.url, STATELESS) as client:
            for _ in range(100):
                assert code_of(await client.call("dead__echo")) == "UPSTREAM_UNAVAILABLE"
        assert 1 < len((tmp_path / "runs").read_text().splitlines()) <= 6
        said = "".join(served.said)
    assert "upstream 'dead' is not there" in said
    assert "louver: dead: there is no such database" in said
    assert "Traceback" not in said
    assert MARK not in said


async def test_a_server_that_does_not_answer_holds_up_no_call_of_another(tmp_path):
    """GATEWAY.md: the rest serve, from the first moment on."""
    servers = {"good": fixture("everything"), "hangs": {"command": "sleep", "args": ["1000"]}}
    with serving(*config(tmp_path, servers)) as served:
        assert served.find("hangs") is None
        async with httpx2.AsyncClient(trust_env=False) as http:
            answer = await http.post(served.url, **stateless("tools/call", name="good__test_simple_text", arguments={}))
        assert answer.json()["result"]["content"][0]["type"] == "text"


async def test_ten_thousand_tools_and_those_that_are_none(tmp_path):
    """PRIVACY.md: 10,000 tools; doubled tool names. A bad tool is left out, the rest live."""
    servers = {
        "good": fixture("everything"),
        "many": fixture("unruly", "many"),
        "doubled": fixture("unruly", "doubled"),
        "pages": fixture("unruly", "endless"),
    }
    with serving(*config(tmp_path, servers)) as served:
        async with raw(served.url) as client, raw(served.url, STATELESS) as modern:
            tools = (await client.result("tools/list"))["tools"]
            assert len((await modern.result("tools/list"))["tools"]) == len(tools)
            await works(client)
    by_server = {}
    for tool in tools:
        by_server.setdefault(tool["name"].partition("__")[0], []).append(tool)
    assert len(by_server["many"]) == 10_000
    assert [(tool["name"], tool.get("description")) for tool in by_server["doubled"]] == [
        ("doubled__echo", None),
        ("doubled__hold", None),
    ]
    assert len(by_server["pages"]) == 100
    assert len(by_server["good"]) > 20


# What a client does


@pytest.mark.whole
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1:1.evil.example"}, 421),
        ({"host": "localhost:evil.example:80"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:1.evil.example"}, 403),
        ({"origin": "http://localhost:80@evil.example"}, 403),
    ],
)
async def test_a_foreign_host_or_origin_is_refused(gateway, headers, status):
    """GATEWAY.md: Host and Origin are checked."""
    said = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    async with httpx2.AsyncClient(trust_env=False) as http:
        response = await http.post(gateway.url, json=said, headers={"accept": "application/json", **headers})
    assert response.status_code == status
