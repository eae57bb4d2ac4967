"""A person signs in at the page, at a certified issuer, and has the rights of the token."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from fixtures.stores import free_port
from gateway.front.auth.guarded import bearing
from gateway.served import config, fixture, serving
from louver.errors import InvalidConfig
from louver.gateway.config.read import as_config
from team.login.servers import Browser, authorization_server

pytestmark = pytest.mark.anyio

SIGN_IN = {"clientId": "page"}
ISSUED = {"jwks": "https://id.example/jwks", "issuer": "https://id.example"}


@pytest.mark.parametrize(
    "auth",
    [
        {**ISSUED, "audience": "gateway"},
        {**ISSUED, "resource": "https://gateway.example/"},
        {"jwks": ISSUED["jwks"], "resource": "https://gateway.example/mcp"},
    ],
    ids=["no resource", "no page beside the resource", "no issuer"],
)
def test_who_signs_in_needs_an_issuer_and_a_way_back(auth):
    servers = {"mcpServers": {"it": {"command": "it"}}}
    with pytest.raises(InvalidConfig, match="'signIn' needs 'jwks', 'issuer', and a 'resource' that ends with /mcp"):
        as_config({**servers, "louver": {"auth": {**auth, "signIn": SIGN_IN}}})


@pytest.mark.deep
async def test_a_person_signs_in_at_the_page(tmp_path):
    """Issue 59: a code with PKCE; the token's rights; and only in the browser that has begun it."""
    url = f"http://127.0.0.1:{free_port()}"
    page, back = f"{url}/ui", f"{url}/ui/signed-in"
    with authorization_server() as issuer:
        wanted = {"redirect_uris": [back], "token_endpoint_auth_method": "none", "application_type": "native"}
        registered = httpx2.post(f"{issuer}/reg", json=wanted).json()
        auth = {
            "jwks": f"{issuer}/jwks",
            "issuer": issuer,
            "resource": f"{url}/mcp",
            "signIn": {"clientId": registered["client_id"], "scopes": ["read"]},
        }
        options = config(tmp_path, {"records": fixture("records")}, auth=auth)
        with serving(*options, "--ui", "--http", url.removeprefix("http://"), no_auth=False):
            async with httpx2.AsyncClient() as browser, httpx2.AsyncClient() as other:
                assert "<body data-sign-in>" in (await browser.get(page)).text
                begun = await browser.get(f"{page}/sign-in")
                assert begun.status_code == 303
                returned = await asyncio.to_thread(Browser(back).log_in, begun.headers["location"])
                assert (await other.get(returned)).status_code == 400
                changed = httpx2.URL(returned).copy_set_param("iss", "https://evil.example")
                assert (await browser.get(changed)).status_code == 400
                refused = httpx2.URL(returned).copy_remove_param("code")
                assert (await browser.get(refused)).status_code == 403
                done = await browser.get(returned)
                assert done.status_code == 303, done.text
                assert (await browser.get(returned)).status_code == 400
                address = urlsplit(done.headers["location"])
                assert address.path == "/ui"
                [token] = parse_qs(address.fragment)["token"]
                about = await browser.get(f"{page}/api/about", headers={"authorization": f"Bearer {token}"})
                assert about.json()["operator"] is False
            async with bearing(f"{url}/mcp", token) as client:
                assert (await client.result("tools/list"))["tools"]
