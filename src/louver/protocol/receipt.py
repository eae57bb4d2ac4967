"""The receipt of a projection in a result's `_meta`. Source: issue #1704, section 4; most members are ours.

{"applied": true, "mode": "include", "fields": ["id", "user.login"], "partial": true,
 "schemaDigest": "0f3c...16 hex", "projectedSchema": {...}}
{"applied": false, "reason": "no_structured_output"}
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from louver.core.projection.request import Mode
from louver.protocol.model import WireModel
from louver.protocol.shaped import Shaped

# Why a projection was not applied.
Reason = Literal["error_result", "not_complete", "no_structured_output", "not_supported", "result_kept"]


class Applied(WireModel):
    applied: Literal[True] = True
    mode: Mode
    fields: list[str] = Field(description="The canonical list of what was asked for.")
    view: str | None = None
    excluded: list[str] | None = Field(default=None, description="What a view leaves out of its fields.")
    always: list[str] | None = Field(default=None, description="What the tool's author adds to every request.")
    shaped: Shaped | None = Field(default=None, description="What a view makes of what is left.")
    unmatched: list[str] | None = Field(
        default=None, description="Paths that the tool's declared schema does not know."
    )
    suggestions: dict[str, str] | None = Field(default=None, description="For unmatched paths: what was meant.")
    partial: bool | None = Field(default=None, description="Something was left out: do not write this value back.")
    content_dropped: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Blocks of `content` that are not text and were dropped."
    )
    # In every receipt of ours, unless the request has `"schema": "none"`.
    schema_digest: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    projected_schema: dict[str, Any] | bool | None = None
    schema_precision: Literal["shape"] | None = Field(
        default=None, description="The schema only says which members there can be."
    )
    schema_source: Literal["inferred"] | None = Field(
        default=None, description="Nothing was declared of the value; the schema comes from this answer alone."
    )


class NotApplied(WireModel):
    applied: Literal[False] = False
    reason: Reason


_FOR_PROGRAMS = (
    *("unmatched", "suggestions", "schemaDigest", "projectedSchema"),
    *("schemaPrecision", "schemaSource"),
)


def brief(receipt: dict[str, Any]) -> dict[str, Any]:
    """A receipt for a model: without the schema, and without what a note in the result says."""
    return {key: value for key, value in receipt.items() if key not in _FOR_PROGRAMS}


# A receipt on the wire. One with just the members of issue #1704 is a receipt too.
Receipt = Annotated[Applied | NotApplied, Field(discriminator="applied")]
