"""What wire models share: camelCase names, and no unknown members; and how a view shapes a value."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

import msgspec


class WireModel(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True, kw_only=True):
    def to_wire(self) -> dict[str, Any]:
        """The JSON object, without members that are `None`; values are shared with the model."""
        members = zip(self.__struct_encode_fields__, self.__struct_fields__, strict=True)
        return {name: _wire(part) for name, field in members if (part := getattr(self, field)) is not None}


def _wire(part: Any) -> Any:
    if isinstance(part, WireModel):
        return part.to_wire()
    if isinstance(part, list) and isinstance(next(iter(cast("list[Any]", part)), None), WireModel):
        return [each.to_wire() for each in cast("list[Any]", part)]
    if isinstance(part, dict) and any(isinstance(each, WireModel) for each in cast("dict[str, Any]", part).values()):
        return {name: _wire(each) for name, each in cast("dict[str, Any]", part).items()}
    return cast("Any", part)


Count = Annotated[int, msgspec.Meta(ge=1)]


class Source(WireModel, frozen=True, kw_only=True):
    path: str
    format: Literal["minute", "date", "localpart"] | None = None


class Shaped(WireModel, frozen=True, kw_only=True):
    select: dict[str, str | Source] | None = None  # name -> where the member comes from
    at: str | None = None  # where the objects stand that get these members
    max_items: Count | None = None  # elements of the longest array
    max_string: Count | None = None  # characters of the longest text
    drop_nulls: bool | None = None  # whether members that are null are left out
