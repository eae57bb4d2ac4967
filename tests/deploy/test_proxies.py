"""The files of deploy/ for nginx and HAProxy as they ship: people log in through them, calls go by turns."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx2
import pytest

from fixtures import stores
from fixtures.proxies import PROXIES, proxied
from fixtures.stores import free_port
from gateway.front.auth.guarded import METADATA, bearing, token_file
from gateway.raw import HANDSHAKE, STATELESS
from gateway.served import at, at_a_url, config, serving
from team.login.principals import PRINCIPAL, Visitor
from team.login.test_principals import link_of, whose

pytestmark = pytest.mark.anyio

ISSUER = "https://id.example/realm"
CALLERS = {f"t-{name}": {"subject": name, "client": "desk"} for name in ("ann", "bob", "cy", "dan")}
LOGINS = list(zip(CALLERS, [(proxy, era) for proxy in PROXIES for era in (HANDSHAKE, STATELESS)], strict=True))


@pytest.fixture(scope="module")
def replicas(tmp_path_factory):
    """Three replicas before a server that wants logins, and the port at which clients find a proxy."""
    port = free_port()
    with ExitStack() as stack:
        state = stack.enter_context(stores.redis()).url
        url = stack.enter_context(at_a_url("sdk_authorization"))
        own = [free_port() for _ in range(3)]
        for replica in own:
            folder = tmp_path_factory.mktemp("replica")
            louver = {
                "auth": {
                    "tokens": token_file(folder, CALLERS),
                    "issuer": ISSUER,
                    "resource": f"http://127.0.0.1:{port}/mcp",
                },
                "state": state,
                "keys": ["k" * 32],
                "replicaUrl": f"http://127.0.0.1:{replica}/mcp",
            }
            options = [*config(folder, {"tracker": at(url, **PRINCIPAL)}, **louver), "--http", f"127.0.0.1:{replica}"]
            environ = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
            stack.enter_context(serving(*options, no_auth=False, env=environ))
        yield own, port


@pytest.mark.parametrize(("token", "proxy", "era"), [(token, *through) for token, through in LOGINS])
async def test_a_person_logs_in_through_the_proxy_and_each_replica_knows(replicas, tmp_path, token, proxy, era):
    """Issue 59: 401, its metadata, the login page, the way back, and then calls by turns without a further login."""
    with proxied(proxy, tmp_path, *replicas) as url:
        async with httpx2.AsyncClient() as client:
            refused = await client.post(url, json={})
            assert refused.status_code == 401
            metadata = (await client.get(METADATA.search(refused.headers["www-authenticate"])[1])).json()
        assert (metadata["resource"], metadata["authorization_servers"]) == (url, [ISSUER])
        async with bearing(url, token, era) as client, Visitor() as visitor:
            assert "You are logged in" in await visitor.log_in(await link_of(client))
            assert len({await whose(client) for _ in range(100)}) == 1


@contextmanager
def dying():
    """The port of a replica that is ready, and breaks off each call; and the calls."""
    calls = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def do_POST(self):
            calls.append(self.path)
            self.close_connection = True

        def log_message(self, *_):
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, calls
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("proxy", PROXIES)
def test_a_call_that_may_have_run_goes_to_no_second_replica(tmp_path, proxy):
    """Issue 43: a replica that dies may have run a call. The next call is not refused for that: others may be back."""
    with (
        dying() as (one, at_one),
        dying() as (other, at_other),
        proxied(proxy, tmp_path, [one, other], free_port()) as url,
    ):
        assert [httpx2.post(url, content=b"{}").status_code for _ in range(2)] == [502, 502]
        assert at_one + at_other == ["/mcp", "/mcp"]
        assert httpx2.get(url).status_code == 200
