"""How a view shapes what is left, as a receipt and a hint tell it.

::

    {"select": {"ts": {"path": "created", "format": "minute"}, "content": "content"}, "at": "messages",
     "maxItems": 20, "maxString": 500, "dropNulls": true}

Source: 001 pattern 4; the form is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from louver.protocol.model import WireModel

Count = Annotated[int, Field(ge=1)]


class Source(WireModel):
    """Where a selected member comes from."""

    path: str
    format: Literal["minute", "date", "localpart"] | None = None


class Shaped(WireModel):
    """What becomes of the value that is left; each part only where it does something."""

    select: dict[str, str | Source] | None = Field(default=None, description="Name -> where the member comes from.")
    at: str | None = Field(default=None, description="Where the objects stand that get these members.")
    max_items: Count | None = Field(default=None, description="Elements of the longest array.")
    max_string: Count | None = Field(default=None, description="Characters of the longest text.")
    drop_nulls: bool | None = Field(default=None, description="Whether members that are null are left out.")
