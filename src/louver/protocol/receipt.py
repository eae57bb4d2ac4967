"""What an answer says of its projection: the receipt in `_meta.projection`.

Applied::

    {"applied": true, "mode": "include", "fields": ["id", "user.login"], "partial": true,
     "schemaDigest": "0f3c...16 hex", "projectedSchema": {...}}

Or not, and why::

    {"applied": false, "reason": "no_structured_output"}

`partial` says that something was left out: such a value must not be written back. `shaped` says how a view
shapes what is left; then its members can have other names than the tool's.
Our receipts always have it; the digest unless the request asks for `"schema": "none"`.
Source: issue #1704, section 4; all but `applied`, `mode`, `fields` and `projectedSchema` are ours.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from louver.core.projection.request import Mode
from louver.protocol.model import WireModel
from louver.protocol.shaped import Shaped

Reason = Literal["error_result", "not_complete", "no_structured_output", "not_supported", "result_kept"]
"""Why a projection was not applied."""


class Applied(WireModel):
    """The receipt of a projected answer."""

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
    schema_digest: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    projected_schema: dict[str, Any] | bool | None = None
    schema_precision: Literal["shape"] | None = Field(
        default=None, description="The schema only says which members there can be."
    )
    schema_source: Literal["inferred"] | None = Field(
        default=None, description="Nothing was declared of the value; the schema comes from this answer alone."
    )


class NotApplied(WireModel):
    """The receipt of an answer that is as it was."""

    applied: Literal[False] = False
    reason: Reason


_FOR_PROGRAMS = (
    *("unmatched", "suggestions", "schemaDigest", "projectedSchema"),
    *("schemaPrecision", "schemaSource"),
)


def brief(receipt: dict[str, Any]) -> dict[str, Any]:
    """A receipt for a model: without schema, and without what its answer says in a note.

    Args:
        receipt: As it stands on the wire.
    """
    return {key: value for key, value in receipt.items() if key not in _FOR_PROGRAMS}


Receipt = Annotated[Applied | NotApplied, Field(discriminator="applied")]
"""A receipt on the wire. One that holds just what issue #1704 shows is a receipt too."""
