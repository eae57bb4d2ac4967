"""Read a kept result, in full or in part, by any projection, without a second call of its tool.

    resources/read  louver://results/Zk3x...?fields=items.id

Models read the same as text, by the tool `read_result`. A result that an upstream keeps is read there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from louver.catalogue.entry import Entry
from louver.concurrency.offload import in_thread
from louver.core.json import compact, digest, members
from louver.core.paths.arrays import longest, with_items
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.errors import InvalidArguments, LouverError, OutputInvalid, UnknownResult
from louver.jsonrpc.errors import JsonRpcError
from louver.limits import ITEMS_A_PAGE
from louver.protocol.names import PROJECTION_LITERAL, RESULT
from louver.protocol.output import Output, texts_of
from louver.protocol.requests import check_request
from louver.protocol.results import Read
from louver.server.calls.apply import KeptValue, apply_projection, receipt
from louver.server.refusals import protocol_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.server.calls.schema_resource import ProjectedSchemas
    from louver.server.request import Next, Request
    from louver.server.results.results import ResultInfo, Results
    from louver.server.tools.registry import ToolRegistry


class ResultReader:
    """Answers `resources/read` of kept results, and calls of the tool that reads them."""

    def __init__(
        self,
        results: Results,
        tools: ToolRegistry,
        schemas: ProjectedSchemas,
        envelope: Callable[[Request], dict[str, Any]],
    ) -> None:
        self._results = results
        self._tools = tools
        self._schemas = schemas
        self._envelope = envelope

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
            if info.upstream is not None:
                read = await _read_upstream(read, request, call_next)
                text = "\n".join(texts_of({"content": read.get("contents")}))
                page = members(members(read.get("_meta")).get(RESULT))
            else:
                part = await self._part(read, info, value, request, call_next)
                text, page = part.text, part.page or {}
            self._check_size(text, page, value)
        except LouverError as error:
            return {**envelope, "content": [{"type": "text", "text": error.message}], "isError": True}
        head = f"page {page['page']} of {page['pages']}, {page['items']:,} elements in all\n" if "page" in page else ""
        return {**envelope, "content": [{"type": "text", "text": head + text}]}

    async def _find(self, read: Read, request: Request) -> tuple[ResultInfo, Json]:
        found = await self._results.find(read.handle, request)
        request.record.tool, request.record.has_run = found[0].tool, True
        return found

    def _check_size(self, text: str, page: dict[str, Any], value: Json) -> None:
        """Refuse a part that is itself too large to be sent to a model at once."""
        limit = self._results.options.over_bytes
        if (size := len(text.encode("utf-8", "surrogatepass"))) <= limit:
            return
        found = None if page else longest(value, within_arrays=False)
        pages = 1 if found is None else -(-len(found.items) // ITEMS_A_PAGE)
        advice = f"fewer 'fields', or for a 'page' from 1 to {pages}" if pages > 1 else "fewer 'fields'"
        raise InvalidArguments(f"this part has {size:,} bytes, over {limit:,}: ask for {advice}")

    async def _part(self, read: Read, info: ResultInfo, value: Json, request: Request, call_next: Next) -> _Part:
        entry = await self._entry(info, request, call_next)
        kept = await apply_projection(entry, read.projection, _output(info, value))
        if not kept.is_valid and not kept.is_partial:
            # The tool's output does not fit its schema. Without a projection it would have been sent all the same.
            entry = await self._entry(replace(info, schema=None), request, call_next)
            kept = await apply_projection(entry, read.projection, _output(info, value))
        if not kept.is_valid:
            raise OutputInvalid("what is left of the result does not satisfy its projected schema")
        return await in_thread(partial(_make_part, read, kept, info))

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
            applied = applied.model_copy(update={"schema_source": "inferred", "schema_precision": None})
        self._schemas.remember(part.ready_plan)
        page = {} if part.page is None else {RESULT: part.page}
        meta = {**envelope.get("_meta", {}), **page, PROJECTION_LITERAL: applied.to_wire()}
        caching = {"ttlMs": 0, "cacheScope": "private"} if request.is_modern else {}
        contents = [{"uri": wanted.to_uri(), "mimeType": "application/json", "text": part.text}]
        return {**envelope, **caching, "contents": contents, "_meta": meta}


@dataclass(frozen=True, slots=True)
class _Part:
    text: str  # JSON
    ready_plan: ReadyPlan  # the plan and its schema
    is_partial: bool
    page: dict[str, Any] | None = None  # `_meta` about the page, if it is one
    is_inferred: bool = False  # the schema is inferred from this part alone


def _make_part(read: Read, kept: KeptValue, info: ResultInfo) -> _Part:
    """The requested page, or all, of a projected value; called in a thread."""
    is_partial = info.partial or kept.is_partial
    if read.page is None:
        return _Part(compact(kept.value), kept.ready_plan, is_partial)
    page_value, page_meta = _page(kept.value, read, read.page)
    if page_value is kept.value:
        return _Part(compact(page_value), kept.ready_plan, is_partial, page_meta)
    # The schema of all elements may constrain their number and order, which differ on a page.
    schema = infer([page_value])
    ready_plan = replace(kept.ready_plan, schema=schema, digest=digest(schema))
    return _Part(compact(page_value), ready_plan, is_partial=True, page=page_meta, is_inferred=True)


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


def _page(value: Json, read: Read, number: int) -> tuple[Json, dict[str, Any]]:
    """The value with one page of its longest array, and the `_meta` about that page."""
    found = longest(value, within_arrays=False)
    items: list[Json] = [] if found is None else found.items
    pages = max(1, -(-len(items) // ITEMS_A_PAGE))
    if number > pages:
        raise read.out_of_pages(pages)
    page_meta: dict[str, Any] = {"page": number, "pages": pages, "items": len(items)}
    if found is not None:
        page_meta["path"] = str(found.path)
    if found is None or pages == 1:
        return value, page_meta
    start = (number - 1) * ITEMS_A_PAGE
    return with_items(value, found.names, items[start : start + ITEMS_A_PAGE]), page_meta
