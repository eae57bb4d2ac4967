r"""Reading a kept result: any part of it, by the projection that a call could ask for, without a second call.

::

    resources/read  louver://results/Zk3x...?fields=items.id
    -> {"contents": [{"uri": ..., "mimeType": "application/json", "text": "{\"items\": [{\"id\": 1}, ...]}"}],
        "_meta": {"projection": {"applied": true, "fields": ["items.id"], "projectedSchema": {...}, ...}}}

A page is told beside that, in `_meta["dev.louver/result"]`::

    {"page": 2, "pages": 13, "items": 1280, "path": "items"}

Models read the same by the tool `read_result`, as text. The views are those that the tool has now. What a server behind
this one has kept is read there; whatever that has against it is told as if there were nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

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
from louver.server.call_record import account
from louver.server.calls.apply import Kept, keep, receipt
from louver.server.refusals import protocol_error
from louver.server.wire import result_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, ServerRequestContext

    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Json
    from louver.server.calls.schema_resource import ProjectedSchemas
    from louver.server.results.results import About, Results
    from louver.server.tools.registry import Tools


class Rereads:
    """Answers `resources/read` of kept results, and calls of the tool that reads them.

    Args:
        results: The results.
        tools: The server's tools, for their views.
        schemas: Keeps the schemas that answers name.
        envelope: What every result to this client has.
    """

    def __init__(
        self,
        results: Results,
        tools: Tools,
        schemas: ProjectedSchemas,
        envelope: Callable[[ServerRequestContext[Any, Any]], dict[str, Any]],
    ) -> None:
        self._results = results
        self._tools = tools
        self._schemas = schemas
        self._envelope = envelope

    async def read(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Any]:
        """The answer to a read.

        Raises:
            MCPError: The URI cannot be read, there is no such result, or no such part of it.
        """
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        try:
            wanted = Read.of((ctx.params or {})["uri"])
            about, value = await self._find(wanted, ctx)
            if about.elsewhere is not None:
                return await _read_there(wanted, ctx, call_next)
            return self._said(wanted, await self._part(wanted, about, value, ctx, call_next), ctx)
        except LouverError as error:
            raise protocol_error(error) from None

    async def call(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Any]:
        """The answer to a call of the tool."""
        validate_client_request(ctx.method, ctx.protocol_version, ctx.params)
        envelope = self._envelope(ctx)
        try:
            wanted = Read.by_arguments(members((ctx.params or {}).get("arguments")))
            about, value = await self._find(wanted, ctx)
            if about.elsewhere is not None:
                read = await _read_there(wanted, ctx, call_next)
                text = "\n".join(texts_of({"content": read.get("contents")}))
                page = members(members(read.get("_meta")).get(RESULT))
            else:
                part = await self._part(wanted, about, value, ctx, call_next)
                text, page = part.text, part.page or {}
            self._check_size(text, page, value)
        except LouverError as error:
            return {**envelope, "content": [{"type": "text", "text": error.message}], "isError": True}
        head = f"page {page['page']} of {page['pages']}, {page['items']:,} elements in all\n" if "page" in page else ""
        return {**envelope, "content": [{"type": "text", "text": head + text}]}

    async def _find(self, wanted: Read, ctx: ServerRequestContext[Any, Any]) -> tuple[About, Json]:
        found = await self._results.find(wanted.handle, ctx)
        account().tool, account().has_run = found[0].tool, True
        return found

    def _check_size(self, text: str, page: dict[str, Any], value: Json) -> None:
        """See that a model does not get in one answer what was kept because it is too large for that."""
        most = self._results.options.over_bytes
        if (size := len(text.encode("utf-8", "surrogatepass"))) <= most:
            return
        found = None if page else longest(value, within_arrays=False)
        pages = 1 if found is None else -(-len(found.items) // ITEMS_A_PAGE)
        less = f"fewer 'fields', or for a 'page' from 1 to {pages}" if pages > 1 else "fewer 'fields'"
        raise InvalidArguments(f"this part has {size:,} bytes, over {most:,}: ask for {less}")

    async def _part(
        self, wanted: Read, about: About, value: Json, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> _Part:
        """The part that is wanted of a kept value.

        Raises:
            LouverError: There is no such part, or it does not satisfy its schema.
        """
        entry = await self._entry(about, ctx, call_next)
        kept = await keep(entry, wanted.projection, _output(about, value))
        if not kept.is_valid and not kept.is_partial:
            # The tool has never answered what it declares. Whole, it would have been sent all the same.
            entry = await self._entry(replace(about, schema=None), ctx, call_next)
            kept = await keep(entry, wanted.projection, _output(about, value))
        if not kept.is_valid:
            raise OutputInvalid("what is left of the result does not satisfy its projected schema")
        return await in_thread(partial(_part, wanted, kept, about))

    async def _entry(self, about: About, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Entry:
        """The tool, with the schema of what was kept of its output."""
        views = self._tools.views
        found = await self._tools.find_if_listed(about.tool, ctx, call_next)
        tool: dict[str, Any] = {"name": about.tool, "inputSchema": {}}
        if about.schema is not None:
            tool["outputSchema"] = about.schema
        return Entry(tool, Views() if found is None else found.views, plans=views.plans)

    def _said(self, wanted: Read, part: _Part, ctx: ServerRequestContext[Any, Any]) -> dict[str, Any]:
        envelope = self._envelope(ctx)
        said = receipt(part.by, wanted.projection, part.is_partial, 0)
        if part.is_inferred:
            said = said.model_copy(update={"schema_source": "inferred", "schema_precision": None})
        self._schemas.remember(part.by)
        page = {} if part.page is None else {RESULT: part.page}
        meta = {**envelope.get("_meta", {}), **page, PROJECTION_LITERAL: said.to_wire()}
        caching = {"ttlMs": 0, "cacheScope": "private"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else {}
        contents = [{"uri": wanted.to_uri(), "mimeType": "application/json", "text": part.text}]
        return {**envelope, **caching, "contents": contents, "_meta": meta}


@dataclass(frozen=True, slots=True)
class _Part:
    """What is read of a result.

    Args:
        text: Its JSON.
        by: The plan, and what it tells.
        is_partial: Whether something was left out.
        page: What is told of the page, if it is one.
        is_inferred: Whether the schema was inferred from just this part.
    """

    text: str
    by: ReadyPlan
    is_partial: bool
    page: dict[str, Any] | None = None
    is_inferred: bool = False


def _part(wanted: Read, kept: Kept, about: About) -> _Part:
    """The part that is wanted of what is kept by a projection; for large values in a thread.

    Raises:
        LouverError: There is no such page.
    """
    is_partial = about.partial or kept.is_partial
    if wanted.page is None:
        return _Part(compact(kept.value), kept.by, is_partial)
    shown, told = _page(kept.value, wanted, wanted.page)
    if shown is kept.value:
        return _Part(compact(shown), kept.by, is_partial, told)
    # A page has other numbers of elements, and other ones first, than the schema of all of them allows.
    schema = infer([shown])
    by = replace(kept.by, schema=schema, digest=digest(schema))
    return _Part(compact(shown), by, is_partial=True, page=told, is_inferred=True)


async def _read_there(wanted: Read, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> dict[str, Any]:
    """What a server behind this one answers to the read.

    Raises:
        UnknownResult: It has something against it.
    """
    try:
        params = {key: said for key, said in (ctx.params or {}).items() if key == "_meta"}
        return result_dict(
            await call_next(replace(ctx, method="resources/read", params={**params, "uri": wanted.to_uri()}))
        )
    except MCPError:
        raise UnknownResult from None


def _output(about: About, value: Json) -> Output:
    """The kept value as the output of a call: what stood in a wrapper as text was taken out of it."""
    return Output(value, "structured" if about.wrapper is None else "text", about.wrapper)


def _page(value: Json, wanted: Read, number: int) -> tuple[Json, dict[str, Any]]:
    """A page of the longest array, with the rest of the value as it is; and what is told of it.

    Raises:
        LouverError: There is no such page.
    """
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
