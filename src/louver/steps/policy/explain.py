"""What a policy shows of one tool to one caller, and by which rule: for `louver check --as` and the page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.entry import EXTRAS_SCHEMA
from louver.core import json
from louver.core.policy.visibility import Visibility
from louver.core.schema.outline import outline
from louver.errors import InvalidPolicy
from louver.steps.policy.visible_tools import VisibleTools
from louver.wire.names import EXTRAS

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.paths.path import FieldPath
    from louver.core.schema.outline import Member
    from louver.policy.policy import Policy, Rule
    from louver.policy.principal import Principal

PLACEHOLDER_KEY: Final = b"\0" * 32
"""In place of the key for pseudonyms: an explanation prunes no value."""


@dataclass(frozen=True, slots=True)
class Explanation:
    rule: Rule | None  # `None` if the tool is hidden from the caller
    listed_schema: Schema | None

    def fates(self, schema: Schema) -> dict[FieldPath, str]:
        """What becomes of each field."""
        paths = [member.path for member in fields_of(schema)]
        if self.rule is None:
            return dict.fromkeys(paths, "hidden")
        visibility = Visibility(self.rule.fields, schema, PLACEHOLDER_KEY)
        return {path: visibility.fate(path) for path in paths}


def explain(policy: Policy, tool: str, definition: dict[str, Any], principal: Principal) -> Explanation:
    """The explanation for one caller; InvalidPolicy if the policy does not fit the tool."""
    tool_policy = policy.of(tool)
    if tool_policy is None:
        return Explanation(None, None)
    if (problem := tool_policy.mismatch_reason(definition)) is not None:
        raise InvalidPolicy(f"tool {tool!r} is served to nobody: {problem}", file=str(policy.file))
    rule = tool_policy.rule_for(principal)
    if rule is None:
        return Explanation(None, None)
    return Explanation(rule, VisibleTools(tool, policy).visible_tool(definition, principal).listed_schema)


def fields_of(schema: Schema) -> list[Member]:
    """The fields of an output, without the member in which a Louver behind the server puts its notes."""
    is_listed = json.members(json.members(schema).get("properties")).get(EXTRAS) == EXTRAS_SCHEMA
    hidden = (EXTRAS,) if is_listed else None
    return [member for member in outline(schema) if member.path.steps != hidden]
