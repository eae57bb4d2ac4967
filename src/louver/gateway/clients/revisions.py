"""The two eras of the protocol, and how a message of one is said in the other.

In 2025-11-25 a connection is opened once, in 2026-07-28 every request says itself who asks::

    2025   initialize {"clientInfo": ..., "capabilities": ...}    then   tools/list {}
    2026   tools/list {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                                 "io.modelcontextprotocol/clientInfo": ...,
                                 "io.modelcontextprotocol/clientCapabilities": ...}}

Where a client and an upstream speak different eras only what the era demands is put in or taken
off; all else stays as it was said. Questions to the client are bridged in `louver.gateway.clients.input_required`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    SERVER_INFO_META_KEY,
)
from mcp_types.methods import CACHEABLE_METHODS
from mcp_types.version import (
    LATEST_HANDSHAKE_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)

from louver.core.json import is_object, members

if TYPE_CHECKING:
    from louver.jsonrpc.codec import Params

ENVELOPE: Final = (
    PROTOCOL_VERSION_META_KEY,
    CLIENT_INFO_META_KEY,
    CLIENT_CAPABILITIES_META_KEY,
    LOG_LEVEL_META_KEY,
)
"""The keys of `_meta` by which a request of 2026-07-28 says who asks."""

_OF_2026 = ("resultType", "ttlMs", "cacheScope")


def is_modern(version: str) -> bool:
    """Whether a protocol revision is of the stateless era."""
    return version in MODERN_PROTOCOL_VERSIONS


def enveloped(params: Params, envelope: dict[str, Any]) -> dict[str, Any]:
    """The params of a request with who asks put in."""
    said = params or {}
    return {**said, "_meta": {**members(said.get("_meta")), **envelope}}


def without_envelope(params: Params) -> Params:
    """The params of a request for an upstream to which who asks was said when it was opened."""
    if params is None or not is_object(params.get("_meta")):
        return params
    meta = {key: value for key, value in params["_meta"].items() if key not in ENVELOPE}
    rest = {key: value for key, value in params.items() if key != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def modern_result(method: str, result: dict[str, Any], server_info: Any) -> dict[str, Any]:
    """A result of the handshake era, for a client of 2026-07-28; what it may keep is not known, so nothing."""
    kept = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE_METHODS else {}
    stamp = {} if server_info is None else {SERVER_INFO_META_KEY: server_info}
    return {"resultType": "complete", **kept, **result, "_meta": {**members(result.get("_meta")), **stamp}}


def handshake_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result of 2026-07-28, for a client of the handshake era: objects alone can be structured there."""
    rest = {key: value for key, value in result.items() if key not in _OF_2026}
    if is_object(meta := rest.get("_meta")) and SERVER_INFO_META_KEY in meta:
        # Who answers was said once, when the connection was opened.
        rest["_meta"] = {key: value for key, value in meta.items() if key != SERVER_INFO_META_KEY}
        if not rest["_meta"]:
            del rest["_meta"]
    if "structuredContent" in rest and not is_object(rest["structuredContent"]):
        del rest["structuredContent"]
    if method == "tools/list" and isinstance(rest.get("tools"), list):
        rest["tools"] = [_handshake_tool(tool) for tool in rest["tools"]]
    return rest


def opening_for_handshake(opening: dict[str, Any]) -> dict[str, Any]:
    """What `initialize` answers for an upstream that answered `server/discover`."""
    info = members(opening.get("_meta")).get(SERVER_INFO_META_KEY) or {"name": "unnamed", "version": "0"}
    said = {key: value for key, value in opening.items() if key not in (*_OF_2026, "supportedVersions", "_meta")}
    return {"protocolVersion": LATEST_HANDSHAKE_VERSION, "capabilities": {}, **said, "serverInfo": info}


def opening_for_modern(opening: dict[str, Any]) -> dict[str, Any]:
    """What `server/discover` answers for an upstream that answered `initialize`."""
    said = {key: value for key, value in opening.items() if key not in ("protocolVersion", "serverInfo", "_meta")}
    result: dict[str, Any] = {"supportedVersions": supported_versions(), "capabilities": {}, **said}
    return modern_result("server/discover", result, opening.get("serverInfo"))


def supported_versions() -> list[str]:
    """The revisions that a client may ask for in a request; those that are opened by `initialize` are agreed there."""
    return list(MODERN_PROTOCOL_VERSIONS)


def _handshake_tool(tool: Any) -> Any:
    schema = tool.get("outputSchema") if is_object(tool) else None
    if schema is None or (is_object(schema) and schema.get("type") == "object"):
        return tool
    return {key: value for key, value in tool.items() if key != "outputSchema"}
