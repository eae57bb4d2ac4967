"""One bad client: whatever it floods, leaves half done or asks for again, the others are served as before.

TRUST.md, "Budgets in one place" and "Kept means kept for someone".
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.bad_clients import HEADERS, Hostile, connections, initialize
from gateway.bad_peer import withstand
from gateway.front.auth.guarded import bearing, token_file
from gateway.front.test_http import FEW_FILES, FILES, calling, events_of
from gateway.gateways import LOUVER_ITSELF
from gateway.raw import raw
from gateway.served import children, config, fixture, serving
from louver.gateway.back.upstream import MAX_PEER_UPSTREAM_SESSIONS

pytestmark = pytest.mark.anyio

TOKENS = {
    "t-admin": {"subject": "ann", "client": "desk", "scopes": ["read"], "roles": ["admin"]},
    "t-few": {"subject": "ann", "client": "desk", "scopes": ["read"]},
}
CANARY = "a@b.c"


def write_policy(folder, version, *, admins):
    rules = [{"name": "all", "who": {"roles": admins}, "allow": ["*"]}, {"name": "few", "allow": ["rows.*.id"]}]
    policy = {"version": version, "tools": {"*": {"rules": rules}}, "let": ["progress"]}
    (folder / "p.policy.json").write_text(json.dumps(policy))


@pytest.mark.parametrize("change", ["roles", "policy"])
async def test_an_answer_is_sent_again_only_to_whom_it_was_sent(tmp_path, change):
    """TRUST.md 3: a replay gave an admin's answer to another token of the same subject, and past a stricter policy."""
    write_policy(tmp_path, "1", admins=["admin"])
    servers = {"records": fixture("records", policy="p.policy.json")}
    options = config(tmp_path, servers, auth={"tokens": token_file(tmp_path, TOKENS)})
    with serving(*options, no_auth=False) as served:
        async with bearing(served.url, "t-admin") as client:
            # A call that tells of its progress has a stream.
            call = calling({}, "slow")["json"]
            call["params"]["_meta"] = {"progressToken": 7}
            answered = await client.client.post(served.url, json=call, headers=client.headers())
            assert CANARY in answered.text
            resume = {**client.headers(), "last-event-id": events_of(answered.text)[0]["id"]}
            again = await client.client.get(served.url, headers=resume)
            assert CANARY in again.text
            if change == "roles":
                resume["authorization"] = "Bearer t-few"
                refused = await client.client.get(served.url, headers=resume)
            else:
                write_policy(tmp_path, "2", admins=["nobody"])
                async with asyncio.timeout(FAILSAFE_S):
                    refused = again
                    while refused.status_code == 200:
                        refused = await client.client.get(served.url, headers=resume)
            assert (refused.status_code, CANARY in refused.text) == (400, False)
            client.token = "t-few"
            assert CANARY not in json.dumps(await client.call("find"))


# Floods


async def is_served(url):
    """Another client is served."""
    async with asyncio.timeout(FAILSAFE_S), raw(url) as other:
        assert (await other.request("ping"))["result"] == {}


async def test_many_initializes_of_one_client_start_no_more_processes_than_its_own(tmp_path):
    """TRUST.md 6: 199 of them started 199 processes. Those over the budget get an error that says so."""
    options = config(tmp_path, {"it": fixture("faulty")}, auth={"tokens": token_file(tmp_path, TOKENS)})
    many = MAX_PEER_UPSTREAM_SESSIONS + 10
    bearer = {**HEADERS, "authorization": "Bearer t-few"}
    with serving(*options, no_auth=False) as served:
        async with httpx2.AsyncClient(trust_env=False) as http:
            opened = await asyncio.gather(
                *(http.post(served.url, json=initialize(), headers=bearer) for _ in range(many))
            )
            refused = [each.text for each in opened if "one client has at most" in each.text]
            assert len(refused) >= 10 - 1
            assert len(children(served.pid)) <= MAX_PEER_UPSTREAM_SESSIONS + 2


async def test_half_written_heads_hold_no_places(tmp_path):
    """TRUST.md 9: all places were taken by heads that never ended; a new client gets one of them."""
    few = (sys.executable, "-c", FEW_FILES, *LOUVER_ITSELF)
    with serving(*config(tmp_path, {"it": fixture("faulty")}), command=few) as served:
        async with connections(served.url, FILES) as half:
            for _, writer in half:
                with suppress(ConnectionError):
                    writer.write(b"POST /mcp HTTP/1.1\r\nhost: h\r\n")
                    await writer.drain()
            await is_served(served.url)
        assert served.find("out of system resource") is None


async def test_what_one_client_floods_stops_nobody(tmp_path):
    """Ours: garbage, requests ahead, long ids, cancellations of everything, and resumptions of what never was."""
    long_id = {"jsonrpc": "2.0", "id": "x" * 100_000, "method": "ping"}
    cancels = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "x" * 100_000}}
    with serving(*config(tmp_path, {"it": fixture("unruly")})) as served:
        async with raw(served.url) as bad, raw(served.url) as good:
            working = good.begin(good.call("work", {"progressToken": 1}, seconds=1))
            await good.hears("notifications/progress")
            post = bad.client.post
            for _ in range(20):
                headers = bad.headers()
                sent = [post(served.url, json=each, headers=headers) for each in (long_id, cancels, initialize(5))]
                sent += [
                    bad.client.get(served.url, headers={**headers, "last-event-id": each}) for each in ("9" * 15, "x")
                ]
                answers = await asyncio.gather(*sent)
                assert [each.status_code for each in answers] == [400, 202, 200, 400, 400]
                await is_served(served.url)
            async with connections(served.url, 5) as ahead:
                request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
                head = b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: %d\r\n\r\n" % len(request)
                for _, writer in ahead:
                    writer.write((head + request) * 2000 + b"garbage")
                await is_served(served.url)
            assert (await working)["content"][0]["text"] == "done"


async def test_a_stream_that_nobody_reads_holds_up_no_other_call_of_its_session(tmp_path):
    """Ours: only that stream waits. What it would say is kept for who resumes it."""
    with serving(*config(tmp_path, {"it": fixture("unruly")})) as served:
        async with raw(served.url) as client:
            params = {"name": "progress", "arguments": {"steps": 10_000}, "_meta": {"progressToken": "p" * 1000}}
            call = {"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": params}
            async with client.client.stream("POST", served.url, json=call, headers=client.headers()):
                assert (await client.call("echo"))["params"]["name"] == "echo"


# For a while, with the gateway watched

KINDS = ("notifications", "initializes", "cancellations", "resumptions", "subscriptions", "heads", "bodies")
ACTS = 100
DEEP_ACTS = 1000

FLOODS = [
    pytest.param("notifications", ACTS, id="notifications, shortly"),
    *(pytest.param(kind, DEEP_ACTS, id=kind, marks=pytest.mark.deep) for kind in KINDS),
]


@pytest.mark.parametrize(("kind", "acts"), FLOODS)
async def test_others_do_not_notice_what_one_client_floods(tmp_path, kind, acts):
    """TRUST.md, "Proof through the transport"."""
    with serving(*config(tmp_path, {"it": fixture("unruly", isolation="shared")})) as served:
        bad = Hostile(served.url)
        await withstand(served, bad.attack(kind), lambda: bad.acts >= acts, tool="echo")


WORK = {
    "new_paths": ("broad", "full", {}, {"served", "refused"}),
    "long_text": ("broad", "full", {"policy": "p.policy.json"}, {"served"}),
    "descriptions": ("wordy", "minimal", {}, {"served"}),
    "white_space": ("broad", "minimal", {}, {"served"}),
}
"""What costs much to look at: the list of a server, how it is exposed, its settings, and what is answered."""

WORKS = [
    *(pytest.param(kind, 20, id=f"{kind}, shortly") for kind in WORK),
    *(pytest.param(kind, 200, id=kind, marks=pytest.mark.deep) for kind in WORK),
]


@pytest.mark.whole
@pytest.mark.parametrize(("kind", "acts"), WORKS)
async def test_others_do_not_notice_what_is_much_work_for_one_client(tmp_path, kind, acts):
    """TRUST.md, rows 14 to 17: each request was some seconds of the event loop, or of the interpreter."""
    listed, exposure, settings, answers = WORK[kind]
    rules = [{"name": "all", "allow": ["*"], "deny": ["**.ssn"]}]
    (tmp_path / "p.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    servers = {
        "good": fixture("unruly", isolation="shared"),
        "it": fixture("unruly", listed, isolation="shared", **settings),
    }
    with serving(*config(tmp_path, servers), "--exposure", exposure) as served:
        bad = Hostile(served.url, width=4)
        await withstand(served, bad.attack(kind), lambda: bad.acts >= acts, is_gated=exposure == "minimal")
    assert bad.answers.keys() >= answers
