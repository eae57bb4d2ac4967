"""Callers' tokens that are exchanged for those of a server: once for each, never longer, and for nobody else."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from contextvars import copy_context

import pytest

from gateway.front.auth.issuer import signed
from louver.errors import InvalidConfig, LoginFailed
from louver.gateway.config.auth import OAuthSettings
from louver.gateway.config.read import as_config
from louver.gateway.front.auth.caller_token import CALLER_TOKEN, CallerToken
from louver.limits import LOGIN_FRESH_S, MAX_AUTH_BYTES
from louver.team.login import requests
from louver.team.login.exchange import TokenExchange
from louver.team.login.exchanged import MAX_EXCHANGED_TOKENS, ExchangedCredentials
from team.login.exchanging import ACCESS_TOKEN, METADATA, SECRET, exchanging, oauth
from team.login.servers import upstream
from team.login.test_credentials import Clock

pytestmark = pytest.mark.anyio

URL = "https://mcp.example/mcp"
ANN, BOB = ("desk", "https://id.example", "ann"), ("desk", "https://id.example", "bob")
HOUR = 3600.0


@pytest.fixture
def server():
    with exchanging() as found:
        yield found


@pytest.fixture
def clock():
    return Clock()


def settings(issuer, **more):
    return OAuthSettings(
        client_id="louver",
        client_secret=SECRET,
        issuer=issuer,
        grant="token_exchange",
        belongs_to="principal",
        **more,
    )


def token_of(principal, expires=None, **claims):
    return CallerToken(signed(sub=principal[2], **claims), principal, expires)


@asynccontextmanager
async def credentials_of(server, clock, principal=ANN, **more):
    exchange = TokenExchange(upstream(URL, oauth=settings(server.url, **more)), clock)
    credentials = ExchangedCredentials(principal, exchange)
    try:
        yield credentials
    finally:
        await credentials.close()


async def sent(credentials, token):
    """The header of a request that a caller with this token brings about."""

    async def headers():
        CALLER_TOKEN.set(token)
        return (await credentials.headers())["authorization"]

    return await asyncio.create_task(headers(), context=copy_context())


async def test_the_request_is_that_of_the_standard(server, clock):
    """RFC 8693, 2.1; RFC 8707: the resource is the server's URL."""
    token = token_of(ANN)
    async with credentials_of(server, clock, scopes=("read", "write")) as credentials:
        assert await sent(credentials, token) == "Bearer token.1.ann"
    assert server.forms == [
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
            "subject_token": token.text,
            "subject_token_type": ACCESS_TOKEN,
            "requested_token_type": ACCESS_TOKEN,
            "resource": URL,
            "scope": "read write",
        }
    ]


async def test_a_server_can_have_another_name_there(server, clock):
    """RFC 8693, 2.1: some authorization servers know audiences and no resources."""
    async with credentials_of(server, clock, audience="tracker") as credentials:
        await sent(credentials, token_of(ANN))
    assert server.forms[0]["audience"] == "tracker"
    assert "resource" not in server.forms[0]


async def test_a_token_is_exchanged_once_until_it_is_due(server, clock):
    """Ours: ahead of its end by a quarter."""
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        at_once = await asyncio.gather(*(sent(credentials, token) for _ in range(20)))
        assert set(at_once) == {"Bearer token.1.ann"}
        clock.now += 44
        assert await sent(credentials, token) == "Bearer token.1.ann"
        clock.now += 2
        assert await sent(credentials, token) == "Bearer token.2.ann"
    assert server.made.asked.count(METADATA) == 1


async def test_a_request_that_is_cancelled_loses_no_exchange_of_others(server, clock):
    """Ours."""
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        first, second = [asyncio.create_task(sent(credentials, token)) for _ in range(2)]
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "Bearer token.1.ann"
    assert len(server.forms) == 1


async def test_one_that_is_due_is_used_until_its_end_if_there_is_no_other(server, clock, caplog):
    """Ours: an authorization server that is away for a minute is not noticed."""
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        await sent(credentials, token)
        server.refused.add("ann")
        clock.now += 50
        assert await sent(credentials, token) == "Bearer token.1.ann"
        clock.now += 10
        with pytest.raises(LoginFailed, match="HTTP 400, invalid_grant; it is tried again in"):
            await sent(credentials, token)
    assert token.text not in caplog.text
    assert "invalid_grant" in caplog.text


async def test_what_was_exchanged_ends_with_the_callers_token(server, clock):
    """Ours: also for what no request brings about, as streams of the session."""
    server.changed = {"expires_in": 10 * HOUR}
    token = token_of(ANN, expires=clock.now + 100)
    async with credentials_of(server, clock) as credentials:
        await sent(credentials, token)
        assert await sent(credentials, None) == "Bearer token.1.ann"
        clock.now += 100
        for each in (token, None):
            with pytest.raises(LoginFailed, match="this caller has none that counts"):
                await sent(credentials, each)
        assert await sent(credentials, token_of(ANN, expires=clock.now + 1)) == "Bearer token.2.ann"


async def test_each_token_of_a_principal_has_its_own(server, clock):
    """Ours: they can have other scopes."""
    less, more = token_of(ANN, scope="read"), token_of(ANN, scope="read write")
    async with credentials_of(server, clock) as credentials:
        found = [await sent(credentials, each) for each in (less, more, less, more)]
    assert found == ["Bearer token.1.ann", "Bearer token.2.ann"] * 2


async def test_tokens_of_one_principal_are_remembered_up_to_a_number(server, clock):
    """Ours: the longest unused first."""
    tokens = [token_of(ANN, jti=str(number)) for number in range(MAX_EXCHANGED_TOKENS + 1)]
    async with credentials_of(server, clock) as credentials:
        for token in tokens[:-1]:
            await sent(credentials, token)
        await sent(credentials, tokens[0])
        await sent(credentials, tokens[-1])
        assert await sent(credentials, tokens[0]) == "Bearer token.1.ann"
        assert await sent(credentials, tokens[1]) == f"Bearer token.{len(tokens) + 1}.ann"


async def test_a_principal_never_gets_what_another_ones_token_is_exchanged_for(server, clock):
    """Ours: a task that several callers share keeps the token of the first."""
    async with credentials_of(server, clock) as credentials, credentials_of(server, clock, BOB) as other:
        for principal in (BOB, ("desk", None, "ann"), ("phone", "https://id.example", "ann")):
            with pytest.raises(LoginFailed, match="this caller has none that counts"):
                await sent(credentials, CallerToken("x", principal, None))
        assert server.forms == []
        ann, bob = token_of(ANN), token_of(BOB)
        found = await asyncio.gather(*(sent(*pair) for pair in [(credentials, ann), (other, bob)] * 10))
        assert {header.rpartition(".")[2] for header in found[::2]} == {"ann"}
        assert {header.rpartition(".")[2] for header in found[1::2]} == {"bob"}
        assert (await sent(credentials, bob)).endswith(".ann")


@pytest.mark.parametrize("token", [None, token_of(ANN)])
async def test_the_gateway_itself_has_no_token(server, clock, token):
    """Ours: also clients over stdio."""
    async with credentials_of(server, clock, None) as credentials:
        with pytest.raises(LoginFailed, match="this caller has none"):
            await sent(credentials, token)
    assert server.made.asked == []


async def test_a_refused_token_is_replaced_once(server, clock):
    """Ours: a server that refuses a new one refuses the caller."""
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        header = {"authorization": await sent(credentials, token)}
        clock.now += LOGIN_FRESH_S
        assert not await credentials.on_refused(header, 403, "Bearer")
        assert await credentials.on_refused(header, 401, None)
        # Another request was refused at the same time.
        assert await credentials.on_refused(header, 401, None)
        header = {"authorization": await sent(credentials, token)}
        assert header == {"authorization": "Bearer token.2.ann"}
        with pytest.raises(LoginFailed, match="the server refuses the token"):
            await credentials.on_refused(header, 401, None)
        # By a clock that is put back it is of the future.
        clock.now -= 2 * LOGIN_FRESH_S
        assert await credentials.on_refused(header, 401, None)


async def test_a_short_token_that_is_refused_near_its_end_is_replaced(server, clock):
    """Ours: it may have ended on its way."""
    server.changed = {"expires_in": 4}
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        header = {"authorization": await sent(credentials, token)}
        clock.now += 2
        with pytest.raises(LoginFailed, match="the server refuses the token"):
            await credentials.on_refused(header, 401, None)
        clock.now += 1
        assert await credentials.on_refused(header, 401, None)


BAD = {
    "html": (b"<html>", "something else than a token"),
    "null": (b"null", "something else than a token"),
    "no token": ({"access_token": None}, "something else than a token"),
    "an empty token": ({"access_token": ""}, "something else than a token"),
    "two headers": ({"access_token": "a\r\nb: c"}, "something else than a token"),
    "a line end": ({"access_token": "a\n"}, "something else than a token"),
    "too long": ({"access_token": "a" * 17_000}, "something else than a token"),
    "no kind": ({"issued_token_type": None}, "something else than a token"),
    "ended": ({"expires_in": 0}, "something else than a token"),
    "endless": ({"expires_in": 10**400}, "something else than a token"),
    "a refresh token": ({"issued_token_type": ACCESS_TOKEN.replace("access", "refresh")}, "a token of another type"),
    "bound to a key": ({"token_type": "DPoP"}, "a token of another type"),
    "5 MB": (b"x" * 5_000_000, f"more than {MAX_AUTH_BYTES:,} bytes"),
}


@pytest.mark.parametrize(("answer", "told"), BAD.values(), ids=BAD)
async def test_an_answer_that_is_no_token_is_refused(server, clock, answer, told):
    """RFC 8693, 2.2.1."""
    if isinstance(answer, bytes):
        server.made.answers["/token"] = 200, answer, {}
    else:
        server.changed = answer
    async with credentials_of(server, clock) as credentials:
        with pytest.raises(LoginFailed, match=re.escape(told)):
            await sent(credentials, token_of(ANN))


async def test_the_callers_own_token_is_never_taken_for_the_servers(server, clock):
    """MCP 2025-11-25, "Authorization": no token passthrough, not even by an authorization server that echoes it."""
    token = token_of(ANN)
    server.changed = {"access_token": token.text}
    async with credentials_of(server, clock) as credentials:
        with pytest.raises(LoginFailed, match="the caller's own token, which no server gets") as caught:
            await sent(credentials, token)
    assert token.text not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "answer", "told"),
    [
        ("/token", (400, b'{"error": "invalid_target"}', {}), "HTTP 400, invalid_target"),
        ("/token", (500, b"<html>", {}), "HTTP 500"),
        ("/token", (307, b"", {"location": "https://evil.example/token"}), "HTTP 307"),
        (METADATA, (404, b"", {}), "serves no metadata"),
        (METADATA, (200, b"<html>", {}), "serves no metadata"),
    ],
)
async def test_an_authorization_server_that_refuses_is_told_by_its_code_alone(server, clock, path, answer, told):
    """Ours: the rest may quote what was sent."""
    server.made.answers[path] = answer
    async with credentials_of(server, clock) as credentials:
        with pytest.raises(LoginFailed, match=told):
            await sent(credentials, token_of(ANN))


async def test_metadata_of_another_issuer_gets_no_token(server, clock):
    """RFC 8414, 3.3."""
    server.made.answers[METADATA] = server.metadata("https://evil.example")
    async with credentials_of(server, clock) as credentials:
        with pytest.raises(LoginFailed, match="serves no metadata of an authorization server of that name"):
            await sent(credentials, token_of(ANN))
    assert server.forms == []


async def test_an_authorization_server_that_hangs_is_given_up(clock, monkeypatch):
    """Ours: and is not asked for each call."""
    monkeypatch.setattr(requests, "AUTH_FETCH_S", 0.2)
    accepted = []

    async def accept(reader, writer):
        accepted.append(await reader.readline())
        await reader.read()
        writer.close()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as listener:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        exchange = TokenExchange(upstream(URL, oauth=settings(url)), clock)
        credentials = ExchangedCredentials(ANN, exchange)
        token = token_of(ANN)
        for _ in range(3):
            with pytest.raises(LoginFailed, match=r"cannot be asked: \w+; it is tried again in"):
                await sent(credentials, token)
        await credentials.close()
    assert len(accepted) == 1


async def test_an_authorization_server_that_has_moved_is_found_again(server, clock):
    """Ours."""
    token = token_of(ANN)
    async with credentials_of(server, clock) as credentials:
        await sent(credentials, token)
        server.made.answers["/token"] = 404, b"", {}
        clock.now += 50
        await sent(credentials, token)
        del server.made.answers["/token"]
        exchanged_for = await sent(credentials, token_of(ANN, jti="2"))
    assert exchanged_for == "Bearer token.2.ann"
    assert server.made.asked.count(METADATA) == 2


def test_no_text_of_them_shows_a_token(server, clock, caplog):
    """Ours: debuggers and error reports print what is there."""
    token = token_of(ANN)
    exchange = TokenExchange(upstream(URL, oauth=settings(server.url)), clock)
    shown = repr((token, exchange, settings(server.url)))
    assert token.text not in shown
    assert SECRET not in shown


JWKS = {"jwks": "https://id.example/jwks", "resource": "https://a.example/x"}


@pytest.mark.parametrize(
    ("more", "louver", "told"),
    [
        ({}, {}, "'token_exchange' needs 'auth' under 'louver' at the top, with 'jwks'"),
        ({}, {"auth": {"tokens": "tokens.json"}}, "with 'jwks': callers bring tokens of an issuer"),
        ({"for": "gateway"}, {"auth": JWKS}, "tokens are exchanged with 'for': 'principal'"),
        ({"clientSecret": None}, {"auth": JWKS}, "'clientSecret' is missing"),
        ({"issuer": None}, {"auth": JWKS}, "'clientSecret' goes with 'issuer'"),
        ({"grant": "authorization_code", "audience": "a"}, {"auth": JWKS}, "'audience' goes with 'grant'"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path, monkeypatch, more, louver, told):
    """Ours."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.json").write_text("{}")
    section = {**oauth("https://id.example")["oauth"], **more}
    section = {name: value for name, value in section.items() if value is not None}
    with pytest.raises(InvalidConfig, match=re.escape(told)):
        as_config({"mcpServers": {"a": {"url": URL, "louver": {"oauth": section}}}, "louver": louver})


def test_browsers_do_not_return_where_tokens_are_exchanged():
    """Ours: so no address of the gateway has to end with /mcp."""
    config = as_config(
        {"mcpServers": {"a": {"url": URL, "louver": oauth("https://i.example")}}, "louver": {"auth": JWKS}}
    )
    (server,) = config.upstreams
    assert (server.is_per_principal, server.exchanges_tokens, server.logs_in_callers) == (True, True, False)
