"""The base of all wire models: camelCase names, no unknown members, no values in errors."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class WireModel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
        strict=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """The JSON object, without members that are `None`."""
        return self.model_dump(by_alias=True, mode="json", exclude_none=True)
