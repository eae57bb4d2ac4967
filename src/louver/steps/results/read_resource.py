"""Read a kept result, in full or in part, by any projection, without a second call of its tool.

    resources/read  louver://results/Zk3x...?fields=items.id

Models read the same as text, by the tool `read_result`. A result that an upstream keeps is read there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from louver.catalogue.entry import Entry
from louver.concurrency.offload import in_thread
from louver.core.json import compact, is_array, members
from louver.core.paths.find import longest, with_items
from louver.core.preview.field_sizes import size_of, weigh
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.errors import InvalidArguments, LouverError, OutputInvalid, UnknownResult
from louver.steps.calls.apply import KeptValue, apply_projection, receipt
from louver.steps.calls.unmatched import note_by_schema, note_by_value
from louver.steps.refusals import protocol_error
from louver.steps.results.rows import counted_field, queried
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.names import ARGUMENT, PROJECTION_LITERAL, RESULT
from louver.wire.output import Output, texts_of
from louver.wire.requests import check_request
from louver.wire.results import ALL_ROWS, Read

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.core.paths.find import Found
    from louver.steps.calls.planning import Planning
    from louver.steps.request import Next, Request
    from louver.steps.results.results import ResultInfo, Results
    from louver.steps.tools.registry import ToolRegistry

ITEMS_A_PAGE = 100
"""Most elements of the longest array on a page of a kept result: as many as cause no warning."""

_MAX_HEAD = 80
"""Bytes of the line above a page."""


class ResultReader:
    """Answers `resources/read` of kept results, and calls of the tool that reads them."""

    def __init__(
        self,
        results: Results,
        tools: ToolRegistry,
        envelope: Callable[[Request], dict[str, Any]],
        planning: Planning,
    ) -> None:
        self._results = results
        self._tools = tools
        self._envelope = envelope
        self._planning = planning

    async def read(self, request: Request, call_next: Next) -> dict[str, Any]:
        check_request(request.method, request.revision, request.params)
        try:
            read = Read.of(request.params["uri"])
            info, value = await self._find(read, request)
            if info.upstream is not None:
                return await _read_upstream(read, request, call_next)
            return self._read_result(read, await self._part(read, info, value, request, call_next), request)
        except LouverError as error:
            raise protocol_error(error) from None

    async def call(self, request: Request, call_next: Next) -> dict[str, Any]:
        check_request(request.method, request.revision, request.params)
        envelope = self._envelope(request)
        try:
            read = Read.by_arguments(members(request.params.get("arguments")))
            info, value = await self._find(read, request)
            note = None
            if info.upstream is not None:
                read = await _read_upstream(read, request, call_next)
                text = "\n".join(texts_of({"content": read.get("contents")}))
                page = members(members(read.get("_meta")).get(RESULT))
                if (size := _bytes(text)) > self._results.options.over_bytes:
                    raise InvalidArguments(f"this part has {size:,} bytes: ask for fewer {ARGUMENT!r}, or for a 'page'")
            else:
                part = await self._part(read, info, value, request, call_next)
                text, page, note = part.text, part.page or {}, part.note
        except LouverError as error:
            return {**envelope, "content": [{"type": "text", "text": error.message}], "isError": True}
        head = _head(page, text)
        text = text if note is None else f"{note}\n{text}"
        return {**envelope, "content": [{"type": "text", "text": head + text}]}

    async def _find(self, read: Read, request: Request) -> tuple[ResultInfo, Json]:
        found = await self._results.find(read.handle, request)
        request.record.tool, request.record.has_run = found[0].tool, True
        return found

    async def _part(self, read: Read, info: ResultInfo, value: Json, request: Request, call_next: Next) -> _Part:
        entry = await self._entry(info, request, call_next)
        output, is_call = _output(info, value), read.uri is None
        projection = entry.spelled_out(read.projection) if is_call else read.projection
        await self._planning.check(entry, projection, request)
        kept = await apply_projection(entry, projection, output)
        if not kept.is_valid and not kept.is_partial:
            # The tool's output does not fit its schema. Without a projection it would have been sent all the same.
            entry = await self._entry(replace(info, schema=None), request, call_next)
            kept = await apply_projection(entry, projection, output)
        if not kept.is_valid:
            raise OutputInvalid("what is left of the result does not satisfy its projected schema")
        limit = self._results.options.over_bytes

        def make() -> _Part:
            if not is_call:
                return _make_part(read, kept, value, info)
            plan = kept.ready_plan.plan
            note = note_by_value(value, plan) if plan.is_inferred else note_by_schema(entry, projection)
            has_head = read.page is not None or {read.rows.limit, read.rows.count_by} != {None} or is_array(value)
            room = limit - _bytes(note or "") - (_MAX_HEAD if has_head else 0)
            part = _make_part(read, kept, value, info, room)
            if _bytes(part.text) > room:
                raise _too_large(read, part, room)
            return replace(part, note=note)

        part = await in_thread(make)
        text, count_by = part.text, read.rows.count_by
        if count_by is not None and request.record.is_wanted:
            # Counts do not have the name of their field.
            text = await in_thread(lambda: compact(counted_field(value, count_by)))
        request.record.recorded = {"content": [{"type": "text", "text": text}]}
        return part

    async def _entry(self, info: ResultInfo, request: Request, call_next: Next) -> Entry:
        """The tool, with the schema of the kept value."""
        views = self._tools.views
        found = await self._tools.find_if_listed(info.tool, request, call_next)
        tool: dict[str, Any] = {"name": info.tool, "inputSchema": {}}
        if info.schema is not None:
            tool["outputSchema"] = info.schema
        return Entry(tool, Views() if found is None else found.views, plans=views.plans)

    def _read_result(self, wanted: Read, part: _Part, request: Request) -> dict[str, Any]:
        envelope = self._envelope(request)
        applied = receipt(part.ready_plan, wanted.projection, part.is_partial, 0)
        if part.is_inferred:
            applied = msgspec.structs.replace(applied, schema_source="inferred", schema_precision=None)
        page = {} if part.page is None else {RESULT: part.page}
        meta = {**envelope.get("_meta", {}), **page, PROJECTION_LITERAL: applied.to_wire()}
        caching = {"ttlMs": 0, "cacheScope": "private"} if request.is_modern else {}
        contents = [{"uri": wanted.to_uri(), "mimeType": "application/json", "text": part.text}]
        return {**envelope, **caching, "contents": contents, "_meta": meta}


@dataclass(frozen=True, slots=True)
class _Part:
    value: Json
    text: str  # JSON of it
    ready_plan: ReadyPlan  # the plan and its schema
    is_partial: bool
    rows: Found | None = None  # the array that pages divide, if it was looked for
    page: dict[str, Any] | None = None  # `_meta` about the page, and about the limit
    is_inferred: bool = False  # the schema is inferred from this part alone
    note: str | None = None  # for a model: names that the result does not have


def _make_part(read: Read, kept: KeptValue, whole: Json, info: ResultInfo, limit: int = sys.maxsize) -> _Part:
    """The requested page, or all, of a projected value; called in a thread. A page fits into `limit` bytes."""
    value, is_partial = kept.value, info.partial or kept.is_partial
    if read.page is None and read.rows == ALL_ROWS:
        return _Part(value, compact(value), kept.ready_plan, is_partial)
    rows = longest(value, within_arrays=False)
    meta: dict[str, Any] = {}
    if read.rows != ALL_ROWS:
        value, rows, count = queried(read.rows, value, rows, whole, kept.ready_plan.plan)
        if read.rows.limit is not None:
            meta = {"first": len(rows.items), "items": count, "path": str(rows.path)}
    if read.page is not None:
        value, page_meta = _page(value, rows, read, read.page, limit)
        meta = page_meta | meta
    if value is kept.value:
        return _Part(value, compact(value), kept.ready_plan, is_partial, rows, meta or None)
    # The schema of all elements may constrain their number and order, which differ here.
    ready_plan = replace(kept.ready_plan, schema=infer([value]))
    return _Part(value, compact(value), ready_plan, is_partial=True, rows=rows, page=meta or None, is_inferred=True)


def _head(page: dict[str, Any], text: str) -> str:
    """The line above a page, the first rows, or an array: Gemini CLI takes text that is JSON for an object."""
    parts = [f"page {page['page']} of {page['pages']}"] if "page" in page else []
    if "first" in page:
        parts.append(f"the first {page['first']:,} of {page['items']:,} elements")
    elif parts:
        parts.append(f"{page['items']:,} elements in all")
    elif text.startswith("["):
        parts.append("all elements")
    return f"{', '.join(parts)}\n" if parts else ""


def _too_large(read: Read, part: _Part, limit: int) -> InvalidArguments:
    largest = max((each for each in weigh(part.value) if each.is_leaf), key=lambda each: each.bytes, default=None)
    advice = f"fewer {ARGUMENT!r}" + ("" if largest is None else f" ({largest.path} is the largest)")
    if read.rows.count_by is not None:
        advice = "a smaller 'limit'"
    found = None if read.page is not None else part.rows or longest(part.value, within_arrays=False)
    pages = 0 if found is None else len(_pages(part.value, found, limit))
    more = f", or for a 'page' from 1 to {pages}" if pages > 1 else ""
    return InvalidArguments(f"this part has {_bytes(part.text):,} bytes, over {limit:,}: ask for {advice}{more}")


async def _read_upstream(read: Read, request: Request, call_next: Next) -> dict[str, Any]:
    """The answer of the upstream that keeps the result; UnknownResult if it refuses."""
    try:
        params = {key: value for key, value in request.params.items() if key == "_meta"}
        return await call_next(replace(request, method="resources/read", params={**params, "uri": read.to_uri()}))
    except JsonRpcError:
        raise UnknownResult from None


def _output(info: ResultInfo, value: Json) -> Output:
    """The kept value as the output of a call; JSON text in a wrapper was unwrapped when it was kept."""
    return Output(value, "structured" if info.wrapper is None else "text", info.wrapper)


def _page(value: Json, found: Found | None, read: Read, number: int, limit: int) -> tuple[Json, dict[str, Any]]:
    """The value with one page of an array in it, and the `_meta` about that page."""
    pages = [slice(0, 0)] if found is None else _pages(value, found, limit)
    if number > len(pages):
        raise read.out_of_pages(len(pages))
    page_meta: dict[str, Any] = {"page": number, "pages": len(pages), "items": 0 if found is None else len(found.items)}
    if found is not None:
        page_meta["path"] = str(found.path)
    if found is None or len(pages) == 1:
        return value, page_meta
    return with_items(value, found.names, found.items[pages[number - 1]]), page_meta


def _pages(value: Json, found: Found, limit: int) -> list[slice]:
    """The elements of each page: as many as fit into `limit` bytes with all that is around, at least one."""
    around = size_of(with_items(value, found.names, []))
    pages: list[slice] = []
    start, size = 0, around
    for at, item in enumerate(found.items):
        more = size_of(item) + 1
        if at > start and (size + more > limit or at - start == ITEMS_A_PAGE):
            pages.append(slice(start, at))
            start, size = at, around
        size += more
    return [*pages, slice(start, len(found.items))]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
