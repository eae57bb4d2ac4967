"""Servers and authorization servers that mislead, refuse, hang, or answer too much."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.shared.auth import AuthorizationCodeResult

from fixtures.failsafe import FAILSAFE_S, until
from louver.errors import LoginFailed
from louver.limits import MAX_AUTH_BYTES
from louver.team.login import requests
from louver.team.login.flow import Flow, UserAgent
from louver.team.login.interactive import log_in
from louver.team.login.requests import AuthorizationRequests
from louver.team.login.stores.folder import LoginFolder
from team.login.servers import Browser, upstream

pytestmark = pytest.mark.anyio

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
METADATA = "/.well-known/oauth-authorization-server"
SECRET = "canary-5d1c0e"


@contextmanager
def answering(**changed):
    """A server with its own authorization server, whose answers can be changed by name."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests.append(self.path)
            answer = changed.get(self.path.partition("?")[0], self.server.answers.get(self.path))
            if answer == "hang":
                ended.wait(FAILSAFE_S)
                return
            status, value = answer if isinstance(answer, tuple) else (404 if answer is None else 200, answer)
            body = value if isinstance(value, bytes) else json.dumps(value).encode()
            self.send_response(status)
            if status == 401:
                self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_port}"
    server.requests = []
    server.answers = {
        "/mcp": (401, {}),
        RESOURCE: {"resource": f"{url}/mcp", "authorization_servers": [url]},
        METADATA: {
            "issuer": url,
            "authorization_endpoint": f"{url}/authorize",
            "token_endpoint": f"{url}/token",
            "registration_endpoint": f"{url}/register",
        },
        "/register": {"client_id": "louver", "token_endpoint_auth_method": "none"},
        "/token": {"access_token": SECRET, "token_type": "Bearer"},
    }
    server.url = url
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        ended.set()
        server.shutdown()
        server.server_close()


class Puppet:
    """Somebody whose browser comes back with what a test says."""

    def __init__(self, **changed):
        self.changed = changed
        self.pages = []
        self.user_agent = UserAgent("http://127.0.0.1:9/callback", self.show, self.answer)

    async def show(self, url):
        self.pages.append(url)

    async def answer(self):
        state = parse_qs(urlsplit(self.pages[-1]).query)["state"][0]
        return AuthorizationCodeResult(**{"code": "c0de", "state": state, **self.changed})


async def fails(server, tmp_path, puppet=None, url=None):
    with pytest.raises(LoginFailed) as raised:
        await log_in(upstream(url or f"{server.url}/mcp"), LoginFolder(tmp_path), (puppet or Puppet()).user_agent)
    assert not [*tmp_path.glob("*[0-9a-f]")]
    return raised.value.message


async def test_a_server_that_does_as_it_should_is_logged_in_to(tmp_path):
    """The cases below differ from this one by a single answer."""
    with answering() as server:
        login = await log_in(upstream(f"{server.url}/mcp"), LoginFolder(tmp_path), Puppet().user_agent)
    assert login.tokens.access_token == SECRET
    assert login.expires_at is None


async def test_metadata_of_another_issuer_is_refused(tmp_path):
    """Step 17: issuer mix-up. RFC 8414 section 3.3."""
    with answering() as server:
        server.answers[METADATA]["issuer"] = "https://other.example"
        message = await fails(server, tmp_path)
    assert "issuer mismatch" in message
    assert "/register" not in server.requests


async def test_metadata_of_another_resource_is_refused(tmp_path):
    """Step 17: wrong resource. RFC 9728 section 3.3."""
    with answering() as server:
        server.answers[RESOURCE]["resource"] = "https://other.example/mcp"
        message = await fails(server, tmp_path)
    assert "https://other.example/mcp does not match" in message
    assert METADATA not in server.requests


@pytest.mark.parametrize("member", ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
async def test_an_endpoint_without_encryption_is_not_used(member, tmp_path):
    """Step 17: metadata that points elsewhere."""
    with answering() as server:
        server.answers[METADATA][member] = "http://other.example/x"
        puppet = Puppet()
        message = await fails(server, tmp_path, puppet)
    assert message == "the server names http://other.example: expected https://"
    assert member == "token_endpoint" or not puppet.pages


@pytest.mark.parametrize(
    "address",
    [
        *("http://127.0.0.1:9", "http://localhost:9", "https://a.localhost.", "https://169.254.169.254"),
        *("https://[::1]", "https://[::ffff:10.0.0.1]", "https://127.1", "https://2130706433", "https://0x7f.1."),
        *("https://[64:ff9b::a9fe:a9fe]", "https://[2002:a9fe:a9fe::1]", "https://[::127.0.0.1]"),
        *("https://[::ffff:0:127.0.0.1]", "https://[64:ff9b:1::1]", "https://[fec0::1]", "https://[ff02::1]"),
        *("https://224.0.0.1", "https://0.0.0.0", "https://[::]", "https://[fe80::1%25lo]"),
    ],
)
async def test_a_server_elsewhere_cannot_name_an_address_of_this_network(address, tmp_path):
    """Ours: the gateway would ask there in the place of the server."""
    server = upstream("https://mcp.example/mcp")
    run = Flow(server, None, Browser().user_agent)
    with pytest.raises(LoginFailed, match="an address of this machine or network: it is not asked"):
        await run.log_in(f'Bearer resource_metadata="{address}/x"', lambda: 0.0)


@pytest.mark.parametrize("address", ["1.1.1.1", "[2606:4700::1111]", "[64:ff9b::1.1.1.1]", "[2002:101:101::1]"])
def test_an_address_elsewhere_may_be_named(address):
    """Ours: a network that has IPv6 alone reaches others by translated addresses."""
    AuthorizationRequests("https://mcp.example/mcp").check_address(httpx2.URL(f"https://{address}/x"))


async def test_a_name_that_leads_to_this_network_is_not_asked(tmp_path):
    """Step 19, row 24: whatever a name resolves to when it is used. Servers of this network may name others."""
    name = socket.gethostname()
    *_, (address, *_) = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0]
    if ip_address(address).is_global:
        pytest.skip("the name of this machine leads elsewhere")
    sent = []

    async def serve(reader, writer):
        sent.append(await reader.read(100))
        writer.close()

    async with await asyncio.start_server(serve, address, 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        challenge = f'Bearer resource_metadata="https://{name}:{port}/x"'
        for server, problem in (("1.1.1.1", "an address of this machine or network"), (name, "cannot be asked")):
            run = Flow(upstream(f"https://{server}/mcp"), None, Browser().user_agent)
            with pytest.raises(LoginFailed, match=problem):
                await run.log_in(challenge, lambda: 0.0)
            await until(lambda: sent)
            assert any(sent) == (server == name)
            sent.clear()


async def test_only_this_machine_is_asked_without_encryption(tmp_path):
    """Ours: on the network of a server of this machine, others listen."""
    with answering() as server:
        server.answers[METADATA]["token_endpoint"] = "http://192.168.0.9/token"
        assert await fails(server, tmp_path) == "the server names http://192.168.0.9: expected https://"


@pytest.mark.parametrize(
    "changed",
    [
        *({"access_token": token} for token in ("", "a b", "x\r\nX-Evil: 1", "\u20ac", "a" * 20_000)),
        {"expires_in": 10**400},
    ],
)
async def test_an_answer_that_no_request_can_follow_is_refused(changed, tmp_path):
    """Ours: a login would be kept whose every request fails."""
    with answering() as server:
        server.answers["/token"] |= changed
        message = await fails(server, tmp_path)
    assert "cannot be used" in message


@pytest.mark.parametrize(
    "challenge",
    [
        *('Bearer realm="f\xfcr alle"', f'Bearer scope="{"x " * 50_000}"', 'Bearer resource_metadata="http://["'),
        'Bearer resource_metadata="http://127.0.0.1:70000/"',
    ],
)
async def test_a_challenge_that_cannot_be_followed_is_no_accident(challenge):
    """Ours."""
    with answering() as server:
        flow = Flow(upstream(f"{server.url}/mcp"), None, Puppet().user_agent)
        try:
            assert await flow.log_in(challenge, lambda: 0.0)
        except LoginFailed:
            assert "realm" not in challenge


async def test_an_authorization_endpoint_keeps_its_query(tmp_path):
    """RFC 6749, 3.1."""
    with answering() as server:
        server.answers[METADATA]["authorization_endpoint"] += "?p=policy"
        puppet = Puppet()
        assert await log_in(upstream(f"{server.url}/mcp"), LoginFolder(tmp_path), puppet.user_agent)
    query = parse_qs(urlsplit(puppet.pages[-1]).query)
    assert (query["p"], query["response_type"]) == (["policy"], ["code"])


async def test_an_authorization_server_that_has_forgotten_the_client_registers_another(tmp_path):
    """Ours: without its memory it would refuse each login in the browser, where nobody here sees it."""
    with answering() as server:
        server.answers["/token"] |= {"refresh_token": "renew"}
        server.answers["/register"] |= {"redirect_uris": [Puppet().user_agent.redirect_uri]}
        of, store = upstream(f"{server.url}/mcp"), LoginFolder(tmp_path)
        await log_in(of, store, Puppet().user_agent)
        login = await log_in(of, store, Puppet().user_agent)
        assert server.requests.count("/register") == 1
        server.answers["/token"] = (401, {"error": "invalid_client"})
        await store.write(of.login_id, await Flow(of, login).refresh(login, login.obtained_at))
        server.answers["/token"] = {"access_token": SECRET, "token_type": "Bearer"}
        await log_in(of, store, Puppet().user_agent)
        assert server.requests.count("/register") == 2


@pytest.mark.parametrize("seconds", [0, -1, 2**53 - 1])
async def test_a_token_for_no_time_or_for_ever_is_used_until_it_is_refused(seconds, tmp_path):
    """Ours: it would be renewed for each request, or have an end that no calendar has."""
    with answering() as server:
        server.answers["/token"] |= {"expires_in": seconds, "refresh_token": "renew"}
        login = await log_in(upstream(f"{server.url}/mcp"), LoginFolder(tmp_path), Puppet().user_agent)
    assert (login.expires_at, login.renew_at, login.has_expired(login.obtained_at + 1)) == (None, None, False)
    assert login.described.endswith("until the server refuses it")


@pytest.mark.parametrize(
    "changed", [{"state": "f0reign-5tate"}, {"state": None}, {"iss": "https://f0reign.example"}, {"code": ""}]
)
async def test_an_answer_that_belongs_to_another_login_is_refused_without_its_secrets(changed, tmp_path, caplog):
    """Step 17: a redirect with a foreign state. RFC 9207: or of another issuer."""
    puppet = Puppet(**changed)
    with answering() as server:
        message = await fails(server, tmp_path, puppet)
    assert message == "the authorization server's answer does not belong to this login"
    assert "State parameter mismatch" not in caplog.text
    assert "f0reign" not in caplog.text
    assert "/token" not in server.requests


@pytest.mark.parametrize(
    ("path", "answer", "message"),
    [
        (
            "/register",
            (403, {"error": "access_denied"}),
            "HTTP 403, access_denied, when it is asked to register a client",
        ),
        ("/register", b"{", "when it is asked to register a client"),
        (
            "/token",
            (400, {"error": "invalid_grant", "error_description": SECRET}),
            "HTTP 400, invalid_grant, when it is",
        ),
        ("/token", {"access_token": SECRET, "token_type": "mac"}, "when it is asked for tokens"),
        ("/token", (302, SECRET), "HTTP 302, when it is asked for tokens"),
        (METADATA, b" " * (MAX_AUTH_BYTES + 1), f"more than {MAX_AUTH_BYTES:,} bytes"),
        (RESOURCE, (503, {}), "Protected resource metadata request failed: HTTP 503"),
    ],
)
async def test_a_refusal_is_told_by_its_code_alone(path, answer, message, tmp_path):
    """Ours: texts of an authorization server may quote what it was sent."""
    with answering(**{path: answer}) as server:
        found = await fails(server, tmp_path)
    assert message in found
    assert SECRET not in found


@pytest.mark.parametrize("path", [RESOURCE, METADATA, "/register", "/token"])
async def test_an_authorization_server_that_hangs_is_not_waited_for(path, tmp_path, monkeypatch):
    """Step 17."""
    monkeypatch.setattr(requests, "AUTH_FETCH_S", 0.1)
    with answering(**{path: "hang"}) as server:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+ cannot be asked: \w*Timeout\w*", await fails(server, tmp_path))


async def test_a_server_that_cannot_be_reached_is_told_so(tmp_path):
    """Ours."""
    assert "cannot be reached" in await fails(None, tmp_path, url="http://127.0.0.1:9/mcp")


async def test_two_logins_at_once_leave_one(server, tmp_path):
    """Step 17: the last one counts, and both work."""
    store = LoginFolder(tmp_path)
    first, second = Browser(), Browser()

    class Meanwhile(Browser):
        async def answer(self):
            await log_in(server, store, second.user_agent)
            return await super().answer()

    first = Meanwhile()
    login = await log_in(server, store, first.user_agent)
    assert await store.read(server.login_id) == login


@pytest.mark.parametrize(
    ("answer", "has_ended"),
    [
        ((400, {"error": "invalid_grant"}), True),
        ((200, {"error": "bad_refresh_token"}), True),
        ((400, {"error": "temporarily_unavailable"}), False),
        ((400, b"a proxy"), False),
        ((503, {"error": "invalid_grant"}), False),
        ((429, {"error": "rate_limited"}), False),
    ],
)
async def test_a_login_ends_only_by_a_refusal_for_good(answer, has_ended, tmp_path):
    """Ours: an outage of a week-end must not ask somebody to log in on Monday."""
    with answering() as server:
        server.answers["/token"]["refresh_token"] = "first"
        login = await log_in(upstream(f"{server.url}/mcp"), LoginFolder(tmp_path), Puppet().user_agent)
        server.answers["/token"] = answer
        renewing = Flow(upstream(f"{server.url}/mcp"), login).refresh(login, 0.0)
        if has_ended:
            assert answer[1]["error"] in (await renewing).problem
        else:
            with pytest.raises(LoginFailed, match="the login cannot be renewed"):
                await renewing
