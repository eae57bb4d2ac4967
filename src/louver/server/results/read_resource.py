"""Read a kept result, in full or in part, by any projection, without a second call of its tool.

    resources/read  louver://results/Zk3x...?fields=items.id

Models read the same as text, by the tool `read_result`. A result that an upstream keeps is read there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types.methods import validate_client_request

from louver.catalogue.entry import Entry
from louver.concurrency.offload import in_thread
from louver.core.json import compact, digest, members
from louver.core.paths.arrays import longest, with_items
from louver.core.projection.view import Views
from louver.core.schema.infer import infer
from louver.errors import InvalidArguments, LouverError, OutputInvalid, UnknownResult
from louver.limits import ITEMS_A_PAGE
from louver.protocol.names import PROJECTION_LITERAL, RESULT
from louver.protocol.output import Output, texts_of
from louver.protocol.results import Read
from louver.server.calls.apply import Kept, keep, receipt
from louver.server.refusals import protocol_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.server.calls.schema_resource import ProjectedSchemas
    from louver.server.request import Next, Request
    from louver.server.results.results import About, Results
    from louver.server.tools.registry import Tools


class Rereads:
    """Answers `resources/read` of kept results, and calls of the tool that reads them."""

    def __init__(
        self,
        results: Results,
        tools: Tools,
        schemas: ProjectedSchemas,
        envelope: Callable[[Request], dict[str, Any]],
    ) -> None:
        self._results = results
        self._tools = tools
        self._schemas = schemas
        self._envelope = envelope

    async def read(self, request: Request, call_next: Next) -> dict[str, Any]:
        validate_client_request(request.method, request.revision, request.params)
        try:
            wanted = Read.of(request.params["uri"])
            about, value = await self._find(wanted, request)
            if about.elsewhere is not None:
                return await _read_there(wanted, request, call_next)
            return self._said(wanted, await self._part(wanted, about, value, request, call_next), request)
        except LouverError as error:
            raise protocol_error(error) from None

    async def call(self, request: Request, call_next: Next) -> dict[str, Any]:
        validate_client_request(request.method, request.revision, request.params)
        envelope = self._envelope(request)
        try:
            wanted = Read.by_arguments(members(request.params.get("arguments")))
            about, value = await self._find(wanted, request)
            if about.elsewhere is not None:
                read = await _read_there(wanted, request, call_next)
                text = "\n".join(texts_of({"content": read.get("contents")}))
                page = members(members(read.get("_meta")).get(RESULT))
            else:
                part = await self._part(wanted, about, value, request, call_next)
                text, page = part.text, part.page or {}
            self._check_size(text, page, value)
        except LouverError as error:
            return {**envelope, "content": [{"type": "text", "text": error.message}], "isError": True}
        head = f"page {page['page']} of {page['pages']}, {page['items']:,} elements in all\n" if "page" in page else ""
        return {**envelope, "content": [{"type": "text", "text": head + text}]}

    async def _find(self, wanted: Read, request: Request) -> tuple[About, Json]:
        found = await self._results.find(wanted.handle, request)
        request.record.tool, request.record.has_run = found[0].tool, True
        return found

    def _check_size(self, text: str, page: dict[str, Any], value: Json) -> None:
        """Refuse a part that is itself too large to be sent to a model at once."""
        most = self._results.options.over_bytes
        if (size := len(text.encode("utf-8", "surrogatepass"))) <= most:
            return
        found = None if page else longest(value, within_arrays=False)
        pages = 1 if found is None else -(-len(found.items) // ITEMS_A_PAGE)
        less = f"fewer 'fields', or for a 'page' from 1 to {pages}" if pages > 1 else "fewer 'fields'"
        raise InvalidArguments(f"this part has {size:,} bytes, over {most:,}: ask for {less}")

    async def _part(self, wanted: Read, about: About, value: Json, request: Request, call_next: Next) -> _Part:
        entry = await self._entry(about, request, call_next)
        kept = await keep(entry, wanted.projection, _output(about, value))
        if not kept.is_valid and not kept.is_partial:
            # The tool's output does not fit its schema. Without a projection it would have been sent all the same.
            entry = await self._entry(replace(about, schema=None), request, call_next)
            kept = await keep(entry, wanted.projection, _output(about, value))
        if not kept.is_valid:
            raise OutputInvalid("what is left of the result does not satisfy its projected schema")
        return await in_thread(partial(_part, wanted, kept, about))

    async def _entry(self, about: About, request: Request, call_next: Next) -> Entry:
        """The tool, with the schema of the kept value."""
        views = self._tools.views
        found = await self._tools.find_if_listed(about.tool, request, call_next)
        tool: dict[str, Any] = {"name": about.tool, "inputSchema": {}}
        if about.schema is not None:
            tool["outputSchema"] = about.schema
        return Entry(tool, Views() if found is None else found.views, plans=views.plans)

    def _said(self, wanted: Read, part: _Part, request: Request) -> dict[str, Any]:
        envelope = self._envelope(request)
        said = receipt(part.by, wanted.projection, part.is_partial, 0)
        if part.is_inferred:
            said = said.model_copy(update={"schema_source": "inferred", "schema_precision": None})
        self._schemas.remember(part.by)
        page = {} if part.page is None else {RESULT: part.page}
        meta = {**envelope.get("_meta", {}), **page, PROJECTION_LITERAL: said.to_wire()}
        caching = {"ttlMs": 0, "cacheScope": "private"} if request.is_modern else {}
        contents = [{"uri": wanted.to_uri(), "mimeType": "application/json", "text": part.text}]
        return {**envelope, **caching, "contents": contents, "_meta": meta}


@dataclass(frozen=True, slots=True)
class _Part:
    text: str  # JSON
    by: ReadyPlan  # the plan and its schema
    is_partial: bool
    page: dict[str, Any] | None = None  # `_meta` about the page, if it is one
    is_inferred: bool = False  # the schema is inferred from this part alone


def _part(wanted: Read, kept: Kept, about: About) -> _Part:
    """The requested page, or all, of a projected value; called in a thread."""
    is_partial = about.partial or kept.is_partial
    if wanted.page is None:
        return _Part(compact(kept.value), kept.by, is_partial)
    shown, told = _page(kept.value, wanted, wanted.page)
    if shown is kept.value:
        return _Part(compact(shown), kept.by, is_partial, told)
    # The schema of all elements may constrain their number and order, which differ on a page.
    schema = infer([shown])
    by = replace(kept.by, schema=schema, digest=digest(schema))
    return _Part(compact(shown), by, is_partial=True, page=told, is_inferred=True)


async def _read_there(wanted: Read, request: Request, call_next: Next) -> dict[str, Any]:
    """The answer of the upstream that keeps the result; UnknownResult if it refuses."""
    try:
        params = {key: said for key, said in request.params.items() if key == "_meta"}
        return await call_next(replace(request, method="resources/read", params={**params, "uri": wanted.to_uri()}))
    except MCPError:
        raise UnknownResult from None


def _output(about: About, value: Json) -> Output:
    """The kept value as the output of a call; JSON text in a wrapper was unwrapped when it was kept."""
    return Output(value, "structured" if about.wrapper is None else "text", about.wrapper)


def _page(value: Json, wanted: Read, number: int) -> tuple[Json, dict[str, Any]]:
    """The value with one page of its longest array, and the `_meta` about that page."""
    found = longest(value, within_arrays=False)
    items: list[Json] = [] if found is None else found.items
    pages = max(1, -(-len(items) // ITEMS_A_PAGE))
    if number > pages:
        raise wanted.out_of_pages(pages)
    told: dict[str, Any] = {"page": number, "pages": pages, "items": len(items)}
    if found is not None:
        told["path"] = str(found.path)
    if found is None or pages == 1:
        return value, told
    start = (number - 1) * ITEMS_A_PAGE
    return with_items(value, found.names, items[start : start + ITEMS_A_PAGE]), told
