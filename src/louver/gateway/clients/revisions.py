"""Conversion between the two kinds of protocol revisions: handshake (2025) and stateless (2026-07-28).

    2025   initialize {"clientInfo": ..., "capabilities": ...}    then   tools/list {}
    2026   tools/list {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                 "io.modelcontextprotocol/clientInfo": ..., ".../clientCapabilities": ...}}

Only what a revision demands is added or removed. Requests to clients are converted in `input_required.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver import __version__
from louver.core.json import digest, is_object, members
from louver.wire.mcp import (
    CACHEABLE_METHODS,
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    LOG_LEVEL_META_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)

if TYPE_CHECKING:
    from louver.wire.jsonrpc.codec import Params

# The keys of `_meta` that identify the client in a 2026-07-28 request.
ENVELOPE_KEYS: Final = (
    PROTOCOL_VERSION_META_KEY,
    CLIENT_INFO_META_KEY,
    CLIENT_CAPABILITIES_META_KEY,
    LOG_LEVEL_META_KEY,
)

_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")


@dataclass(frozen=True, slots=True)
class ClientIdentity:
    """The client identity that an upstream sees."""

    version: str  # the revision to try first
    info: dict[str, Any]
    capabilities: dict[str, Any]
    # the client's complete `initialize` params
    initialize_params: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def digest(self) -> str:
        """Equal for clients that look the same to an upstream."""
        return digest([self.version, self.info, self.capabilities, self.initialize_params])

    @property
    def envelope(self) -> dict[str, Any]:
        """The `_meta` of every request in 2026-07-28."""
        return {
            PROTOCOL_VERSION_META_KEY: MODERN_VERSIONS[-1],
            CLIENT_INFO_META_KEY: self.info,
            CLIENT_CAPABILITIES_META_KEY: self.capabilities,
        }


# The gateway's identity in shared sessions. `Client.check_can` checks what the actual client supports.
GATEWAY_IDENTITY: Final = ClientIdentity(
    LATEST_MODERN_VERSION,
    {"name": "louver", "version": __version__},
    {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": True}},
)


def is_modern(version: str) -> bool:
    """Whether a protocol revision is stateless (2026-07-28)."""
    return version in MODERN_VERSIONS


def with_envelope(params: Params, envelope: dict[str, Any]) -> dict[str, Any]:
    params_dict = params or {}
    return {**params_dict, "_meta": {**members(params_dict.get("_meta")), **envelope}}


def without_envelope(params: Params) -> Params:
    if params is None or not is_object(params.get("_meta")):
        return params
    meta = {key: value for key, value in params["_meta"].items() if key not in ENVELOPE_KEYS}
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def modern_result(method: str, result: dict[str, Any], server_info: Any) -> dict[str, Any]:
    """A handshake upstream's result for a 2026-07-28 client; not cacheable, since no lifetime is known."""
    caching = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE_METHODS else {}
    server_info_meta = {} if server_info is None else {SERVER_INFO_META_KEY: server_info}
    return {
        "resultType": "complete",
        **caching,
        **result,
        "_meta": {**members(result.get("_meta")), **server_info_meta},
    }


def handshake_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A 2026-07-28 upstream's result for a handshake client; there structured content must be an object."""
    rest = {key: value for key, value in result.items() if key not in _MODERN_MEMBERS}
    if is_object(meta := rest.get("_meta")) and SERVER_INFO_META_KEY in meta:
        # `initialize` has named the server already.
        rest["_meta"] = {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY}
        if not rest["_meta"]:
            del rest["_meta"]
    if "structuredContent" in rest and not is_object(rest["structuredContent"]):
        del rest["structuredContent"]
    if method == "tools/list" and isinstance(rest.get("tools"), list):
        rest["tools"] = [_handshake_tool(tool) for tool in rest["tools"]]
    return rest


def opening_for_handshake(opening: dict[str, Any]) -> dict[str, Any]:
    info = members(opening.get("_meta")).get(SERVER_INFO_META_KEY) or {"name": "unnamed", "version": "0"}
    rest = {key: value for key, value in opening.items() if key not in (*_MODERN_MEMBERS, "supportedVersions", "_meta")}
    return {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, **rest, "serverInfo": info}


def opening_for_modern(opening: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in opening.items() if key not in ("protocolVersion", "serverInfo", "_meta")}
    result: dict[str, Any] = {"supportedVersions": supported_versions(), "capabilities": {}, **rest}
    return modern_result("server/discover", result, opening.get("serverInfo"))


def negotiated_version(requested: str) -> str:
    """The revision in which `initialize` is answered: the requested one, if it has a handshake."""
    return requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE_VERSION


def supported_versions() -> list[str]:
    """The revisions that a request may name; handshake revisions are agreed by `initialize`."""
    return list(MODERN_VERSIONS)


def _handshake_tool(tool: Any) -> Any:
    schema = tool.get("outputSchema") if is_object(tool) else None
    if schema is None or (is_object(schema) and schema.get("type") == "object"):
        return tool
    return {key: value for key, value in tool.items() if key != "outputSchema"}
