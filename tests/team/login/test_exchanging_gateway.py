"""A gateway that exchanges its callers' tokens: whose call it is at the server, and where tokens never are."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import subprocess
from contextlib import ExitStack
from functools import partial

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.front.auth.guarded import bearing
from gateway.raw import HANDSHAKE, STATELESS
from gateway.served import stateless
from louver.errors import LoginFailed
from louver.gateway.gateway import Gateway
from steps.test_tracing import COLLECTED
from team.login.exchanging import SECRET, exchanging, exchanging_gateway
from team.login.test_commands import command_lines, files, holds, louver
from team.login.test_crossing import tenants

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])


@pytest.fixture(scope="module")
def issuer():
    with exchanging() as found:
        yield found


@pytest.fixture(scope="module")
def urls(issuer):
    with ExitStack() as stack:
        found = {}
        for name in ("tracker", "wiki"):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            found[name] = stack.enter_context(tenants(name, listener))
            issuer.servers[found[name]] = name
        yield found


@pytest.fixture(scope="module")
def gateway(issuer, urls, tmp_path_factory):
    folder = tmp_path_factory.mktemp("gateway")
    with exchanging_gateway(folder, {"tracker": urls["tracker"]}, issuer.url) as served:
        served.folder = folder
        yield served


@pytest.fixture
async def http():
    async with httpx2.AsyncClient(trust_env=False) as client:
        yield client


async def account(client, tool="whoami"):
    return (await client.call(tool, number=1))["structuredContent"]["account"]


def failure(result):
    assert result["isError"]
    return json.loads(result["content"][0]["text"])["error"]


@ERAS
async def test_each_caller_is_itself_at_the_server(gateway, issuer, era):
    """Step 17, "For many"."""
    as_caller = partial(bearing, gateway.url, era=era)
    token = gateway.token_of("ann")
    async with as_caller(token) as ann, as_caller(gateway.token_of("bob")) as bob:
        assert {tool["name"] for tool in (await ann.result("tools/list"))["tools"]} == {"whoami"}
        found = await asyncio.gather(*(account(each) for each in (ann, bob) * 5))
        assert found == ["ann", "bob"] * 5
        contents = (await bob.result("resources/read", uri="account://me"))["contents"]
        assert contents[0]["text"] == "tracker bob"
    assert [form["subject_token"] for form in issuer.forms].count(token) == 1


async def called(client, url, token, tool="whoami", **arguments):
    """The result of a call without a connection that was opened."""
    request = stateless("tools/call", name=tool, arguments={"number": 1, **arguments})
    request["headers"]["authorization"] = f"Bearer {token}"
    return (await client.post(url, **request)).json()["result"]


async def test_who_is_refused_there_is_told_so_and_nobody_else(gateway, issuer, http):
    """Step 17, bad input: a principal that is revoked, while another one calls."""
    issuer.refused.add("cy")
    token = gateway.token_of("cy")
    async with bearing(gateway.url, gateway.token_of("ann")) as ann:
        failed, found = await asyncio.gather(called(http, gateway.url, token), account(ann))
    error = failure(failed)
    assert found == "ann"
    assert error["code"] == "LOGIN_FAILED"
    assert "the authorization server answers with HTTP 400, invalid_grant" in error["message"]
    assert token not in json.dumps(failed)


async def test_another_token_of_a_refused_principal_is_not_refused_for_it(gateway, issuer, http):
    """Ours: no failure of the server makes it wait."""
    issuer.refused.add("dan")
    failed = await called(http, gateway.url, gateway.token_of("dan"))
    assert failure(failed)["code"] == "LOGIN_FAILED"
    issuer.refused.remove("dan")
    found = await called(http, gateway.url, gateway.token_of("dan", jti="2"))
    assert found["structuredContent"]["account"] == "dan"


async def test_one_server_that_refuses_leaves_the_others(issuer, urls, tmp_path):
    """Ours: lists of several servers."""
    with exchanging_gateway(tmp_path, urls, issuer.url) as served:
        issuer.refused.add("eve")
        async with bearing(served.url, served.token_of("eve")) as eve, bearing(served.url, served.token_of("f")) as f:
            assert (await eve.result("tools/list"))["tools"] == []
            tools = {tool["name"] for tool in (await f.result("tools/list"))["tools"]}
            assert tools == {"tracker__whoami", "wiki__whoami"}
            assert [await account(f, f"{name}__whoami") for name in urls] == ["f", "f"]
            issuer.refused.remove("eve")
            await eve.hears("notifications/tools/list_changed")
            # Each server comes back by itself.
            async with asyncio.timeout(FAILSAFE_S):
                while {tool["name"] for tool in (await eve.result("tools/list"))["tools"]} != tools:
                    pass


async def test_scripts_call_as_their_callers(issuer, urls, tmp_path):
    """Ours: their calls are made by tasks of a process that all callers share."""
    script = "result(tracker.whoami({number = 1}):await())"
    with exchanging_gateway(tmp_path, urls, issuer.url, exposure="discovery", execute="process") as served:
        async with (
            bearing(served.url, served.token_of("ann")) as ann,
            bearing(served.url, served.token_of("bob")) as bob,
        ):
            found = await asyncio.gather(*(each.call("execute", script=script) for each in (ann, bob) * 3))
    assert [each["structuredContent"]["account"] for each in found] == ["ann", "bob"] * 3


async def test_principals_never_cross(issuer, urls, tmp_path, http):
    """Step 17, "Show": at two servers at once, each with two tokens."""
    names, chance, crossed = [f"p{number}" for number in range(50)], random.Random(8693), []
    places = asyncio.Semaphore(16)
    with exchanging_gateway(tmp_path, urls, issuer.url) as served:
        tokens = {name: [served.token_of(name, jti=str(number)) for number in range(2)] for name in names}

        async def call(number):
            name, server = chance.choice(names), chance.choice(list(urls))
            token, arguments = chance.choice(tokens[name]), {"number": number, "seconds": chance.choice((0, 0.01))}
            async with places:
                result = await called(http, served.url, token, f"{server}__whoami", **arguments)
            if result.get("structuredContent") != {"server": server, "account": name, "number": number}:
                crossed.append((name, result))

        await asyncio.gather(*(call(number) for number in range(400)))
    assert crossed == []


async def test_a_caller_without_a_token_is_refused(gateway, issuer):
    """Ours: over stdio, or in a program."""
    asked = len(issuer.forms)
    async with Gateway(gateway.folder / "mcp.json") as inside:
        with pytest.raises(LoginFailed, match="this caller has none that counts"):
            await inside.call("tracker", "whoami", {"number": 1})
    assert len(issuer.forms) == asked


def test_commands_say_that_nobody_logs_in_there(gateway):
    """Ours."""
    options = ["--config", str(gateway.folder / "mcp.json")]
    status, out, _ = louver("check", *options)
    assert status == 1
    assert "a token for the caller's own" in out
    status, _, err = louver("login", *options)
    assert status != 0
    assert "nobody logs in to 'tracker': the gateway exchanges each caller's token" in err


async def test_no_token_is_in_a_log_a_span_an_audit_or_a_file(issuer, urls, tmp_path, http):
    """Step 17: canaries, of an exchange, a refusal, and a token that the server refuses; under a policy."""
    rules = [{"name": "all", "deny": ["**.nothing"]}]
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    options = ["--log", "json", "--access-log"]
    with exchanging_gateway(
        tmp_path,
        {"tracker": urls["tracker"]},
        issuer.url,
        *options,
        server={"policy": "it.policy.json"},
        command=COLLECTED,
        stdout=subprocess.PIPE,
    ) as served:
        tokens = {name: served.token_of(name) for name in ("gil", "hal", "ida")}
        issuer.refused.add("hal")
        async with bearing(served.url, tokens["gil"]) as client:
            assert await account(client) == "gil"
        seen = [json.dumps(await called(http, served.url, tokens["hal"]))]
        issuer.changed = {"access_token": "foreign-canary"}
        refused = await called(http, served.url, tokens["ida"])
        issuer.changed = {}
        assert "the server refuses the token for which the caller's was exchanged" in failure(refused)["message"]
        seen += [json.dumps(refused), command_lines()]
    with served.process.stdout as access_log:
        seen += [*served.said, access_log.read()]
    assert any('"tools/call whoami"' in line for line in seen)
    assert any("invalid_grant" in line for line in seen)
    secrets = {*tokens.values(), "token.tracker.gil", "foreign-canary"}
    assert not [text for text in seen if holds(text.encode(), {*secrets, SECRET})]
    assert (tmp_path / "audit.db").exists()
    assert [path for path in files(tmp_path) if holds(path.read_bytes(), secrets)] == []
