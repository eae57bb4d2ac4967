"""How a view shapes a value, in receipts and hints. Source: 001 pattern 4; the form is ours.

{"select": {"ts": {"path": "created", "format": "minute"}, "content": "content"}, "at": "messages",
 "maxItems": 20, "maxString": 500, "dropNulls": true}
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from louver.protocol.model import WireModel

Count = Annotated[int, Field(ge=1)]


class Source(WireModel):
    path: str
    format: Literal["minute", "date", "localpart"] | None = None


class Shaped(WireModel):
    select: dict[str, str | Source] | None = Field(default=None, description="Name -> where the member comes from.")
    at: str | None = Field(default=None, description="Where the objects stand that get these members.")
    max_items: Count | None = Field(default=None, description="Elements of the longest array.")
    max_string: Count | None = Field(default=None, description="Characters of the longest text.")
    drop_nulls: bool | None = Field(default=None, description="Whether members that are null are left out.")
