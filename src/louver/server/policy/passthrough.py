"""What passes between clients and a server under a policy, beside the answers of its tools.

::

    prompts, completion, progress, logs, questions     if the policy lets them through
    resources                                          that it covers
    `_meta`                                            the keys that it lists

Source: PRIVACY.md, P2, P4 and P5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND, SERVER_INFO_META_KEY

from louver.catalogue.redacted_text import plain
from louver.core.json import is_array, is_object, members
from louver.protocol.output import blocks

if TYPE_CHECKING:
    from louver.catalogue.policy.policy import Policy
    from louver.core.json import Json

_OF_SERVERS: Final = ("name", "title", "version")
_LET: Final = {
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completion",
    "logging/setLevel": "logging",
    "notifications/progress": "progress",
    "notifications/message": "logging",
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
}
"""What has to be let through -> by which word of the policy."""

_FREE: Final = frozenset(
    {
        "notifications/tools/list_changed",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "roots/list",
        "ping",
    }
)
"""What a server may always say: it holds nothing."""


class Passing:
    """What a policy lets pass.

    Args:
        policy: The policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    def may_say(self, method: str, uri: object = None) -> bool:
        """Whether a notification or a question of the server reaches clients."""
        if method == "notifications/resources/updated":
            return isinstance(uri, str) and self.policy.covers(uri)
        return method in _FREE or _LET.get(method) in self.policy.lets

    def said(self, method: str, params: dict[str, Any] | None) -> dict[str, Any] | None:
        """The params of a notification or a question that reaches clients, as they reach them."""
        if method in _FREE or params is None:
            return None
        if method == "notifications/resources/updated":
            return {"uri": params["uri"]}
        return self._without_meta(params)

    def check_may_ask(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """See that a client's request reaches the server; the answer to one that does not need to.

        Raises:
            MCPError: It does not.
        """
        if method in ("tools/list", "tools/call", "resources/list", "resources/templates/list"):
            return None
        if method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
            if not self.policy.covers(str(params.get("uri"))):
                raise MCPError(code=INVALID_PARAMS, message="Unknown resource")
            return None
        if _LET.get(method) in self.policy.lets:
            return None
        if method == "logging/setLevel":
            return {}
        if method == "prompts/list":
            return {"prompts": []}
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def _meta(self, said: dict[str, Any]) -> dict[str, Any]:
        meta = members(said.get("_meta"))
        kept = {key: meta[key] for key in sorted(self.policy.meta) if key in meta}
        if SERVER_INFO_META_KEY in meta:
            kept[SERVER_INFO_META_KEY] = info_of(meta[SERVER_INFO_META_KEY])
        return {"_meta": kept} if kept else {}

    def _without_meta(self, said: Json) -> Any:
        """A message that is let through, with just what may be passed on of each `_meta` in it."""
        if is_array(said):
            return [self._without_meta(each) for each in said]
        if not is_object(said):
            return said
        return {
            **{key: self._without_meta(each) for key, each in said.items() if key != "_meta"},
            **self._meta(said),
        }

    def entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        """An entry of a list of prompts or resources."""
        return {**_plainly({key: value for key, value in entry.items() if key != "_meta"}), **self._meta(entry)}

    def is_shown(self, method: str, entry: dict[str, Any]) -> bool:
        """Whether such an entry is listed."""
        if method == "prompts/list":
            return True
        return self.policy.covers(str(entry.get("uri", entry.get("uriTemplate"))))

    def readable(self, contents: Json) -> list[Json]:
        """The contents of a resource that was read, without those of others that may not be."""
        found = contents if is_array(contents) else []
        return [each for each in found if is_object(each) and self.policy.covers(str(each.get("uri")))]

    def covered(self, said: dict[str, Any]) -> list[Any]:
        """The blocks of content, without resources that may not be read."""
        covered = [block for block in blocks(said) if (uri := _uri_of(block)) is None or self.policy.covers(uri)]
        return self._without_meta(covered)


def info_of(said: Any) -> dict[str, Any]:
    """What a server says that it is, without what it says of itself."""
    return {key: plain(text) for key in _OF_SERVERS if isinstance(text := members(said).get(key), str)}


def _plainly(said: Json) -> Any:
    """An entry of a list, with plain texts."""
    if is_array(said):
        return [_plainly(each) for each in said]
    if is_object(said):
        return {key: _plainly(each) for key, each in said.items()}
    return plain(said) if isinstance(said, str) else said


def _uri_of(block: dict[str, Any]) -> str | None:
    """The URI of a block that is a resource, or leads to one."""
    if block.get("type") == "resource_link":
        return str(block.get("uri"))
    if block.get("type") == "resource":
        return str(members(block.get("resource")).get("uri"))
    return None
