"""A tool of a target: its list entry, its description, and the grant for its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.json import is_object, members, strings
from louver.wire.names import ARGUMENT, GRANT, GRANT_ARGUMENT, HINT, HINT_LITERAL

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Tool:
    listed: dict[str, Any]
    # Its full description where descriptions are read on demand; else empty.
    described: dict[str, Any] = field(default_factory=dict[str, Any])
    # Members for the `_meta` of a call, which show that the description was read.
    grant: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return str(self.listed.get("name"))

    @property
    def hint(self) -> dict[str, Any]:
        """Its hint in the literal form; empty without one."""
        return members(members(self.listed.get("annotations")).get(HINT_LITERAL))

    @property
    def extension_hint(self) -> dict[str, Any]:
        """Its hint in the extension form; empty without one."""
        return members(members(self.listed.get("_meta")).get(HINT))

    @property
    def is_read_only(self) -> bool:
        return members(self.listed.get("annotations")).get("readOnlyHint") is True

    @property
    def is_projectable(self) -> bool:
        """Whether a hint in either form offers projection."""
        return self.hint.get("supported") is True or self.extension_hint.get("supported") is True

    @property
    def views(self) -> dict[str, list[str]]:
        named = members(self.hint.get("recommendedViews")) or members(self.extension_hint.get("recommendedViews"))
        return {name: strings(paths) for name, paths in named.items() if strings(paths)}

    @property
    def always(self) -> list[str]:
        return strings(self.extension_hint.get("always"))

    @property
    def input_schema(self) -> dict[str, Any]:
        """Its full input schema, without the arguments that a server adds for projection and grants."""
        schema = members(self.described.get("inputSchema")) or members(self.listed.get("inputSchema"))
        own = (ARGUMENT, GRANT_ARGUMENT)
        properties = {name: part for name, part in members(schema.get("properties")).items() if name not in own}
        required = [name for name in strings(schema.get("required")) if name not in own]
        return {**schema, "properties": properties, "required": required}

    @property
    def takes_argument(self) -> bool:
        schema = members(self.described.get("inputSchema")) or members(self.listed.get("inputSchema"))
        return ARGUMENT in members(schema.get("properties"))

    @property
    def output_schema(self) -> dict[str, Any] | None:
        """The output schema against which clients validate its answers."""
        schema = self.listed.get("outputSchema")
        return schema if is_object(schema) else None


def grants_in(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Members for the `_meta` of calls, from the `_meta` of a read of descriptions."""
    return {GRANT: meta[GRANT]} if GRANT in meta else {}
