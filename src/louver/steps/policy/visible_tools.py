"""The tools of a server under a policy, as each caller sees them.

    raw      {"name": "get_user", "description": "A user. Has the ssn.", "outputSchema": {... id, name, ssn ...}}
    visible  {"name": "get_user", "description": "A user.",              "outputSchema": {... id, name ...}}

Source: PRIVACY.md, P6, P7 and P18.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from functools import lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.redacted_text import redact_description, redact_input_schema, redact_text
from louver.core.cached import cached_property
from louver.core.json import is_object, members
from louver.core.paths.path import FieldPath
from louver.core.policy.name_variants import key_of
from louver.core.policy.redacted_schema import with_texts
from louver.core.policy.visibility import Visibility
from louver.core.schema.validate import validator
from louver.core.wrapper import TEXT_WRAPPERS, text_wrapper
from louver.errors import ProjectionLimit
from louver.policy.principal import Principal
from louver.steps.policy.message_filter import MessageFilter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json, Schema
    from louver.core.policy.revealed_names import Names
    from louver.policy.policy import Policy, Rule, Text

MAX_VISIBLE_TOOLS = 16_384
"""Cached views of tools under a policy (one for each tool and set of rules), and cached tools of one server."""


logger = logging.getLogger(__name__)

_ANNOTATIONS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class VisibleTools(MessageFilter):
    def __init__(self, server: str, policy: Policy) -> None:
        super().__init__(policy)
        self.server = server

        @lru_cache(maxsize=MAX_VISIBLE_TOOLS)
        def rule_of(tool: str, client: str | None, scopes: frozenset[str], roles: frozenset[str]) -> Rule | None:
            return policy.rule_for(tool, Principal(None, client, scopes, roles))

        self._rule_of = rule_of
        self._lock = Lock()
        # The definition that was listed last, and whether the policy fits it.
        self._checked_tools: OrderedDict[str, tuple[dict[str, Any], bool]] = OrderedDict()
        self._visible_tools: OrderedDict[tuple[Any, ...], tuple[Schema | None, VisibleTool]] = OrderedDict()

    def visible_tool(
        self, tool: dict[str, Any], principal: Principal, wrapper: str | None = None, *, in_text: bool = False
    ) -> VisibleTool:
        """The visible part of a served tool's output; `wrapper` holds it as text, `in_text`: no schema applies."""
        rule = self._rule_for(tool["name"], principal)
        assert rule is not None, "a tool without a rule for the caller is not there"
        declared: Schema | None = tool.get("outputSchema")
        key = (tool["name"], rule.name, wrapper, in_text)
        # Lists and large answers are processed in threads.
        with self._lock:
            known = self._visible_tools.get(key)
            if known is None or (known[0] is not declared and known[0] != declared):
                schema = None if in_text else schema_unless_text(declared)
                seen = VisibleTool(Visibility(rule.fields, schema, self.policy.key, wrapper), declared, rule.text)
                known = (declared, seen)
            # Also an equal one of a newer list, so that it is compared once, and not at each call.
            self._visible_tools[key] = (declared, known[1])
            self._visible_tools.move_to_end(key)
            if len(self._visible_tools) > MAX_VISIBLE_TOOLS:
                self._visible_tools.popitem(last=False)
            return known[1]

    def hides(self, tool: str, principal: Principal, path: FieldPath) -> bool:
        definition = self._served_definition(tool, principal)
        return definition is None or self.visible_tool(definition, principal).visibility.hides(path)

    def visible_description(
        self, tool: str, principal: Principal, content: Mapping[str, Any]
    ) -> Mapping[str, Any] | None:
        """What a caller sees of a tool's file of descriptions; `None` if the caller is not served the tool."""
        definition = self._served_definition(tool, principal)
        if definition is None:
            return None
        return redact_description(content, self.visible_tool(definition, principal).hidden_names(definition))

    def is_served(self, tool: str) -> bool:
        """Whether a tool is served to anybody, as far as it was listed and is still cached."""
        with self._lock:
            return self._checked_tools.get(tool, (None, False))[1]

    def names_of(self, tool: str, principal: Principal) -> frozenset[str]:
        """The names in a tool's output schema, as far as the tool was listed."""
        definition = self._served_definition(tool, principal)
        return frozenset() if definition is None else self.visible_tool(definition, principal).names

    def serves(self, tool: dict[str, Any], principal: Principal) -> bool:
        """Whether a caller is served a tool: the policy fits it, else that is logged, and has a rule for the caller."""
        return self._fits(tool) and self._rule_for(tool["name"], principal) is not None

    def _rule_for(self, tool: str, principal: Principal) -> Rule | None:
        # By the rights, not by the caller: those of an object of somebody else's class may change.
        return self._rule_of(tool, principal.client, frozenset(principal.scopes), frozenset(principal.roles))

    def _fits(self, tool: dict[str, Any]) -> bool:
        name: str = tool["name"]
        with self._lock:
            listed, fits = self._checked_tools.get(name, (None, False))
        if listed is None or (listed is not tool and listed != tool):
            if (tool_policy := self.policy.of(name)) is None:
                return False
            if (problem := tool_policy.mismatch_reason(tool)) is not None:
                logger.error("server %r: tool %r is not served: %s", self.server, name, problem)
            fits = problem is None
        with self._lock:
            self._checked_tools[name] = (tool, fits)
            self._checked_tools.move_to_end(name)
            if len(self._checked_tools) > MAX_VISIBLE_TOOLS:
                self._checked_tools.popitem(last=False)
        return fits

    def _served_definition(self, tool: str, principal: Principal) -> dict[str, Any] | None:
        """The definition of a tool that a caller is served, as far as it was listed and is still cached."""
        with self._lock:
            definition, fits = self._checked_tools.get(tool, (None, False))
        return definition if fits and self._rule_for(tool, principal) is not None else None

    def listed_definition(self, tool: dict[str, Any], principal: Principal) -> dict[str, Any] | None:
        """A tool as a caller is listed it, if the caller is served it."""
        if not self.serves(tool, principal):
            return None
        try:
            seen = self.visible_tool(tool, principal)
            if seen.last_listed is None or seen.last_listed[0] != tool:
                seen.last_listed = (tool, self._visible_definition(tool, seen))
        except ProjectionLimit as error:
            logger.error("server %r: tool %r is not served: %s", self.server, tool["name"], error.message)
            return None
        return seen.last_listed[1]

    def _visible_definition(self, tool: dict[str, Any], seen: VisibleTool) -> dict[str, Any]:
        names = seen.hidden_names(tool)
        shown: dict[str, Any] = {"name": tool["name"]}
        for key in ("title", "description"):
            if isinstance(text := tool.get(key), str) and (redacted := redact_text(text, names)):
                shown[key] = redacted
        shown["inputSchema"] = redact_input_schema(tool["inputSchema"], names)
        if (schema := seen.listed_schema) is not None:
            shown["outputSchema"] = schema
        hints = members(tool.get("annotations"))
        if annotations := {key: hints[key] for key in _ANNOTATIONS if isinstance(hints.get(key), bool)}:
            shown["annotations"] = annotations
        return {**shown, **self._allowed_meta(tool)}


class VisibleTool:
    def __init__(self, visibility: Visibility, declared: Schema | None, text: Text) -> None:
        self.visibility = visibility
        self.text: Text = text
        self._declared = declared
        # The definition that was listed last, and the listed form.
        self.last_listed: tuple[dict[str, Any], dict[str, Any]] | None = None

    @property
    def is_declared(self) -> bool:
        return self._declared is not None

    def is_valid(self, value: Json) -> bool:
        return self._validator.is_valid(value)

    def is_text(self, name: str) -> bool:
        """Whether the lone string of a member is text, and no rule decides on the member as a whole."""
        return schema_unless_text(self._declared) is None or self.visibility.fate(FieldPath((name,))) == "seen"

    def hidden_names(self, tool: dict[str, Any]) -> Names:
        """The names that texts about a tool must not reveal, unless an argument has the name."""
        return self.visibility.unseen_besides(tool["inputSchema"])

    @cached_property
    def names(self) -> frozenset[str]:
        return self.visibility.names

    @cached_property
    def schema(self) -> Schema:
        """The schema of visible output, including texts that are pruned or withheld."""
        if (wrapper := text_wrapper(self._declared)) is not None:
            return {"type": "object", "properties": {wrapper: {"type": "string"}}, "required": [wrapper]}
        if self._declared is None:
            return self.visibility.schema
        return with_texts(
            self.visibility.schema, self._declared, [name for name in TEXT_WRAPPERS if self.is_text(name)]
        )

    @property
    def listed_schema(self) -> Schema | None:
        declared: Any = self._declared
        if declared is None or self.visibility.is_whole:
            return declared
        rooted = is_object(declared) and declared.get("type") == "object"
        return {**members(self.schema), "type": "object"} if rooted else self.schema

    @cached_property
    def _validator(self) -> Any:
        return validator(self.schema)


def with_distinct_names(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools with names that are no variants of another tool's name."""
    keys = [key_of(str(tool.get("name"))) for tool in tools]
    counts = Counter(keys)
    return [tool for tool, key in zip(tools, keys, strict=True) if counts[key] == 1]


def schema_unless_text(schema: Schema | None) -> Schema | None:
    """The schema; `None` if it only declares a text, which may be JSON."""
    return None if text_wrapper(schema) is not None else schema
