"""Agreement on a protocol revision with an upstream: first the client's kind of revision, then the other.

    -> server/discover {"_meta": {"...protocolVersion": "2026-07-28", ...}}    a result: 2026-07-28
    <- error                                                                   the upstream does not know it
    -> initialize {"protocolVersion": "2025-11-25", ...}                       2025-11-25, or the result's revision

A broken connection says nothing about revisions. Source: `negotiate_auto` of the Python SDK.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_object, members, strings
from louver.errors import UpstreamInvalidOutput, UpstreamTimeout, UpstreamUnavailable
from louver.gateway.back.result_checks import check_result
from louver.gateway.back.transports.transport import Call, ignore_notification, refuse_request
from louver.gateway.clients.revisions import is_modern
from louver.wire.jsonrpc.errors import INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION, JsonRpcError
from louver.wire.mcp import (
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)

if TYPE_CHECKING:
    from louver.gateway.back.transports.transport import Transport
    from louver.gateway.clients.revisions import ClientIdentity

DISCOVER_TIMEOUT_S = 5.0
"""How long an upstream may take to announce 2026-07-28, in seconds."""


_UNKNOWN_METHOD_STATUSES: Final = (400, 404, 405)


@dataclass(frozen=True, slots=True)
class Negotiation:
    version: str
    opening: dict[str, Any]  # the result of `initialize` or `server/discover`

    @property
    def is_modern(self) -> bool:
        """Whether it is 2026-07-28."""
        return is_modern(self.version)

    @property
    def info(self) -> dict[str, Any]:
        """Its `serverInfo`."""
        return members(self.opening.get("serverInfo") or members(self.opening.get("_meta")).get(SERVER_INFO_META_KEY))

    @property
    def name(self) -> str | None:
        name = self.info.get("name")
        return name if isinstance(name, str) else None

    @property
    def server(self) -> tuple[object, object]:
        """The server's name and version, as it reports them."""
        return self.info.get("name"), self.info.get("version")

    @property
    def has_tools(self) -> bool:
        return members(self.opening.get("capabilities")).get("tools") is not None


async def negotiate(transport: Transport, identity: ClientIdentity, timeout_s: float) -> Negotiation:
    """Negotiate over a connected transport; `timeout_s` is the limit for `initialize`."""
    if not is_modern(identity.version):
        try:
            return await _initialize(transport, identity, timeout_s)
        except JsonRpcError as refused:
            try:
                return await _discover(transport, identity)
            except JsonRpcError:
                raise refused from None
    try:
        return await _discover(transport, identity)
    except JsonRpcError as error:
        if error.code == UNSUPPORTED_PROTOCOL_VERSION and not _supports_handshake(error):
            raise
    except UpstreamTimeout:
        # Handshake servers may ignore a request before `initialize`.
        pass
    except UpstreamUnavailable as error:
        # Or they refuse it with an HTTP status alone.
        if error.fields.get("status") not in _UNKNOWN_METHOD_STATUSES:
            raise
    return await _initialize(transport, identity, timeout_s)


async def _discover(transport: Transport, identity: ClientIdentity) -> Negotiation:
    version = MODERN_VERSIONS[-1]
    transport.set_version(version)
    params = {"_meta": {**identity.envelope, PROTOCOL_VERSION_META_KEY: version}}
    try:
        opening = await _request(transport, "server/discover", params, DISCOVER_TIMEOUT_S)
    except JsonRpcError as error:
        # A server may refuse one request to report its revisions, even if this one is among them.
        if error.code != UNSUPPORTED_PROTOCOL_VERSION or version not in _supported(error):
            raise
        opening = await _request(transport, "server/discover", params, DISCOVER_TIMEOUT_S)
    if version not in strings(opening.get("supportedVersions")):
        raise JsonRpcError(code=INVALID_REQUEST, message="the server does not list this revision")
    return Negotiation(version, check_result("server/discover", opening))


async def _initialize(transport: Transport, identity: ClientIdentity, timeout_s: float) -> Negotiation:
    transport.set_version(None)
    proposed = identity.version if identity.version in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE_VERSION
    params = {
        **identity.initialize_params,
        "protocolVersion": proposed,
        "capabilities": identity.capabilities,
        "clientInfo": identity.info,
    }
    opening = await _request(transport, "initialize", params, timeout_s)
    version = opening.get("protocolVersion")
    if not isinstance(version, str) or version not in HANDSHAKE_VERSIONS:
        raise UpstreamInvalidOutput("the upstream answers 'initialize' with a protocol revision that is not known")
    check_result("initialize", opening)
    transport.set_version(version)
    await transport.notify("notifications/initialized", None)
    await transport.listen()
    return Negotiation(version, opening)


async def _request(transport: Transport, method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    try:
        async with asyncio.timeout(timeout_s):
            return await transport.call(Call(method, params, ignore_notification, refuse_request))
    except TimeoutError:
        raise UpstreamTimeout(f"the upstream has not answered {method!r} within {timeout_s:g} s") from None


def _supported(error: JsonRpcError) -> list[str]:
    data: Any = error.data
    return strings(data.get("supported")) if is_object(data) else []


def _supports_handshake(error: JsonRpcError) -> bool:
    supported = _supported(error)
    return not supported or any(version in HANDSHAKE_VERSIONS for version in supported)
