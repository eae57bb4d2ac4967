"""Requests to an authorization server: limited in size and time, without environment proxies.

Metadata of a server elsewhere may not lead to this machine or network, however an address is written and whatever a
name resolves to, and nothing is sent without encryption, except to this machine. A response is described by its status
and OAuth error code alone: texts may quote what was sent.
"""

from __future__ import annotations

import asyncio
import re
import socket
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING, Any, Final, Self

import httpx2

from louver.errors import AuthUnavailable, LoginFailed
from louver.gateway.front.auth.fetch import new_client, read_body
from louver.http1.pool import ssl_context
from louver.limits import AUTH_FETCH_S

if TYPE_CHECKING:
    from types import TracebackType

_ERROR_CODE: Final = re.compile(r'"error"\s*:\s*"([a-z_]{1,60})"')

# Some servers refuse with status 200.
_REFUSALS: Final = (200, 400, 401, 403)
_TRANSIENT: Final = ("server_error", "slow_down", "temporarily_unavailable")

_MAX_PORT: Final = 65_535
_LOOPBACK: Final = IPv4Address("127.0.0.1")
_GLOBAL: Final = IPv6Network("2000::/3")
_TRANSLATED: Final = IPv6Network("64:ff9b::/96")  # to IPv4. Source: RFC 6052

# Between the connection and the first byte. Source: httpx, request extensions.
_CONNECTED: Final = "connection.connect_tcp.complete"


class AuthorizationRequests:
    def __init__(self, server_url: str) -> None:
        self.status: int | None = None  # of the last response
        self.error: str | None = None  # the OAuth error code in it
        self._server = httpx2.URL(server_url)
        self._client: httpx2.AsyncClient

    async def __aenter__(self) -> Self:
        self._client = new_client(await ssl_context())
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def send(self, request: httpx2.Request, credentials: tuple[str, str] | None = None) -> httpx2.Response:
        self.check_address(request.url)
        request.headers["accept-encoding"] = "identity"
        request.extensions["trace"] = partial(self._on_traced, request.url)
        try:
            async with asyncio.timeout(AUTH_FETCH_S):
                response = await self._client.send(request, auth=credentials, stream=True)
                try:
                    body = await read_body(response)
                finally:
                    await response.aclose()
        except AuthUnavailable as error:
            raise LoginFailed(error.message) from None
        except (httpx2.HTTPError, OSError) as error:  # TimeoutError included
            raise LoginFailed(f"{_origin(request.url)} cannot be asked: {type(error).__name__}") from None
        found = _ERROR_CODE.search(body.decode("utf-8", "replace"))
        self.status, self.error = response.status_code, None if found is None else found[1]
        bounded = httpx2.Response(response.status_code, headers=response.headers, content=body, request=request)
        # The SDK's provider follows redirects within an origin.
        bounded.next_request = response.next_request
        return bounded

    @property
    def refusal(self) -> str:
        """The last response, in a sentence."""
        code = "" if self.error is None else f", {self.error}"
        return f"the authorization server answers with HTTP {self.status}{code}"

    @property
    def is_final(self) -> bool:
        """Whether the last response refuses for good."""
        return self.error is not None and self.error not in _TRANSIENT and self.status in _REFUSALS

    def check_address(self, url: httpx2.URL) -> None:
        address, server = _address(url.host), _address(self._server.host)
        if _is_inner(address) and not _is_inner(server):
            raise _inward(url)
        is_loopback = address is not None and address.is_loopback
        if url.scheme != "https" and not (url.scheme == "http" and is_loopback):
            raise LoginFailed(f"the server names {_origin(url)}: expected https://")
        if (url.port or 0) > _MAX_PORT:
            raise LoginFailed(f"the server names {_origin(url)}: there is no such port")

    async def _on_traced(self, url: httpx2.URL, event: str, info: dict[str, Any]) -> None:
        """Refuse a connection to which a name has led: looked up beforehand, it could lead elsewhere a moment later."""
        if event != _CONNECTED:
            return
        stream = info["return_value"]
        if _is_inner(_address(stream.get_extra_info("server_addr")[0])) and not await _leads_inward(self._server.host):
            await stream.aclose()
            raise _inward(url)


async def _leads_inward(host: str) -> bool:
    """Whether a server is one of this machine or network, by all addresses of its name."""
    if (address := _address(host)) is not None:
        return _is_inner(address)
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(_is_inner(_address(str(each[0]))) for *_, each in found)


def _is_inner(address: IPv4Address | IPv6Address | None) -> bool:
    """Whether it is of this machine or network, also by way of IPv4; a name is not known to be."""
    if address is None:
        return False
    if isinstance(address, IPv6Address):
        translated = IPv4Address(int(address) & 0xFFFF_FFFF) if address in _TRANSLATED else None
        if (as_ipv4 := address.ipv4_mapped or address.sixtofour or translated) is not None:
            return _is_inner(as_ipv4)
        return address not in _GLOBAL or not address.is_global
    return not address.is_global or address.is_multicast


def _address(host: str) -> IPv4Address | IPv6Address | None:
    """The address that a host is written as, if it is no other name."""
    if host.rstrip(".").rpartition(".")[2] == "localhost":
        return _LOOPBACK
    with suppress(ValueError):
        return ip_address(host)
    with suppress(OSError):
        # As resolvers read it: `127.1`, `0x7f000001`.
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    return None


def _inward(url: httpx2.URL) -> LoginFailed:
    return LoginFailed(f"the server names {_origin(url)}, an address of this machine or network: it is not asked")


def _origin(url: httpx2.URL) -> str:
    return f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
