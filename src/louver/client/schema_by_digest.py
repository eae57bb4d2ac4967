"""A cache of the schemas that receipts report, or name by a digest.

{"schemaDigest": "cc14fe1b3136264a", "projectedSchema": {...}}     reported
{"schemaDigest": "cc14fe1b3136264a"}                               named: from the cache, or read from the server
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from louver.core.json import is_object
from louver.limits import MAX_CACHED_SCHEMAS
from louver.protocol.receipt import Applied

if TYPE_CHECKING:
    from louver.client.answer import Answer
    from louver.client.wire import Wire
    from louver.core.json import Schema
    from louver.core.projection.request import Projection


class SchemaCache:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._schemas: OrderedDict[tuple[str, Projection], tuple[str, Schema]] = OrderedDict()

    def knows(self, tool: str, projection: Projection) -> bool:
        """Whether a schema was received for this request before, so that its digest is enough."""
        return (tool, projection) in self._schemas

    async def check_schema(self, answer: Answer, projection: Projection | None) -> Answer:
        reported = answer.reported_schema
        schema = await self._read(answer.tool.name, projection, reported) if isinstance(reported, str) else reported
        if schema is None:
            return answer
        known = await to_thread.run_sync(answer.checked_against, schema)
        self._remember(known, projection, schema)
        return known

    # A digest that cannot be read is not an error: another process behind the same URL may know it.
    async def _read(self, tool: str, projection: Projection | None, digest: str) -> Schema | None:
        if projection is not None and (tool, projection) in self._schemas:
            named, schema = self._schemas[tool, projection]
            if named == digest:
                return schema
        read: Any = await self._wire.schema(digest)
        return read if isinstance(read, bool) or is_object(read) else None

    def _remember(self, answer: Answer, projection: Projection | None, schema: Schema) -> None:
        receipt = answer.receipt
        # A schema inferred from one result is of no use for the next.
        if projection is None or not isinstance(receipt, Applied) or receipt.schema_source is not None:
            return
        if receipt.schema_digest is not None:
            self._schemas[answer.tool.name, projection] = receipt.schema_digest, schema
            self._schemas.move_to_end((answer.tool.name, projection))
        if len(self._schemas) > MAX_CACHED_SCHEMAS:
            self._schemas.popitem(last=False)
