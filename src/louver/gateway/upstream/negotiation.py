"""Agreement on a protocol revision with an upstream: first the client's kind of revision, then the other.

    -> server/discover {"_meta": {"...protocolVersion": "2026-07-28", ...}}    a result: 2026-07-28
    <- error                                                                   the upstream does not know it
    -> initialize {"protocolVersion": "2025-11-25", ...}                       2025-11-25, or the result's revision

A broken connection says nothing about revisions. Source: `negotiate_auto` of the Python SDK.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_REQUEST,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from louver import __version__
from louver.core.json import digest, is_object, members, strings
from louver.errors import UpstreamInvalidOutput, UpstreamTimeout, UpstreamUnavailable
from louver.gateway.clients.revisions import is_modern
from louver.gateway.transports.transport import Call, unasked, unheard
from louver.gateway.upstream.result_checks import checked
from louver.limits import DISCOVER_TIMEOUT_S

if TYPE_CHECKING:
    from louver.gateway.transports.transport import Link


_NOT_KNOWN: Final = (400, 404, 405)


@dataclass(frozen=True, slots=True)
class Hello:
    """The client identity that an upstream sees."""

    version: str  # the revision to try first
    info: dict[str, Any]
    capabilities: dict[str, Any]
    said: dict[str, Any] = field(default_factory=dict[str, Any])  # the client's complete `initialize` params

    @property
    def digest(self) -> str:
        """Equal for clients that look the same to an upstream."""
        return digest([self.version, self.info, self.capabilities, self.said])

    @property
    def envelope(self) -> dict[str, Any]:
        """The `_meta` of every request in 2026-07-28."""
        return {
            PROTOCOL_VERSION_META_KEY: MODERN_PROTOCOL_VERSIONS[-1],
            CLIENT_INFO_META_KEY: self.info,
            CLIENT_CAPABILITIES_META_KEY: self.capabilities,
        }


# The gateway's identity in shared sessions. `Client.check_can` checks what the actual client supports.
GATEWAY: Final = Hello(
    LATEST_MODERN_VERSION,
    {"name": "louver", "version": __version__},
    {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}},
)


@dataclass(frozen=True, slots=True)
class Opened:
    version: str
    opening: dict[str, Any]  # the result of `initialize` or `server/discover`

    @property
    def name(self) -> str | None:
        info = self.opening.get("serverInfo") or members(self.opening.get("_meta")).get(SERVER_INFO_META_KEY)
        name = members(info).get("name")
        return name if isinstance(name, str) else None

    @property
    def has_tools(self) -> bool:
        return members(self.opening.get("capabilities")).get("tools") is not None


async def negotiate(link: Link, hello: Hello, timeout_s: float) -> Opened:
    """Negotiate over a connected transport; `timeout_s` is the limit for `initialize`."""
    if not is_modern(hello.version):
        try:
            return await _initialize(link, hello, timeout_s)
        except MCPError as refused:
            try:
                return await _discover(link, hello)
            except MCPError:
                raise refused from None
    try:
        return await _discover(link, hello)
    except MCPError as error:
        if error.code == UNSUPPORTED_PROTOCOL_VERSION and not _speaks_handshake(error):
            raise
    except UpstreamTimeout:
        # Handshake servers may ignore a request before `initialize`.
        pass
    except UpstreamUnavailable as error:
        # Or they refuse it with an HTTP status alone.
        if error.fields.get("status") not in _NOT_KNOWN:
            raise
    return await _initialize(link, hello, timeout_s)


async def _discover(link: Link, hello: Hello) -> Opened:
    version = MODERN_PROTOCOL_VERSIONS[-1]
    link.speak(version)
    params = {"_meta": {**hello.envelope, PROTOCOL_VERSION_META_KEY: version}}
    try:
        opening = await _answer(link, "server/discover", params, DISCOVER_TIMEOUT_S)
    except MCPError as error:
        # A server may refuse one request to report its revisions, even if this one is among them.
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or version not in _supported(error):
            raise
        opening = await _answer(link, "server/discover", params, DISCOVER_TIMEOUT_S)
    if version not in strings(opening.get("supportedVersions")):
        raise MCPError(code=INVALID_REQUEST, message="the server does not list this revision")
    return Opened(version, checked("server/discover", opening))


async def _initialize(link: Link, hello: Hello, timeout_s: float) -> Opened:
    link.speak(None)
    offered = hello.version if hello.version in HANDSHAKE_PROTOCOL_VERSIONS else LATEST_HANDSHAKE_VERSION
    params = {**hello.said, "protocolVersion": offered, "capabilities": hello.capabilities, "clientInfo": hello.info}
    opening = await _answer(link, "initialize", params, timeout_s)
    version = opening.get("protocolVersion")
    if not isinstance(version, str) or version not in HANDSHAKE_PROTOCOL_VERSIONS:
        raise UpstreamInvalidOutput("the upstream answers 'initialize' with a protocol revision that is not known")
    checked("initialize", opening)
    link.speak(version)
    await link.notify("notifications/initialized", None)
    await link.listen()
    return Opened(version, opening)


async def _answer(link: Link, method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    try:
        async with asyncio.timeout(timeout_s):
            return await link.call(Call(method, params, unheard, unasked))
    except TimeoutError:
        raise UpstreamTimeout(f"the upstream has not answered {method!r} within {timeout_s:g} s") from None


def _supported(error: MCPError) -> list[str]:
    data: Any = error.error.data
    return strings(data.get("supported")) if is_object(data) else []


def _speaks_handshake(error: MCPError) -> bool:
    supported = _supported(error)
    return not supported or any(version in HANDSHAKE_PROTOCOL_VERSIONS for version in supported)
