"""Stage 2: the full descriptions of the tools that somebody names, by a resource or by a tool.

::

    resources/read  resource:///tool_descriptions?tools=get_issue
    tools/call      get_tool_descriptions {"tools": ["get_issue"]}
    -> {"get_issue": {"name": "get_issue", "description": "...", "inputSchema": {...}, ...}}

Both give the same text, made at request time of what the caller sees, and authorise the same: the connection
remembers it, or the answer holds grants (`louver.server.identity`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.core.json import compact, is_array, members
from louver.errors import LouverError, TooManyTools
from louver.limits import MAX_AVAILABLE_TOOLS, MAX_SUGGESTION_NAMES, MAX_TOOLS_READ
from louver.protocol.descriptions import asked_by, no_tool_named, unknown_tool
from louver.protocol.names import DESCRIPTIONS_TOOL, GRANT, VERSIONS
from louver.server.identity import principal_key, read_before, reader
from louver.server.refusals import error_result, protocol_error

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from mcp.server.context import CallNext, ServerRequestContext

    from louver.catalogue.files.descriptions import Described
    from louver.catalogue.grants import Grants
    from louver.server.disclosure.definitions import Definitions
    from louver.server.disclosure.read_limits import Reads


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was read: the text, and the `_meta` beside it."""

    text: str
    meta: dict[str, Any]


class Describing:
    """Answers reads of descriptions.

    Args:
        definitions: The server's tools.
        grants: Makes grants; `None` where calls need none.
        reads: Counts.
        envelope: What every result to this client has.
    """

    def __init__(
        self,
        definitions: Definitions,
        grants: Grants | None,
        reads: Reads,
        envelope: Callable[[ServerRequestContext[Any, Any]], dict[str, Any]],
    ) -> None:
        self._definitions = definitions
        self._grants = grants
        self._reads = reads
        self._envelope = envelope

    async def read(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Any]:
        """The answer to `resources/read`.

        Raises:
            MCPError: The URI cannot be read, or names too many tools; or there were too many reads.
        """
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        uri: str = (ctx.params or {})["uri"]
        try:
            self._reads.admit(reader(ctx))
            names = asked_by(uri)
            tools = await self._definitions.all(ctx, call_next)
            answer = self._answer(names, tools, ctx) if names else _Answer(compact(_nothing_named()), {})
        except LouverError as error:
            raise protocol_error(error) from None
        envelope = self._envelope(ctx)
        meta = {**envelope.get("_meta", {}), **answer.meta}
        caching = {"ttlMs": 0, "cacheScope": "private"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else {}
        contents = [{"uri": uri, "mimeType": "application/json", "text": answer.text}]
        return {**envelope, **caching, "contents": contents, **({"_meta": meta} if meta else {})}

    async def call(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Any] | None:
        """The answer to a call of the tool, also what is refused, for its model reads it.

        `None` if the server turns out to have a tool of this name itself.
        """
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        envelope = self._envelope(ctx)
        try:
            self._reads.admit(reader(ctx))
            tools = await self._definitions.all(ctx, call_next)
            if DESCRIPTIONS_TOOL in tools:
                return None
            names = _names_in(members((ctx.params or {}).get("arguments")).get("tools"))
            if not names:
                raise no_tool_named()
            answer = self._answer(names, tools, ctx)
        except LouverError as error:
            return error_result(error, envelope)
        content = [{"type": "text", "text": answer.text}]
        return {**envelope, "content": content, "_meta": {**envelope.get("_meta", {}), **answer.meta}}

    def _answer(
        self, names: Sequence[str], tools: dict[str, Described], ctx: ServerRequestContext[Any, Any]
    ) -> _Answer:
        """The descriptions of the tools named, which from now on may be called.

        Raises:
            TooManyTools: Too many are named.
        """
        wanted = dict.fromkeys(part for name in names for part in _meant(name, tools))
        if len(wanted) > MAX_TOOLS_READ:
            message = f"{len(wanted)} tools are named: at most {MAX_TOOLS_READ} descriptions are read at once"
            raise TooManyTools(message, limit=MAX_TOOLS_READ)
        found = {name: tools[name] for name in wanted if name in tools}
        self._reads.note(reader(ctx), found, len(wanted) - len(found), len(tools))
        versions = {name: described.version for name, described in found.items()}
        meta: dict[str, Any] = {VERSIONS: versions} if found else {}
        grants, who = self._grants, principal_key()
        entries = {name: found[name].full if name in found else _unknown(name, tools) for name in wanted}
        if grants is not None and (read := read_before(ctx, grants)) is not None:
            read.update(versions)
        elif grants is not None and found:
            meta[GRANT] = grants.seal(who, versions)
            for name, version in versions.items():
                # One of its own: a grant for all would stand in each of them, and a model has to copy it.
                entries[name] = found[name].granting(grants.seal(who, {name: version}))
        return _Answer(compact(entries), meta)


def _unknown(name: str, tools: Collection[str]) -> dict[str, Any]:
    return unknown_tool(name, nearest(name, tools))


def _nothing_named() -> dict[str, Any]:
    return {"error": no_tool_named().to_json()}


def _names_in(value: object) -> list[str]:
    """The names in the tool's argument; none if it is not a list of names."""
    if not is_array(value) or not all(isinstance(name, str) for name in value):
        return []
    return [name for name in value if name]


def _meant(name: str, tools: Collection[str]) -> list[str]:
    """A name; or the names in it, if somebody has escaped the commas between them."""
    return [name] if name in tools else [part for part in name.split(",") if part]


def nearest(name: str, tools: Collection[str]) -> list[str]:
    """Names of tools that may have been meant by one that is not there: those that share most words come first."""
    if len(tools) <= MAX_AVAILABLE_TOOLS:
        return list(tools)
    words = _words(name)
    known = list(tools)[:MAX_SUGGESTION_NAMES]
    return sorted(known, key=lambda other: len(words & _words(other)), reverse=True)[:MAX_AVAILABLE_TOOLS]


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}
