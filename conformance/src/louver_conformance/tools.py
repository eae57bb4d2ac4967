"""The tools of a target, as far as the suite needs to know them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.json import is_object, members, strings
from louver.protocol.names import ARGUMENT, GRANT, GRANT_ARGUMENT, HINT, HINT_LITERAL

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Args:
        listed: As it is listed.
        described: Its full description, where descriptions are read on demand; else empty.
        grant: What a call carries in `_meta` to show that the description was read.
    """

    listed: dict[str, Any]
    described: dict[str, Any] = field(default_factory=dict[str, Any])
    grant: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.listed.get("name"))

    @property
    def hint(self) -> dict[str, Any]:
        """The literal form of its hint; empty without one."""
        return members(members(self.listed.get("annotations")).get(HINT_LITERAL))

    @property
    def extension_hint(self) -> dict[str, Any]:
        """The extension form; likewise."""
        return members(members(self.listed.get("_meta")).get(HINT))

    @property
    def only_reads(self) -> bool:
        """Whether it says of itself that it only reads."""
        return members(self.listed.get("annotations")).get("readOnlyHint") is True

    @property
    def is_projectable(self) -> bool:
        """Whether it says, in either form, that its calls can be projected."""
        return self.hint.get("supported") is True or self.extension_hint.get("supported") is True

    @property
    def views(self) -> dict[str, list[str]]:
        """Its recommended views."""
        named = members(self.hint.get("recommendedViews")) or members(self.extension_hint.get("recommendedViews"))
        return {name: strings(paths) for name, paths in named.items() if strings(paths)}

    @property
    def always(self) -> list[str]:
        """Paths that are added to every include."""
        return strings(self.extension_hint.get("always"))

    @property
    def input_schema(self) -> dict[str, Any]:
        """Its full input schema, without what a server adds for its own sake."""
        schema = members(self.described.get("inputSchema")) or members(self.listed.get("inputSchema"))
        own = (ARGUMENT, GRANT_ARGUMENT)
        properties = {name: part for name, part in members(schema.get("properties")).items() if name not in own}
        required = [name for name in strings(schema.get("required")) if name not in own]
        return {**schema, "properties": properties, "required": required}

    @property
    def takes_argument(self) -> bool:
        """Whether it takes a projection by the argument."""
        schema = members(self.described.get("inputSchema")) or members(self.listed.get("inputSchema"))
        return ARGUMENT in members(schema.get("properties"))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The output schema that clients hold its answers against."""
        schema = self.listed.get("outputSchema")
        return schema if is_object(schema) else None


def grants_in(meta: Mapping[str, Any]) -> dict[str, Any]:
    """What a call carries in `_meta` after descriptions have been read."""
    return {GRANT: meta[GRANT]} if GRANT in meta else {}
