"""Result variants: the outputs that a tool declares, a call requests, and its result has. A draft, so it may change.

    tools/list    "outputVariants": [{"audience": "assistant", "format": "content"},
                                     {"audience": "programmatic", "format": "structured", "schema": {...}}]
    tools/call    "requestedOutputs": [{"audience": "programmatic", "format": "structured"}]
    its result    "outputs": [{"audience": "programmatic", "format": "structured", "structuredContent": {"id": 1}}]

Source: SEP-3279 (modelcontextprotocol#3279 at e63642f0). The projection in a selector's `_meta` is ours. In a result's,
`dev.louver/outputs` has the receipt and all else of each output, by its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, members, strings
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError
from louver.wire.mcp import LATEST_MODERN_VERSION, PROTOCOL_VERSION_META_KEY
from louver.wire.names import COMPACT, COMPACT_LITERAL, PREFIX, PROJECTION, PROJECTION_LITERAL
from louver.wire.output import blocks, is_structured, texts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.core.json import Schema

DRAFT_VERSION: Final = "2026-12-01"
"""The revision that the draft assumes."""

OUTPUTS_META: Final = f"{PREFIX}outputs"
"""In the `_meta` of a result: output -> what of `_meta` is of it alone, such as its receipt."""

STRUCTURED_AUDIENCES: Final = ("assistant", "user", "programmatic")
_AUDIENCES_OF: Final = {"content": ("assistant", "user"), "structured": STRUCTURED_AUDIENCES}
_REQUESTED: Final = "requestedOutputs"
_PROJECTION_KEYS: Final = (PROJECTION_LITERAL, PROJECTION, COMPACT_LITERAL, COMPACT)
_ANSWER_KEYS: Final = ("content", "structuredContent", "isError", "_meta")


@dataclass(frozen=True, slots=True)
class Selector:
    audience: str
    format: str
    projection: Mapping[str, Any]  # what its `_meta`, or else that of the call, says of one

    @property
    def name(self) -> str:
        return f"{self.audience}/{self.format}"

    @property
    def is_fallback(self) -> bool:
        """Whether every tool has this output, which a call gets that requests none."""
        return self.name == "assistant/content"


def is_draft(params: Mapping[str, Any]) -> bool:
    """Whether a request of 2026-07-28 is one of the draft, which is the same but for tools."""
    return members(params.get("_meta")).get(PROTOCOL_VERSION_META_KEY) == DRAFT_VERSION


def as_modern(params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of such a request as one of 2026-07-28."""
    return {**params, "_meta": {**params["_meta"], PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION}}


def requested_outputs(params: Mapping[str, Any]) -> list[Selector]:
    """The outputs that a call requests, one or more; JsonRpcError if they are no selectors of the draft."""
    meta = members(params.get("_meta"))
    written: Any = params.get(_REQUESTED, [{"audience": "assistant", "format": "content"}])
    if not is_array(written) or not written:
        raise JsonRpcError(INVALID_PARAMS, f"{_REQUESTED!r} is a list of one selector or more, or left out")
    found: dict[str, Selector] = {}
    for number, each in enumerate(written):
        at = f"{_REQUESTED}[{number}]"
        audience, form = (members(each).get(key) for key in ("audience", "format"))
        if not (isinstance(audience, str) and isinstance(form, str) and audience in _AUDIENCES_OF.get(form, ())):
            raise JsonRpcError(
                INVALID_PARAMS,
                f"{at}: expected an audience and a format, one of assistant/content, assistant/structured, "
                "user/content, user/structured, programmatic/structured",
            )
        own = members(members(each).get("_meta"))
        chosen = own if any(key in own for key in _PROJECTION_KEYS) else meta
        selector = Selector(audience, form, {key: chosen[key] for key in _PROJECTION_KEYS if key in chosen})
        if selector.name in found:
            raise JsonRpcError(INVALID_PARAMS, f"{at}: {selector.name} is requested twice")
        found[selector.name] = selector
    return list(found.values())


def params_for(selector: Selector, params: Mapping[str, Any]) -> dict[str, Any]:
    """The params of the call of 2026-07-28 that answers a selector."""
    meta = {key: value for key, value in members(params.get("_meta")).items() if key not in _PROJECTION_KEYS}
    rest = {key: value for key, value in params.items() if key != _REQUESTED}
    # Whole, but valid: the plan of everything checks the value against the schema, too.
    whole = {PROJECTION_LITERAL: {"mode": "include", "fields": ["*"]}} if selector.format == "structured" else {}
    return {**rest, "_meta": {**meta, **(selector.projection or whole)}}


def with_variants(tool: dict[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Any]:
    """A listed tool as the draft has it; `schemas` has an audience for each structured output that it declares."""
    declared: list[dict[str, Any]] = [{"audience": audience, "format": "content"} for audience in ("assistant", "user")]
    declared += [{"audience": audience, "format": "structured", "schema": each} for audience, each in schemas.items()]
    rest = {key: value for key, value in tool.items() if key != "outputSchema"}
    return {**rest, "outputVariants": declared}


def combined(selectors: Sequence[Selector], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The result with the outputs of a call, each from the result of 2026-07-28 for its selector."""
    first, is_error = results[0], any(each.get("isError") for each in results)
    outputs: list[dict[str, Any]] = []
    own: dict[str, dict[str, Any]] = {}
    for selector, result in zip(selectors, results, strict=True):
        payload, found = _payload(selector, result)
        is_error = is_error or not found
        outputs.append({"audience": selector.audience, "format": selector.format, **payload})
        if ours := {key: value for key, value in members(result.get("_meta")).items() if _is_ours(key)}:
            own[selector.name] = ours
    meta = {key: value for key, value in members(first.get("_meta")).items() if not _is_ours(key)}
    meta |= {OUTPUTS_META: own} if own else {}
    rest = {key: value for key, value in first.items() if key not in _ANSWER_KEYS}
    return {**rest, "outputs": outputs, **({"isError": True} if is_error else {}), **({"_meta": meta} if meta else {})}


def _is_ours(key: str) -> bool:
    return key == PROJECTION_LITERAL or key.startswith(PREFIX)


def _payload(selector: Selector, result: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The payload of an output, and whether the result has one for it."""
    if selector.format == "content":
        return {"content": _content_for(selector.audience, result)}, True
    if result.get("isError"):
        return {"structuredContent": {"error": "\n".join(texts_of(result))}}, True
    if is_structured(result):
        return {"structuredContent": result["structuredContent"]}, True
    return {"structuredContent": {"error": f"the tool has answered nothing structured for {selector.name}"}}, False


def _content_for(audience: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks for an audience. Where all are for others they stay, and without any the value is text."""
    found = blocks(result)
    if not found and is_structured(result):
        return [{"type": "text", "text": compact(result["structuredContent"])}]
    return [block for block in found if audience in (_audiences_of(block) or [audience])] or found


def _audiences_of(block: dict[str, Any]) -> list[str]:
    return strings(members(block.get("annotations")).get("audience"))
