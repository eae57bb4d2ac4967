"""Callers that log in for themselves: a link, the pages behind it, and whose login it is then."""

from __future__ import annotations

import json
import re
import subprocess
from functools import partial
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from fixtures.failsafe import FAILSAFE_S
from gateway.front.auth.guarded import bearing
from gateway.raw import HANDSHAKE, STATELESS
from gateway.served import at_a_url
from louver.errors import InvalidConfig, LoginFailed
from louver.gateway.config.read import as_config
from louver.gateway.gateway import Gateway
from louver.team.login.links import LoginLinks
from louver.team.login.notes import LoginNotes
from louver.team.login.pages import LoginPages
from louver.team.login.stores.folder import LoginFolder
from steps.test_tracing import COLLECTED
from team.login.principals import Visitor, gateway_of
from team.login.servers import upstream
from team.login.test_commands import command_lines, files, holds

pytestmark = pytest.mark.anyio

ERAS = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
JWKS = {"jwks": "https://id.example/jwks"}
URLS = {"elicitation": {"url": {}}}


@pytest.fixture(scope="module")
def url():
    with at_a_url("sdk_authorization") as found:
        yield found


@pytest.fixture(scope="module")
def gateway(url, tmp_path_factory):
    with gateway_of(tmp_path_factory.mktemp("gateway"), {"tracker": url}) as served:
        yield served


@pytest.fixture
def fresh(url, tmp_path):
    """A gateway at which nobody is logged in."""
    with gateway_of(tmp_path, {"tracker": url}) as served:
        yield served


async def link_of(client, tool="whose"):
    result = await client.call(tool)
    assert result["isError"]
    error = json.loads(result["content"][0]["text"])["error"]
    assert error["code"] == "LOGIN_REQUIRED"
    assert error["url"] in error["message"]
    return error["url"]


async def whose(client, tool="whose"):
    return (await client.call(tool))["structuredContent"]["client"]


@ERAS
async def test_each_caller_logs_in_by_a_link_and_uses_that_login_alone(fresh, era):
    """Step 17, "For many"."""
    as_caller = partial(bearing, fresh.url, era=era)
    async with as_caller("t-ann") as ann, as_caller("t-bob") as bob, as_caller("t-other") as other:
        assert [tool["name"] for tool in (await ann.result("tools/list"))["tools"]] == ["log_in"]
        assert (await ann.result("resources/list"))["resources"] == []
        assert (await ann.error("resources/read", uri="a:b"))["data"]["error"]["code"] == "LOGIN_REQUIRED"
        async with Visitor() as visitor:
            link = await link_of(ann)
            page = (await visitor.client.get(link)).text
            assert "<b>ann, by the program desk</b>" in page
            assert "<b>tracker</b>" in page
            assert "You are logged in" in await visitor.log_in(link)
        if era == HANDSHAKE:
            await ann.hears("notifications/tools/list_changed")
        of_ann = await whose(ann)
        assert {tool["name"] for tool in (await ann.result("tools/list"))["tools"]} == {"find", "whose"}
        # The same person by another program is another principal.
        for each in (bob, other):
            assert await link_of(each) != link
        async with Visitor() as visitor:
            await visitor.log_in(await link_of(bob))
        assert await whose(bob) not in (of_ann, None)
        assert await whose(ann) == of_ann
        await link_of(other)


async def test_a_client_that_opens_urls_is_asked_and_its_call_goes_on(fresh):
    """MCP 2025-11-25, "Elicitation": URL mode."""

    async def accept(question):
        asked = question["params"]
        assert (asked["mode"], bool(asked["elicitationId"])) == ("url", True)
        async with Visitor() as visitor:
            await visitor.log_in(asked["url"])
        return {"action": "accept"}

    answers = {"elicitation/create": accept}
    async with bearing(fresh.url, "t-ann", capabilities=URLS, answers=answers) as client:
        assert await whose(client)
        assert len(client.questions) == 1


async def test_a_client_of_the_new_revision_is_asked_by_an_answer_and_calls_again(fresh):
    """MCP 2026-07-28: `input_required`."""
    async with bearing(fresh.url, "t-ann", STATELESS, capabilities=URLS) as client:
        asked = await client.call("whose")
        assert asked["resultType"] == "input_required"
        ((key, question),) = asked["inputRequests"].items()
        assert question["method"] == "elicitation/create"
        assert question["params"]["mode"] == "url"
        async with Visitor() as visitor:
            await visitor.log_in(question["params"]["url"])
        answers = {key: {"action": "accept"}}
        result = await client.result("tools/call", name="whose", arguments={}, inputResponses=answers)
        assert result["structuredContent"]["client"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_declines_gets_an_error_with_the_link(gateway, action):
    """Ours."""
    answers = {"elicitation/create": {"action": action}}
    async with bearing(gateway.url, "t-other", capabilities=URLS, answers=answers) as client:
        assert "/oauth/login?link=" in await link_of(client)


async def test_a_tool_to_log_in_stands_for_those_that_cannot_be_listed(url, tmp_path):
    """Ours: else a model would see nothing that it could call."""
    with gateway_of(tmp_path, {"tracker": url, "wiki": url}) as served:
        async with bearing(served.url, "t-ann") as client, Visitor() as visitor:
            names = {tool["name"] for tool in (await client.result("tools/list"))["tools"]}
            assert names == {"tracker__log_in", "wiki__log_in"}
            await visitor.log_in(await link_of(client, "wiki__log_in"))
            # A change of the list says so.
            await client.hears("notifications/tools/list_changed")
            names = {tool["name"] for tool in (await client.result("tools/list"))["tools"]}
            assert names == {"tracker__log_in", "wiki__find", "wiki__whose"}
            assert await whose(client, "wiki__whose")
            await link_of(client, "tracker__log_in")


async def test_a_link_is_used_once_and_only_by_the_button_of_its_page(gateway):
    """Ours: programs look at links, and other sites post forms."""
    async with bearing(gateway.url, "t-bob") as client, Visitor() as visitor:
        link = await link_of(client)
        assert await link_of(client) == link
        for _ in range(3):
            assert (await visitor.client.get(link)).status_code == 200
        for origin in ("https://evil.example", "null", ""):
            assert (await visitor.agree(link, origin=origin)).status_code == 403
        agreed = await visitor.agree(link)
        assert agreed.status_code == 303
        assert re.search(r"louver-login=\S+; HttpOnly; Path=/; SameSite=lax", agreed.headers["set-cookie"])
        assert (await visitor.agree(link)).status_code == 404
        assert (await visitor.client.get(link)).status_code == 404
        assert await link_of(client) != link


@pytest.mark.parametrize(("public", "origin"), [("https://Gateway.Example:443", "https://gateway.example")])
async def test_the_button_is_known_by_the_origin_as_browsers_write_it(public, origin, tmp_path):
    """Ours: a capital letter in 'resource' made each login impossible."""
    pages = LoginPages(LoginLinks(public, dict, LoginFolder(tmp_path), LoginNotes(None)))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(pages), base_url=public) as client:
        found = [await client.post("/oauth/login?link=x", headers={"origin": each}) for each in (origin, "https://x")]
    assert [each.status_code for each in found] == [404, 403]


async def test_a_login_that_was_begun_again_is_told_so_in_the_browser(fresh):
    """Ours: its page was silent for 45 s, and then said that it takes too long."""
    async with bearing(fresh.url, "t-bob") as client, Visitor() as visitor:
        backs = []
        for _ in range(2):
            page = (await visitor.agree(await link_of(client))).headers["location"]
            backs.append(await visitor.returns(page))
        first, second = [await visitor.client.get(back, timeout=FAILSAFE_S) for back in backs]
    assert (first.status_code, "this login was begun again" in first.text) == (400, True)
    assert second.status_code == 200


async def test_a_state_that_is_away_for_a_moment_ends_no_login(tmp_path, monkeypatch):
    """Ours: all logins under way failed, while people typed."""
    notes = LoginNotes(None)
    links = LoginLinks("https://gateway.example", dict, LoginFolder(tmp_path), notes)
    await notes.put("flow", "s", {"server": "tracker", "browser": "b"})
    await notes.put("ended", "s", {})
    left, take = [LoginFailed("away")], notes.take

    async def take_later(kind, secret):
        if kind == "ended" and left:
            raise left.pop()
        return await take(kind, secret)

    monkeypatch.setattr(notes, "take", take_later)
    assert await links.finish("tracker", {"state": "s", "code": "c"}, "b") is None


async def test_a_login_comes_back_only_in_the_browser_that_has_agreed_and_once(gateway):
    """RFC 6749, 10.12: nobody plants an account on somebody else, by a page of the authorization server."""
    async with bearing(gateway.url, "t-bob") as client, Visitor() as mallory, Visitor() as victim:
        page = (await mallory.agree(await link_of(client))).headers["location"]
        # The victim is lured past the page of the gateway.
        back = await victim.returns(page)
        refused = await victim.client.get(back)
        assert refused.status_code == 400
        assert "no login that was begun in this browser" in refused.text
        await link_of(client)
        assert (await mallory.client.get(back)).status_code == 200
        again = await mallory.client.get(back)
        assert again.status_code == 400
        assert await whose(client)


async def test_no_cache_gives_the_lists_of_a_login_to_others(fresh):
    """Step 17: caches stay per principal. The server says `public`."""
    async with bearing(fresh.url, "t-ann", STATELESS) as client, Visitor() as visitor:
        await visitor.log_in(await link_of(client))
        answers = [await client.result(method) for method in ("tools/list", "prompts/list", "server/discover")]
    assert [each["cacheScope"] for each in answers] == ["private"] * 3


async def test_each_server_has_a_callback_of_its_own(url, tmp_path):
    """RFC 9700, 4.4.2: a code of one server's authorization server is sent to no other, also where none sends `iss`."""
    with gateway_of(tmp_path, {"tracker": url, "wiki": url}) as served:
        async with bearing(served.url, "t-ann") as client, Visitor() as visitor:
            tools = [tool["name"] for tool in (await client.result("tools/list"))["tools"]]
            pages = [(await visitor.agree(await link_of(client, each))).headers["location"] for each in tools]
            backs = [await visitor.returns(page) for page in pages]
            assert [urlsplit(back).path for back in backs] == ["/oauth/callback/tracker", "/oauth/callback/wiki"]
            crossed = [
                f"{other.partition('?')[0]}?{urlsplit(back).query}"
                for back, other in zip(backs, backs[::-1], strict=True)
            ]
            assert [(await visitor.client.get(each)).status_code for each in (*crossed, *backs)] == [400, 400, 200, 200]


async def test_no_secret_of_a_login_is_in_a_log_a_span_an_audit_or_a_file(url, tmp_path):
    """Step 17: canaries, also of links, codes, states and cookies; under a policy."""
    rules = [{"name": "all", "deny": ["**.nothing"]}]
    (tmp_path / "it.policy.json").write_text(json.dumps({"version": "1", "tools": {"*": {"rules": rules}}}))
    options = ["--log", "json", "--access-log"]
    policy = {"policy": "it.policy.json"}
    with gateway_of(
        tmp_path, {"tracker": url}, *options, server=policy, command=COLLECTED, stdout=subprocess.PIPE
    ) as served:
        async with bearing(served.url, "t-ann") as client, Visitor() as visitor:
            link = await link_of(client)
            page = (await visitor.agree(link)).headers["location"]
            back = await visitor.returns(page)
            # A foreign browser is logged too.
            async with Visitor() as other:
                assert (await other.client.get(back)).status_code == 400
            assert (await visitor.client.get(back)).status_code == 200
            assert await whose(client)
        logins = tmp_path / "state" / "louver" / "logins"
        login = await LoginFolder(logins).read(upstream(url, principal=("desk", None, "ann")).login_id)
        seen = [command_lines()]
    returned = parse_qs(urlsplit(back).query)
    secrets = {parse_qs(urlsplit(link).query)["link"][0], visitor.client.cookies["louver-login"]}
    secrets |= {returned["code"][0], returned["state"][0], "t-ann", (logins / "key").read_text().strip()}
    secrets |= {login.tokens.access_token, login.tokens.refresh_token, login.client.client_secret}
    with served.process.stdout as access_log:
        seen += [*served.said, access_log.read()]
    assert "GET /oauth/callback/tracker" in seen[-1]
    assert any('"tools/call whose"' in line for line in seen)
    assert not [text for text in seen if holds(text.encode(), secrets)]
    assert (tmp_path / "audit.db").exists()
    assert [path for path in files(tmp_path) if holds(path.read_bytes(), secrets)] == [logins / "key"]


@pytest.mark.parametrize("query", ["", "?state=foreign&code=c", "?state=%00&code=%ff", "?error=access_denied"])
async def test_a_foreign_state_is_refused(gateway, query):
    """RFC 6749, 10.12."""
    async with Visitor() as visitor:
        back = gateway.url.replace("/mcp", "/oauth/callback/tracker") + query
        assert (await visitor.client.get(back, headers={"cookie": b"louver-login=\xe9"})).status_code == 400


async def test_a_login_that_is_not_granted_is_told_in_the_browser(gateway):
    """Ours."""
    async with bearing(gateway.url, "t-other") as client, Visitor() as visitor:
        page = (await visitor.agree(await link_of(client))).headers["location"]
        state = re.search(r"state=([^&]+)", page)[1]
        back = gateway.url.replace("/mcp", "/oauth/callback/tracker") + f"?error=access_denied&state={state}"
        refused = await visitor.client.get(back)
        assert (refused.status_code, "does not grant the login" in refused.text) == (400, True)
        await link_of(client)


async def test_nothing_but_the_two_pages_is_outside_of_authentication(tmp_path, url):
    """Ours."""
    with gateway_of(tmp_path, {"tracker": url}) as served:
        async with Visitor() as visitor:
            for path in ("/oauth", "/oauth/login/", "/oauth/callback", "/OAUTH/login"):
                assert (await visitor.client.get(served.url.replace("/mcp", path))).status_code == 401
            for method in ("PUT", "DELETE", "POST"):
                back = served.url.replace("/mcp", "/oauth/callback/tracker")
                assert (await visitor.client.request(method, back)).status_code == 404
            foreign = await visitor.client.get(
                served.url.replace("/mcp", "/oauth/login"), headers={"host": "a.example"}
            )
            assert foreign.status_code == 421


@pytest.mark.parametrize("more", [{"headersHelper": "print-headers"}, {"headers": {"A": "${file:a}"}}])
def test_a_login_beside_other_credentials_is_refused(more):
    """Ours: which of them would count?"""
    server = {"url": "https://mcp.example/mcp", **more, "louver": {"oauth": {}}}
    with pytest.raises(InvalidConfig, match="'oauth' goes with Streamable HTTP, and not with credentials"):
        as_config({"mcpServers": {"a": server}})


@pytest.mark.parametrize(
    ("oauth", "louver", "told"),
    [
        ({}, {}, "principals need 'auth' under 'louver' at the top, with a 'resource' that ends with /mcp"),
        ({}, {"auth": {**JWKS, "audience": "a"}}, "with a 'resource' that ends with /mcp"),
        ({}, {"auth": {**JWKS, "resource": "https://a.example/x"}}, "that ends with /mcp"),
        (
            {"grant": "client_credentials", "clientId": "c", "clientSecret": "s", "issuer": "https://i.example"},
            {},
            "a service account logs in by itself, for no principal",
        ),
    ],
)
def test_settings_that_cannot_be_are_refused(oauth, louver, told):
    """Ours."""
    server = {"url": "https://mcp.example/mcp", "louver": {"oauth": {"for": "principal", **oauth}}}
    with pytest.raises(InvalidConfig, match=re.escape(told)):
        as_config({"mcpServers": {"a": server}, "louver": louver})


async def test_a_gateway_without_a_place_for_logins_does_not_start():
    """Ours: a library's user has no folder, unless a state is shared."""
    server = {"url": "https://mcp.example/mcp", "louver": {"oauth": {"for": "principal"}}}
    auth = {**JWKS, "resource": "https://a.example/mcp"}
    with pytest.raises(InvalidConfig, match="'state' with 'keys', where logins are kept"):
        Gateway({"mcpServers": {"a": server}, "louver": {"auth": auth}})
