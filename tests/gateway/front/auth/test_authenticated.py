"""A gateway that asks for tokens, as a process of its own, over HTTP."""

import json
import subprocess

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.tables import in_turn
from gateway.front.auth.guarded import METADATA, TOKENS, WHO, bearing, guarded, token_file, who
from gateway.front.auth.issuer import (
    ISSUER,
    ec_key,
    issuer,
    key_set,
    other_key,
    public,
    rsa_key,
    signed,
)
from gateway.raw import HANDSHAKE, STATELESS, raw
from gateway.served import config, fixture, serving, stateless
from louver.gateway.front.auth.static import digest_of

pytestmark = pytest.mark.anyio

every_era = pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
RESOURCE = "https://mcp.example/mcp"


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """One that knows tokens by a file."""
    folder = tmp_path_factory.mktemp("static")
    with guarded(folder, auth={"tokens": token_file(folder), "requiredScopes": ["read"]}) as served:
        served.folder = folder
        yield served


@pytest.fixture(scope="module")
def known():
    """An issuer, and its URL."""
    with issuer() as (made, url):
        made.url = url
        made.answers["/jwks"] = (200, key_set(public(rsa_key()), public(ec_key(), "two")).encode(), {})
        yield made


@pytest.fixture(scope="module")
def by_jwks(tmp_path_factory, known):
    """One that knows the issuer's keys."""
    auth = {"jwks": f"{known.url}/jwks", "issuer": ISSUER, "resource": RESOURCE, "requiredScopes": ["read"]}
    with guarded(tmp_path_factory.mktemp("jwks"), auth=auth) as served:
        yield served


def post(url, token=None, method="tools/call", headers=None, **params):
    """What is answered to one request of 2026-07-28."""
    request = stateless(method, **(params or {"name": "find", "arguments": {}}))
    bearer = {} if token is None else {"authorization": f"Bearer {token}"}
    request["headers"] = {**request["headers"], **bearer, **(headers or {})}
    return httpx2.post(url, **request, trust_env=False)


@every_era
async def test_a_call_is_of_the_principal_of_its_token(static, era):
    """PRIVACY.md, "Policy file": callers are told apart by scope, role or client of the authenticated principal."""
    for token in ("t-ann", "t-bob"):
        said = TOKENS[token]
        async with bearing(static.url, token, era) as client:
            found = await who(client)
            assert [found["subject"], found["client"]] == [said["subject"], said["client"]]
            assert [found["scopes"], found["roles"]] == [["read"], said.get("roles", [])]


async def test_a_call_that_waits_goes_on_for_its_own_principal_alone(tmp_path):
    """Ours: to anybody else its `requestState` is as one that nobody has been given."""
    servers = {"one": fixture("everything", "--only", HANDSHAKE)}
    able = {"capabilities": {"elicitation": {"form": {}}}}
    call = {"name": "test_elicitation", "arguments": {"message": "for ann"}}
    answer = {"action": "accept", "content": {"username": "ann", "email": "ann@example.org"}}
    with serving(*config(tmp_path, servers, auth={"tokens": token_file(tmp_path)}), no_auth=False) as served:
        async with (
            bearing(served.url, "t-ann", STATELESS, **able) as ann,
            bearing(served.url, "t-bob", STATELESS, **able) as bob,
        ):
            asked = await ann.result("tools/call", **call)
            (key,) = asked["inputRequests"]
            again = {**call, "requestState": asked["requestState"], "inputResponses": {key: answer}}
            refused = await bob.error("tools/call", **again)
            assert refused == await bob.error("tools/call", **{**again, "requestState": "unknown"})
            result = await ann.result("tools/call", **again)
            assert "ann@example.org" in result["content"][0]["text"]


async def test_both_ways_in_have_the_same_principal(static):
    """Ours: the faster way stands behind the same middleware; a header that is unusual takes the SDK's."""
    plain = {"subject": "ann", "client": "desk", "scopes": ["read"], "roles": ["support"]}
    fast = post(static.url, "t-ann").json()["result"]["structuredContent"]
    slow = post(static.url, "t-ann", headers={"accept": "application/json, text/event-stream, */*"})
    assert fast == plain
    assert _result(slow)["structuredContent"] == plain


REFUSED = {
    "no token": None,
    "an unknown one": "nobody",
    "one that has expired": "t-old",
    "its digest": digest_of("t-ann"),
}


@pytest.mark.parametrize(("token", "method"), in_turn(REFUSED, ["tools/call", "tools/list", "server/discover"]))
def test_without_a_token_that_is_taken_nothing_is_answered(static, token, method):
    """MCP, "Authorization": 401 with `WWW-Authenticate`; in the faster way too."""
    params = {"name": "find", "arguments": {}} if method == "tools/call" else {}
    request = stateless(method, **params)
    bearer = {} if token is None else {"authorization": f"Bearer {token}"}
    found = httpx2.post(static.url, json=request["json"], headers={**request["headers"], **bearer}, trust_env=False)
    assert found.status_code == 401
    assert found.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    assert token is None or token not in found.text


@pytest.mark.parametrize("scheme", ["Basic dC1hbm46", "Bearer", "bearert-ann", "Bearer t-ann,t-ann", "t-ann"])
def test_a_token_in_another_form_is_none(static, scheme):
    """RFC 6750 section 2.1."""
    assert post(static.url, headers={"authorization": scheme}).status_code == 401


@pytest.mark.parametrize(("verb", "path"), [("GET", "/mcp"), ("DELETE", "/mcp"), ("OPTIONS", "/mcp"), ("GET", "/x")])
def test_no_way_in_is_open(static, verb, path):
    """Ours: nothing but health and what tells who gives tokens is open."""
    base = static.url.removesuffix("/mcp")
    assert httpx2.request(verb, base + path, trust_env=False).status_code == 401
    assert httpx2.get(f"{base}/healthz", trust_env=False).status_code == 200


def test_a_token_that_allows_too_little_is_refused(static):
    """RFC 6750 section 3.1: 403, `insufficient_scope`."""
    found = post(static.url, "t-less")
    assert (found.status_code, found.json()["error"]) == (403, "insufficient_scope")


@pytest.mark.parametrize("thief", ["t-bob", "t-other"])
async def test_a_session_is_of_who_has_opened_it(static, thief):
    """2025-11-25, "Session Hijacking": another subject, or another client of the same one, has no such session."""
    async with bearing(static.url, "t-ann") as client:
        assert (await who(client))["subject"] == "ann"
        client.token = thief
        message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "find", "arguments": {}}}
        found = await client.client.post(static.url, json=message, headers=client.headers(message))
        assert found.status_code == 404
        found = await client.client.get(static.url, headers=client.headers())
        assert found.status_code == 404
        client.token = None
        found = await client.client.post(static.url, json=message, headers=client.headers(message))
        assert found.status_code == 401
        client.token = "t-ann"
        assert (await who(client))["subject"] == "ann"


async def test_the_client_of_the_sdk_sends_its_token(static):
    """Ours: a stock client needs no more than a header."""
    http = httpx2.AsyncClient(headers={"Authorization": "Bearer t-ann"}, trust_env=False)
    async with (
        http,
        streamable_http_client(static.url, http_client=http) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        assert [tool.name for tool in (await session.list_tools()).tools]


def test_a_token_that_is_taken_back_counts_no_more(static):
    """Ours: without a new start."""
    folder = static.folder
    assert post(static.url, "t-bob").status_code == 200
    try:
        token_file(folder, {name: said for name, said in TOKENS.items() if name != "t-bob"})
        assert post(static.url, "t-bob").status_code == 401
        assert post(static.url, "t-ann").status_code == 200
    finally:
        token_file(folder)


def test_nothing_that_was_said_holds_a_token(static):
    """Ours."""
    assert post(static.url, "t-canary").status_code == 401
    assert not [line for line in static.said if "t-" in line]


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(rsa_key, "RS256", "one"), (ec_key, "ES256", "two")])
@every_era
async def test_a_signed_token_is_taken(by_jwks, era, key, algorithm, kid):
    """RFC 9068: the issuer is part of who the subject is."""
    async with bearing(by_jwks.url, signed(key(), algorithm, kid, roles=["support"]), era) as client:
        found = await who(client)
    assert [found["subject"], found["client"]] == [f"{ISSUER}#ann", "desk"]
    assert [found["scopes"], found["roles"]] == [["read", "write"], ["support"]]


NOT_TAKEN = {
    "expired": {"exp": 1},
    "of another issuer": {"iss": "https://evil.example"},
    "for another server": {"aud": "https://other.example/mcp"},
    "of an unknown key": {"kid": "nine"},
    "signed by somebody else": {"key": other_key},
}


@pytest.mark.parametrize(("said", "era"), in_turn(NOT_TAKEN, [HANDSHAKE, STATELESS]))
async def test_a_token_that_is_not_good_is_refused(by_jwks, era, said):
    """RFC 9068 section 4."""
    token = signed(**{name: value() if name == "key" else value for name, value in said.items()})
    if era == STATELESS:
        assert post(by_jwks.url, token).status_code == 401
        return
    opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
    headers = {"accept": "application/json, text/event-stream", "authorization": f"Bearer {token}"}
    assert httpx2.post(by_jwks.url, json=opening, headers=headers, trust_env=False).status_code == 401


def test_clients_are_told_who_gives_tokens(by_jwks):
    """RFC 9728 sections 3 and 5.1: the refusal says where that stands; it is open to everybody."""
    refused = post(by_jwks.url)
    assert METADATA.search(refused.headers["www-authenticate"]).group(1) == (
        "https://mcp.example/.well-known/oauth-protected-resource/mcp"
    )
    base = by_jwks.url.removesuffix("/mcp")
    found = httpx2.get(f"{base}/.well-known/oauth-protected-resource/mcp", trust_env=False).json()
    assert (found["resource"], found["authorization_servers"]) == (RESOURCE, [ISSUER])
    assert found["scopes_supported"] == ["read"]


def test_where_nobody_gives_tokens_nothing_is_told(static):
    """Ours: the file of tokens has no issuer."""
    assert "resource_metadata" not in post(static.url).headers["www-authenticate"]


@pytest.mark.parametrize(("host", "status"), [("mcp.example", 200), ("evil.example", 421), ("mcp.example:99", 421)])
def test_the_server_is_reached_by_the_name_that_clients_know(by_jwks, host, status):
    """Ours: what stands before it may keep the name; no other is taken, against DNS rebinding."""
    assert post(by_jwks.url, signed(), headers={"host": host}).status_code == status


def test_an_issuer_that_is_not_there_is_no_fault_of_the_token(tmp_path):
    """Ours: 503, so that the client keeps it."""
    with issuer() as (_, url):
        pass
    with guarded(tmp_path, auth={"jwks": f"{url}/jwks", "audience": RESOURCE}) as served:
        found = post(served.url, signed())
        assert (found.status_code, found.headers["retry-after"]) == (503, "5")
        assert found.json()["error"] == "temporarily_unavailable"
        assert post(served.url).status_code == 401


@every_era
async def test_without_authentication_everybody_is_nobody(tmp_path, era):
    """Ours: as before, whatever token is sent; `principal` is for stdio."""
    with guarded(tmp_path, principal={"subject": "ann"}) as served:
        for token in (None, "t-ann"):
            async with bearing(served.url, token, era) as client:
                found = await who(client)
                assert [found["subject"], found["client"]] == [None, None]


@every_era
async def test_the_client_over_stdio_is_who_the_configuration_says(tmp_path, era):
    """Ours."""
    said = {"subject": "ann", "client": "desk", "scopes": ["read"], "roles": ["support"]}
    command = [*WHO, *config(tmp_path, {"records": fixture("records")}, principal=said)]
    async with raw(command, era) as client:
        assert await who(client) == said


async def test_a_file_that_says_other_tokens_now_counts_from_the_next_start(tmp_path):
    """Ours: it is told, so that nobody takes it for done."""
    auth = {"tokens": token_file(tmp_path)}
    with guarded(tmp_path, auth=auth) as served:
        config(tmp_path, {"records": fixture("records")}, auth={**auth, "requiredScopes": ["admin"]})
        served.says("start again for what the file says")
        assert post(served.url, "t-ann").status_code == 200


@pytest.mark.parametrize("command", [["serve", "--http", "127.0.0.1:0"], ["check"]], ids=["serve", "check"])
def test_tokens_that_cannot_be_read_are_told_at_the_start(tmp_path, command):
    """Ours."""
    options = config(tmp_path, {"records": fixture("records")}, auth={"tokens": token_file(tmp_path)})
    (tmp_path / "tokens.json").chmod(0o644)
    command = [PYTHON, "-m", "louver", *command, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FAILSAFE_S)
    assert done.returncode == 2
    assert "expected 600, by chmod 600" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_made_token_is_taken(tmp_path):
    """Ours: `louver token` says what to put into the file."""
    command = [PYTHON, "-m", "louver", "token", "--subject", "ann", "--scopes", "a b", "--days", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FAILSAFE_S)
    token, line = done.stdout.splitlines()
    path = tmp_path / "tokens.json"
    path.write_text(f'{{"tokens": {{{line}}}}}')
    path.chmod(0o600)
    with serving(
        *config(tmp_path, {"records": fixture("records")}, auth={"tokens": "tokens.json"}), no_auth=False
    ) as served:
        assert post(served.url, token.removeprefix("token: ")).status_code == 200
        assert post(served.url).status_code == 401
    assert json.loads(f"{{{line}}}").popitem()[1].keys() == {"subject", "scopes", "expires"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "expected --subject, --client, or both"),
        (["--subject", "a", "--days", "0"], "--days takes a number over 0"),
        (["--subject", "a", "--days", "nan"], "--days takes a number over 0"),
    ],
)
def test_a_token_of_nobody_is_not_made(options, said):
    """Ours."""
    done = subprocess.run(
        [PYTHON, "-m", "louver", "token", *options], capture_output=True, text=True, timeout=FAILSAFE_S
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def _result(response):
    if response.headers["content-type"].startswith("application/json"):
        return response.json()["result"]
    lines = [line for line in response.text.splitlines() if line.startswith("data:")]
    return json.loads(lines[-1].removeprefix("data:"))["result"]
