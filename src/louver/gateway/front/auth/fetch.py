"""HTTP requests to an issuer: limited in size and time; no redirects, environment proxies, or decompression."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import quote

import httpx2

from louver.errors import AuthUnavailable
from louver.http1.pool import certificates, ssl_context
from louver.limits import AUTH_FETCH_S, MAX_AUTH_BYTES

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    from mcp.shared.auth import OAuthMetadata

_PLAIN = (None, "identity")


def basic_credentials(client_id: str, client_secret: str) -> tuple[str, str]:
    """Name and password of a client for Basic authentication: both are form-encoded. Source: RFC 6749, 2.3.1."""
    return quote(client_id, safe=""), quote(client_secret, safe="")


def new_client(trusted: ssl.SSLContext) -> httpx2.AsyncClient:
    """A client for requests that are bounded as a whole, by `AUTH_FETCH_S`."""
    return httpx2.AsyncClient(verify=trusted, trust_env=False, follow_redirects=False, timeout=None)


def prepare() -> None:
    """Load what requests need: all clients would wait for that with the first one."""
    new_client(certificates())


async def fetch(url: str, form: Mapping[str, str] | None = None, credentials: tuple[str, str] | None = None) -> bytes:
    """GET the URL, or POST a form, and return the body; raise `AuthUnavailable` unless the response is a plain 200."""
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    method = "GET" if form is None else "POST"
    try:
        async with (
            asyncio.timeout(AUTH_FETCH_S),
            new_client(await ssl_context()) as client,
            client.stream(method, url, data=form, auth=credentials, headers=headers) as response,
        ):
            if response.status_code != 200:
                problem = f"the issuer answers with HTTP {response.status_code}: expected 200, without a redirect"
                raise AuthUnavailable(problem)
            return await read_body(response)
    except (httpx2.HTTPError, OSError) as error:  # TimeoutError included
        raise AuthUnavailable(f"the issuer cannot be asked: {type(error).__name__}") from None


async def read_body(response: httpx2.Response) -> bytes:
    """The body of a streamed response, which must not be compressed."""
    if response.headers.get("content-encoding") not in _PLAIN:
        raise AuthUnavailable("the issuer answers in an encoding that it was not asked for")
    body = b""
    async for piece in response.aiter_raw():
        body += piece
        if len(body) > MAX_AUTH_BYTES:
            raise AuthUnavailable(f"the issuer answers with more than {MAX_AUTH_BYTES:,} bytes")
    return body


async def issuer_metadata(issuer: str, get: Callable[[str], Awaitable[bytes | None]]) -> OAuthMetadata | None:
    """What an issuer says of its endpoints, if it does; `get` returns the body of a 200. Source: RFC 8414."""
    # Imported here: few gateways ask.
    from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls, issuers_match
    from mcp.shared.auth import OAuthMetadata
    from pydantic import ValidationError

    for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer):
        if (body := await get(url)) is not None:
            try:
                metadata = OAuthMetadata.model_validate_json(body)
            except ValidationError:
                continue
            if issuers_match(str(metadata.issuer), issuer):
                return metadata
    return None
