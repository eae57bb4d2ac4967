"""The tools of a server under a policy, as each caller sees them.

    raw      {"name": "get_user", "description": "A user. Has the ssn.", "outputSchema": {... id, name, ssn ...}}
    visible  {"name": "get_user", "description": "A user.",              "outputSchema": {... id, name ...}}

Source: PRIVACY.md, P6, P7 and P18.
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.redacted_text import untold, untold_schema
from louver.core.cached import cached_property
from louver.core.json import is_object, members
from louver.core.paths.path import FieldPath
from louver.core.policy.name_variants import key_of
from louver.core.policy.redacted_schema import with_texts
from louver.core.policy.visibility import Sight
from louver.core.schema.validate import validator
from louver.core.wrapper import TEXT_WRAPPERS, text_wrapper
from louver.errors import ProjectionLimit
from louver.limits import MAX_SIGHTS
from louver.server.policy.passthrough import Passing

if TYPE_CHECKING:
    from louver.catalogue.policy.policy import Policy, ToolPolicy
    from louver.catalogue.policy.principal import Principal
    from louver.core.json import Json, Schema
    from louver.core.policy.redacted_schema import Names

logger = logging.getLogger(__name__)

_ANNOTATIONS: Final = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class SeenTools(Passing):
    def __init__(self, server: str, policy: Policy) -> None:
        super().__init__(policy)
        self.server = server
        self._lock = Lock()
        self._checked: OrderedDict[str, tuple[dict[str, Any], ToolPolicy | None]] = OrderedDict()
        self._sights: OrderedDict[tuple[Any, ...], tuple[Schema | None, Seen]] = OrderedDict()

    def seen(
        self, tool: dict[str, Any], principal: Principal, wrapper: str | None = None, *, in_text: bool = False
    ) -> Seen:
        """The visible part of a tool's output; `wrapper` holds it as text, `in_text` means that no schema applies."""
        said = self.policy.of(tool["name"])
        assert said is not None, "a tool without rules is not there"
        rules = said.ruling(principal)
        declared: Schema | None = tool.get("outputSchema")
        key = (tool["name"], tuple(rule.name for rule in rules), wrapper, in_text)
        # Lists and large answers are processed in threads.
        with self._lock:
            known = self._sights.get(key)
            if known is None or known[0] != declared:
                schema = None if in_text else of_texts(declared)
                seen = Seen(Sight([rule.fields for rule in rules], schema, self.policy.key, wrapper), declared)
                known = self._sights[key] = (declared, seen)
                if len(self._sights) > MAX_SIGHTS:
                    self._sights.popitem(last=False)
            self._sights.move_to_end(key)
            return known[1]

    def hides(self, tool: str, principal: Principal, path: FieldPath) -> bool:
        definition = self._served(tool)
        return definition is None or self.seen(definition, principal).sight.hides(path)

    def names_besides(self, tool: str, principal: Principal) -> Names | None:
        """The names that texts about a tool must not reveal to a caller; `None` if the tool is not served."""
        definition = self._served(tool)
        return None if definition is None else self.seen(definition, principal).names_besides(definition)

    def knows(self, tool: str) -> bool:
        return self._served(tool) is not None

    def names_of(self, tool: str, principal: Principal) -> frozenset[str]:
        """The names in a tool's output schema, as far as the tool was listed."""
        definition = self._served(tool)
        return frozenset() if definition is None else self.seen(definition, principal).names

    def rules_of(self, tool: dict[str, Any]) -> ToolPolicy | None:
        """The rules of a tool; `None` if it is not served, which is logged if the policy does not fit it."""
        name: str = tool["name"]
        said = self.policy.of(name)
        if said is None:
            return None
        with self._lock:
            checked = self._checked.get(name)
        if checked is None or checked[0] != tool:
            if (problem := said.misfit(tool)) is not None:
                logger.error("server %r: tool %r is not served: %s", self.server, name, problem)
            checked = (tool, said if problem is None else None)
        with self._lock:
            self._checked[name] = checked
            self._checked.move_to_end(name)
            if len(self._checked) > MAX_SIGHTS:
                self._checked.popitem(last=False)
        return checked[1]

    def _served(self, tool: str) -> dict[str, Any] | None:
        """The definition of a served tool, as far as it was listed and is still cached."""
        with self._lock:
            definition, rules = self._checked.get(tool, (None, None))
        return None if rules is None else definition

    def shown(self, tool: dict[str, Any], principal: Principal) -> dict[str, Any] | None:
        """A tool as a caller is listed it, if it is served."""
        if self.rules_of(tool) is None:
            return None
        try:
            seen = self.seen(tool, principal)
            if seen.listed is None or seen.listed[0] != tool:
                seen.listed = (tool, self._definition(tool, seen))
        except ProjectionLimit as error:
            logger.error("server %r: tool %r is not served: %s", self.server, tool["name"], error.message)
            return None
        return seen.listed[1]

    def _definition(self, tool: dict[str, Any], seen: Seen) -> dict[str, Any]:
        names = seen.names_besides(tool)
        shown: dict[str, Any] = {"name": tool["name"]}
        for key in ("title", "description"):
            if isinstance(text := tool.get(key), str) and (told := untold(text, names)):
                shown[key] = told
        shown["inputSchema"] = untold_schema(tool["inputSchema"], names)
        if (schema := seen.shown_schema) is not None:
            shown["outputSchema"] = schema
        hints = members(tool.get("annotations"))
        if said := {key: hints[key] for key in _ANNOTATIONS if isinstance(hints.get(key), bool)}:
            shown["annotations"] = said
        return {**shown, **self._meta(tool)}


class Seen:
    def __init__(self, sight: Sight, declared: Schema | None) -> None:
        self.sight = sight
        self._declared = declared
        # The definition that was listed last, and the listed form.
        self.listed: tuple[dict[str, Any], dict[str, Any]] | None = None

    @property
    def is_declared(self) -> bool:
        return self._declared is not None

    def is_valid(self, value: Json) -> bool:
        return self._validator.is_valid(value)

    def is_text(self, name: str) -> bool:
        """Whether the lone string of a member is text, and no rule decides on the member as a whole."""
        return of_texts(self._declared) is None or self.sight.fate(FieldPath((name,))) == "seen"

    def names_besides(self, tool: dict[str, Any]) -> Names:
        """The names that texts about a tool must not reveal, unless an argument has the name."""
        return self.sight.unseen_besides(tool["inputSchema"])

    @cached_property
    def names(self) -> frozenset[str]:
        return self.sight.names

    @cached_property
    def schema(self) -> Schema:
        """The schema of visible output, including texts that are pruned or withheld."""
        if (wrapper := text_wrapper(self._declared)) is not None:
            return {"type": "object", "properties": {wrapper: {"type": "string"}}, "required": [wrapper]}
        if self._declared is None:
            return self.sight.schema
        return with_texts(self.sight.schema, self._declared, [name for name in TEXT_WRAPPERS if self.is_text(name)])

    @property
    def shown_schema(self) -> Schema | None:
        declared: Any = self._declared
        if declared is None or self.sight.is_whole:
            return declared
        rooted = is_object(declared) and declared.get("type") == "object"
        return {**members(self.schema), "type": "object"} if rooted else self.schema

    @cached_property
    def _validator(self) -> Any:
        return validator(self.schema)


def apart(tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools with names that are no variants of another tool's name."""
    keys = [key_of(str(tool.get("name"))) for tool in tools]
    named = Counter(keys)
    return [tool for tool, key in zip(tools, keys, strict=True) if named[key] == 1]


def of_texts(schema: Schema | None) -> Schema | None:
    """The schema; `None` if it only declares a text, which may be JSON."""
    return None if text_wrapper(schema) is not None else schema
