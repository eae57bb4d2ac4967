"""The check of a 2026-07-28 request before it is served: what it says of its client, and its HTTP headers.

    {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", ".../clientCapabilities": {}}}

The order of the checks is that of the specification: a header that contradicts the body is
reported before an unsupported revision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_object, members
from louver.wire.headers import decode_header
from louver.wire.jsonrpc.errors import HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, JsonRpcError
from louver.wire.mcp import (
    CLIENT_CAPABILITIES_META_KEY,
    METHOD_HEADER,
    MODERN_VERSIONS,
    NAME_HEADER,
    NAMED_BY,
    PROTOCOL_VERSION_META_KEY,
    VERSION_HEADER,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_REQUIRED: Final = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY)


def has_envelope(message: dict[str, Any]) -> bool:
    """Whether a request is of 2026-07-28: only there it names its revision."""
    params: dict[str, Any] = message.get("params") or {}
    return PROTOCOL_VERSION_META_KEY in members(params.get("_meta"))


def check_envelope(
    message: dict[str, Any], versions: Callable[[], Sequence[str]], headers: Mapping[str, str] | None = None
) -> None:
    """Raise JsonRpcError if a request cannot be served in one of the revisions. Over stdio there are no headers."""
    params: dict[str, Any] = message.get("params") or {}
    meta = params.get("_meta")
    if not is_object(meta):
        raise JsonRpcError(INVALID_PARAMS, f"params._meta must be an object with {_REQUIRED[0]!r} and {_REQUIRED[1]!r}")
    if missing := [key for key in _REQUIRED if key not in meta]:
        raise JsonRpcError(INVALID_PARAMS, f"params._meta lacks {', '.join(map(repr, missing))}")
    version: Any = meta[PROTOCOL_VERSION_META_KEY]
    if headers is not None:
        _check_headers(message["method"], params, version, headers)
    if not isinstance(version, str):
        raise JsonRpcError(INVALID_PARAMS, f"{PROTOCOL_VERSION_META_KEY!r} must be a string")
    if version not in MODERN_VERSIONS and version not in (served := versions()):
        raise unsupported_version(version, served)


def unsupported_version(version: str, versions: Sequence[str]) -> JsonRpcError:
    data = {"supported": list(versions), "requested": version}
    return JsonRpcError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)


def _check_headers(method: str, params: dict[str, Any], version: Any, headers: Mapping[str, str]) -> None:
    if headers.get(VERSION_HEADER) != version:
        raise _mismatch(VERSION_HEADER, "the request envelope's protocol version")
    if headers.get(METHOD_HEADER) != method:
        raise _mismatch(METHOD_HEADER, "the request body's method")
    member = NAMED_BY.get(method)
    named: Any = None if member is None else params.get(member)
    if named is not None and decode_header(headers.get(NAME_HEADER)) != named:
        raise _mismatch(NAME_HEADER, f"the request body's {member!r} parameter")


def _mismatch(header: str, member: str) -> JsonRpcError:
    return JsonRpcError(HEADER_MISMATCH, f"{header} header does not match {member}")
