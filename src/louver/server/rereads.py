r"""Reading a kept result: any part of it, by the projection that a call could ask for, without a second call.

::

    resources/read  louver://results/Zk3x...?fields=items.id
    -> {"contents": [{"uri": ..., "mimeType": "application/json", "text": "{\"items\": [{\"id\": 1}, ...]}"}],
        "_meta": {"projection": {"applied": true, "fields": ["items.id"], "projectedSchema": {...}, ...}}}

A page is told beside that, in `_meta["dev.louver/result"]`::

    {"page": 2, "pages": 13, "items": 1280, "path": "items"}

The views are those that the tool has now.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp_types.methods import validate_client_request
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.catalogue.entry import Entry
from louver.core.arrays import longest, with_items
from louver.core.infer import infer
from louver.core.json import compact, digest
from louver.core.view import Views
from louver.errors import LouverError, OutputInvalid
from louver.limits import ITEMS_A_PAGE
from louver.protocol.names import PROJECTION_LITERAL, RESULT, RESULTS_URI
from louver.protocol.results import Read, out_of_pages
from louver.server.content import Output
from louver.server.keeping import Kept, keep, receipt
from louver.server.refusals import protocol_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, ServerRequestContext

    from louver.core.json import Json
    from louver.server.results import About, Results
    from louver.server.schemas import ProjectedSchemas
    from louver.server.tools import Tools


class Rereads:
    """Answers `resources/read` of kept results.

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
        uri: str = (ctx.params or {})["uri"]
        try:
            wanted = Read.of(uri)
            about, value = await self._results.find(wanted.handle, ctx)
            entry = await self._entry(about, ctx, call_next)
            kept = await keep(entry, wanted.projection, _output(about, value))
            if not kept.is_valid and kept.value == value:
                # The tool has never answered what it declares. Whole, it would have been sent all the same.
                entry = await self._entry(replace(about, schema=None), ctx, call_next)
                kept = await keep(entry, wanted.projection, _output(about, value))
            if not kept.is_valid:
                raise OutputInvalid("what is left of the result does not satisfy its projected schema")
            return self._said(uri, wanted, kept, about.partial or kept.value != value, ctx)
        except LouverError as error:
            raise protocol_error(error) from None

    async def _entry(self, about: About, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> Entry:
        """The tool, with the schema of what was kept of its output."""
        views = self._tools.views
        found = await self._tools.find_if_listed(about.tool, ctx, call_next)
        tool: dict[str, Any] = {"name": about.tool, "inputSchema": {}}
        if about.schema is not None:
            tool["outputSchema"] = about.schema
        return Entry(tool, Views() if found is None else found.views, plans=views.plans)

    def _said(
        self, uri: str, wanted: Read, kept: Kept, is_partial: bool, ctx: ServerRequestContext[Any, Any]
    ) -> dict[str, Any]:
        envelope = self._envelope(ctx)
        value, by = kept.value, kept.by
        said = receipt(by, wanted.projection, is_partial, 0)
        meta = {**envelope.get("_meta", {})}
        if wanted.page is not None:
            value, meta[RESULT] = _page(value, wanted.page, uri)
        if value is not kept.value:
            # A page has other numbers of elements, and other ones first, than the schema of all of them allows.
            schema = infer([value])
            by = replace(by, schema=schema, digest=digest(schema))
            changed = {"schema_digest": by.digest, "projected_schema": schema, "schema_source": "inferred"}
            said = said.model_copy(update={**changed, "schema_precision": None, "partial": True})
        self._schemas.remember(by)
        meta[PROJECTION_LITERAL] = said.to_wire()
        caching = {"ttlMs": 0, "cacheScope": "private"} if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS else {}
        contents = [{"uri": uri, "mimeType": "application/json", "text": compact(value)}]
        return {**envelope, **caching, "contents": contents, "_meta": meta}


def is_kept_result(ctx: ServerRequestContext[Any, Any]) -> bool:
    """Whether a request reads a kept result."""
    uri: object = (ctx.params or {}).get("uri")
    return ctx.method == "resources/read" and isinstance(uri, str) and uri.startswith(RESULTS_URI)


def _output(about: About, value: Json) -> Output:
    """The kept value as the output of a call: what stood in a wrapper as text was taken out of it."""
    return Output(value, "structured" if about.wrapper is None else "text", about.wrapper)


def _page(value: Json, number: int, uri: str) -> tuple[Json, dict[str, Any]]:
    """A page of the longest array, with the rest of the value as it is; and what is told of it.

    Raises:
        InvalidUri: There is no such page.
    """
    found = longest(value, within_arrays=False)
    items: list[Json] = [] if found is None else found.items
    pages = max(1, -(-len(items) // ITEMS_A_PAGE))
    if number > pages:
        raise out_of_pages(uri, pages)
    told: dict[str, Any] = {"page": number, "pages": pages, "items": len(items)}
    if found is not None:
        told["path"] = str(found.path)
    if found is None or pages == 1:
        return value, told
    start = (number - 1) * ITEMS_A_PAGE
    return with_items(value, found.names, items[start : start + ITEMS_A_PAGE]), told
