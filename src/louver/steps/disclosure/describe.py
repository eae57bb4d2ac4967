"""Stage 2: the full descriptions of named tools, by a resource or by a tool.

    resources/read  resource:///tool_descriptions?tools=get_issue
    tools/call      get_tool_descriptions {"tools": ["get_issue"]}

Both give the same text, and authorise calls: the connection remembers the read, or the answer holds grants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.descriptions import ADDED
from louver.catalogue.signature import described
from louver.core.json import compact, is_array, members
from louver.errors import LouverError, TooManyTools
from louver.limits import MAX_SUGGESTION_NAMES, MAX_TOOLS_READ
from louver.steps.refusals import error_result, protocol_error
from louver.wire.descriptions import no_tool_named, tool_names_in, unknown_tool
from louver.wire.names import DESCRIPTIONS_TOOL, GRANT, VERSIONS
from louver.wire.requests import check_request

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from louver.catalogue.files.descriptions import Described
    from louver.catalogue.grants import Grants
    from louver.steps.disclosure.definitions import ToolDefinitions
    from louver.steps.disclosure.read_limits import ReadLimits
    from louver.steps.request import Next, Request

MAX_AVAILABLE_TOOLS = 20
"""Tools that the error for an unknown tool suggests; a catalogue can have ten thousand."""


@dataclass(frozen=True, slots=True)
class _Descriptions:
    entries: dict[str, Any]  # by tool: its full description, or an error
    meta: dict[str, Any]  # for the `_meta` of the result
    found: Collection[str]

    def as_text(self) -> str:
        texts = [as_text(entry) if name in self.found else compact(entry) for name, entry in self.entries.items()]
        return "\n\n".join(texts)


def as_text(full: dict[str, Any]) -> str:
    """A full description for a model: the signature, and what a file adds as JSON."""
    return "\n".join([described(full, output=True), *(f"{key}: {compact(full[key])}" for key in ADDED if key in full)])


class DescriptionReader:
    """Answers reads of descriptions; without `grants` calls need none."""

    def __init__(
        self,
        definitions: ToolDefinitions,
        grants: Grants | None,
        read_limits: ReadLimits,
        envelope: Callable[[Request], dict[str, Any]],
    ) -> None:
        self._definitions = definitions
        self._grants = grants
        self._read_limits = read_limits
        self._envelope = envelope

    async def read(self, request: Request, call_next: Next) -> dict[str, Any]:
        check_request(request.method, request.revision, request.params)
        uri: str = request.params["uri"]
        try:
            await self._read_limits.admit(request.counted_as)
            names = tool_names_in(uri)
            tools = await self._definitions.all(request, call_next)
            descriptions = self._describe(names, tools, request) if names else _Descriptions(_no_tool_error(), {}, ())
        except LouverError as error:
            raise protocol_error(error) from None
        envelope = self._envelope(request)
        meta = {**envelope.get("_meta", {}), **descriptions.meta}
        caching = {"ttlMs": 0, "cacheScope": "private"} if request.is_modern else {}
        contents = [{"uri": uri, "mimeType": "application/json", "text": compact(descriptions.entries)}]
        return {**envelope, **caching, "contents": contents, **({"_meta": meta} if meta else {})}

    async def call(self, request: Request, call_next: Next, *, is_for_model: bool) -> dict[str, Any] | None:
        """The answer to a call of the tool, refusals included; `None` if the server has a tool of this name."""
        check_request(request.method, request.revision, request.params)
        envelope = self._envelope(request)
        try:
            await self._read_limits.admit(request.counted_as)
            tools = await self._definitions.all(request, call_next)
            if DESCRIPTIONS_TOOL in tools:
                return None
            names = _names_in(members(request.params.get("arguments")).get("tools"))
            if not names:
                raise no_tool_named()
            descriptions = self._describe(names, tools, request)
        except LouverError as error:
            return error_result(error, envelope)
        text = descriptions.as_text() if is_for_model else compact(descriptions.entries)
        content = [{"type": "text", "text": text}]
        return {**envelope, "content": content, "_meta": {**envelope.get("_meta", {}), **descriptions.meta}}

    def _describe(self, names: Sequence[str], tools: dict[str, Described], request: Request) -> _Descriptions:
        """The descriptions of the named tools, which may be called from now on."""
        wanted = dict.fromkeys(part for name in names for part in _split_names(name, tools))
        if len(wanted) > MAX_TOOLS_READ:
            message = f"{len(wanted)} tools are named: at most {MAX_TOOLS_READ} descriptions are read at once"
            raise TooManyTools(message, limit=MAX_TOOLS_READ)
        found = {name: tools[name] for name in wanted if name in tools}
        self._read_limits.count_read(request.counted_as, found, len(wanted) - len(found), len(tools))
        versions = {name: described.version for name, described in found.items()}
        meta: dict[str, Any] = {VERSIONS: versions} if found else {}
        grants, who = self._grants, request.identity.key
        entries = {name: found[name].full if name in found else _unknown(name, tools) for name in wanted}
        if grants is not None and (read := request.read_before()) is not None:
            read.update(versions)
        elif grants is not None and found:
            meta[GRANT] = grants.seal(who, versions)
            for name, version in versions.items():
                # One grant per tool: a model must copy it, and a grant for all would be repeated in each.
                entries[name] = found[name].granting(grants.seal(who, {name: version}))
        return _Descriptions(entries, meta, found)


def _unknown(name: str, tools: Collection[str]) -> dict[str, Any]:
    return unknown_tool(name, similar_tools(name, tools))


def _no_tool_error() -> dict[str, Any]:
    return {"error": no_tool_named().to_json()}


def _names_in(value: object) -> list[str]:
    if not is_array(value) or not all(isinstance(name, str) for name in value):
        return []
    return [name for name in value if name]


def _split_names(name: str, tools: Collection[str]) -> list[str]:
    """The name; or the names in it, if the commas between them were escaped."""
    return [name] if name in tools else [part for part in name.split(",") if part]


def similar_tools(name: str, tools: Collection[str]) -> list[str]:
    """Existing tools that an unknown name may have meant, by shared words; all of them if there are few."""
    if len(tools) <= MAX_AVAILABLE_TOOLS:
        return list(tools)
    words = _words(name)
    candidates = list(tools)[:MAX_SUGGESTION_NAMES]
    return sorted(candidates, key=lambda other: len(words & _words(other)), reverse=True)[:MAX_AVAILABLE_TOOLS]


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}
