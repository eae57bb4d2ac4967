"""Whether what a client asks is a request of the protocol, as the models of the SDK have it.

    {"name": "get_user", "arguments": {...}, "_meta": {"io.modelcontextprotocol/clientInfo": ..., ...}}    a call

Of most calls only `_meta` can be wrong, in which most clients say the same in all their calls. One that was valid is
remembered: for a model to look at it again takes a fortieth of what the gateway takes for a call.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND
from mcp_types.methods import SPEC_CLIENT_METHODS, validate_client_request

from louver.core.json import is_object, members
from louver.limits import MAX_REMEMBERED_META, MAX_REMEMBERED_METAS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN: Final = frozenset({"name", "arguments", "_meta"})
_NEW_EACH_TIME: Final = ("progressToken", "traceparent")


class Checked:
    """The checks of one gateway."""

    def __init__(self) -> None:
        self._valid: dict[bytes, None] = {}

    def check(self, method: str, version: str, params: Mapping[str, Any] | None) -> None:
        """See that a request is one of the protocol; methods of no specification are left to who knows them.

        Raises:
            MCPError: The revision has no such method.
            ValidationError: The params are not those of the method.
        """
        if method not in SPEC_CLIENT_METHODS:
            return
        key = _key(version, params) if method == "tools/call" else None
        if key is not None and key in self._valid:
            return
        try:
            validate_client_request(method, version, params)
        except KeyError:
            raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method) from None
        if key is not None:
            if len(self._valid) >= MAX_REMEMBERED_METAS:
                del self._valid[next(iter(self._valid))]
            self._valid[key] = None


def _key(version: str, params: Mapping[str, Any] | None) -> bytes | None:
    """What a valid call is remembered by; `None` where more than `_meta` can be wrong, or it will not come again."""
    if params is None or not params.keys() <= _PLAIN:
        return None
    if not isinstance(params.get("name"), str) or not is_object(params.get("arguments", {})):
        return None
    meta = params.get("_meta")
    if not members(meta).keys().isdisjoint(_NEW_EACH_TIME):
        return None
    try:
        # Of version 2 equal values give equal bytes, and 1, 1.0 and `True` different ones.
        key = marshal.dumps((version, meta), 2)
    except ValueError:  # it is nested too deeply
        return None
    return key if len(key) <= MAX_REMEMBERED_META else None
