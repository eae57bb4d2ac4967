"""Projected schemas, read at `louver://schemas/<digest>` by clients that request `"schema": "digest"`.

A digest names one schema forever, so the answer may be cached; only recently named schemas are kept. A server without
resources gets the capability and empty lists, so that clients may read.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Literal

from louver.core.json import canonical
from louver.wire.jsonrpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.names import SCHEMAS_URI

if TYPE_CHECKING:
    from louver.catalogue.plan_cache import ReadyPlan
    from louver.core.json import Schema
    from louver.steps.request import Next, Request

MAX_KEPT_SCHEMAS = 1024
"""Projected schemas that a server serves by their digest; the least recently used go first."""


CacheScope = Literal["public", "private"]  # caches that may store an answer: any, or only the caller's own

_DAY_MS = 86_400_000
_LIST_KEYS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


class ProjectedSchemas:
    """The schemas that recent answers named; their scope is `private` if they reveal what one caller may see."""

    def __init__(self, scope: CacheScope = "public") -> None:
        self.scope: CacheScope = scope
        self._schemas: OrderedDict[str, Schema] = OrderedDict()

    def remember(self, ready_plan: ReadyPlan) -> None:
        self._schemas[ready_plan.digest] = ready_plan.schema
        self._schemas.move_to_end(ready_plan.digest)
        if len(self._schemas) > MAX_KEPT_SCHEMAS:
            self._schemas.popitem(last=False)

    def read(self, uri: str) -> dict[str, Any]:
        schema = self._schemas.get(uri.removeprefix(SCHEMAS_URI))
        if schema is None:
            message = "no projected schema is kept under this digest: ask again with 'schema': 'inline'"
            raise JsonRpcError(code=INVALID_PARAMS, message=message, data={"uri": uri})
        text = canonical(schema).decode()
        return {"contents": [{"uri": uri, "mimeType": "application/schema+json", "text": text}]}


def is_projected_schema(request: Request) -> bool:
    uri: object = request.params.get("uri")
    return request.method == "resources/read" and isinstance(uri, str) and uri.startswith(SCHEMAS_URI)


def with_cache_hints(result: dict[str, Any], envelope: dict[str, Any], scope: CacheScope = "public") -> dict[str, Any]:
    """A result that never changes, with cache hints where the protocol revision has them."""
    caching = {"ttlMs": _DAY_MS, "cacheScope": scope} if "resultType" in envelope else {}
    return {**envelope, **caching, **result}


async def list_or_empty(request: Request, call_next: Next, envelope: dict[str, Any]) -> dict[str, Any]:
    """The server's own list of resources, templates or prompts; an empty one if it has none."""
    try:
        return await call_next(request)
    except JsonRpcError as error:
        if error.code != METHOD_NOT_FOUND:
            raise
    return with_cache_hints({_LIST_KEYS[request.method]: []}, envelope)
