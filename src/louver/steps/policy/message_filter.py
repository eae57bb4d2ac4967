"""Messages between clients and a server under a policy, except the answers of its tools: requests and notifications.

A method passes if the policy allows its feature; a method that is not listed here is dropped. Resources pass if the
policy covers them, and `_meta` with the keys that it lists.
Source: PRIVACY.md, P2, P4 and P5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.redacted_text import plain
from louver.core.json import is_array, is_object, members
from louver.wire.jsonrpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import (
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    SERVER_INFO_META_KEY,
    TOOLS_CHANGED,
)
from louver.wire.output import blocks

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.policy.policy import Feature, Policy

_SERVER_INFO_KEYS: Final = ("name", "title", "version")
# Method of a client's request -> the feature by which a policy allows it.
_FROM_CLIENTS: Final[dict[str, Feature]] = {
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completion",
    "logging/setLevel": "logging",
}
# The same of a server's message.
_FROM_SERVERS: Final[dict[str, Feature]] = {
    "notifications/progress": "progress",
    "notifications/message": "logging",
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
}

# Always allowed for a server: these hold no data.
_ALWAYS_ALLOWED: Final = frozenset({TOOLS_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED, "roots/list"})


class MessageFilter:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def reaches_clients(self, method: str, uri: object = None) -> bool:
        """Whether a notification or request of the server reaches clients."""
        if method == RESOURCE_UPDATED:
            return isinstance(uri, str) and self.policy.covers(uri)
        return method in _ALWAYS_ALLOWED or _FROM_SERVERS.get(method) in self.policy.allowed_features

    def visible_params(self, method: str, params: dict[str, Any] | None) -> dict[str, Any] | None:
        """The params of an allowed message of the server; None if it needs none."""
        if method in _ALWAYS_ALLOWED or params is None:
            return None
        if method == RESOURCE_UPDATED:
            return {"uri": params["uri"]}
        return self._with_allowed_meta(params)

    def check_client_request(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """Refuse a client's request that may not reach the server; return the answer to one that need not."""
        if method in ("tools/list", "tools/call", "resources/list", "resources/templates/list"):
            return None
        if method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
            self._check_covered(params.get("uri"))
            return None
        if _FROM_CLIENTS.get(method) in self.policy.allowed_features:
            reference = members(params.get("ref")) if method == "completion/complete" else {}
            if "uri" in reference:
                self._check_covered(reference["uri"])
            return None
        if method == "logging/setLevel":
            return {}
        if method == "prompts/list":
            return {"prompts": []}
        raise JsonRpcError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def _check_covered(self, uri: Json) -> None:
        if not self.policy.covers(str(uri)):
            raise JsonRpcError(code=INVALID_PARAMS, message="Unknown resource")

    def _allowed_meta(self, message: dict[str, Any]) -> dict[str, Any]:
        meta = members(message.get("_meta"))
        kept = {key: meta[key] for key in sorted(self.policy.meta) if key in meta}
        if SERVER_INFO_META_KEY in meta:
            kept[SERVER_INFO_META_KEY] = server_info(meta[SERVER_INFO_META_KEY])
        return {"_meta": kept} if kept else {}

    def _with_allowed_meta(self, value: Json) -> Any:
        """An allowed message, with only the allowed keys of each `_meta` in it."""
        if is_array(value):
            return [self._with_allowed_meta(each) for each in value]
        if not is_object(value):
            return value
        return {
            **{key: self._with_allowed_meta(each) for key, each in value.items() if key != "_meta"},
            **self._allowed_meta(value),
        }

    def visible_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        return {
            **_sanitized({key: value for key, value in entry.items() if key != "_meta"}),
            **self._allowed_meta(entry),
        }

    def is_visible(self, method: str, entry: dict[str, Any]) -> bool:
        if method == "prompts/list":
            return True
        return self.policy.covers(str(entry.get("uri", entry.get("uriTemplate"))))

    def covered_contents(self, contents: Json) -> list[Json]:
        found = contents if is_array(contents) else []
        return [each for each in found if is_object(each) and self.policy.covers(str(each.get("uri")))]

    def covered_blocks(self, result: dict[str, Any]) -> list[Any]:
        """The content blocks, without resources that the policy does not cover."""
        covered = [block for block in blocks(result) if (uri := _uri_of(block)) is None or self.policy.covers(uri)]
        return self._with_allowed_meta(covered)


def server_info(info: Any) -> dict[str, Any]:
    """A server's name, title and version alone."""
    given = members(info)
    return {key: plain(text) for key in _SERVER_INFO_KEYS if isinstance(text := given.get(key), str)}


def _sanitized(value: Json) -> Any:
    if is_array(value):
        return [_sanitized(each) for each in value]
    if is_object(value):
        return {key: _sanitized(each) for key, each in value.items()}
    return plain(value) if isinstance(value, str) else value


def _uri_of(block: dict[str, Any]) -> str | None:
    if block.get("type") == "resource_link":
        return str(block.get("uri"))
    if block.get("type") == "resource":
        return str(members(block.get("resource")).get("uri"))
    return None
