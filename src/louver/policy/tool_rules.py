"""Tool rules: which tools of one server each caller has, and under which names.

    {"hide": ["drop_*"], "rename": {"get_user": "user"}, "describe": {"get_user": "Read a user."}}
    get_user, get_team, drop_team    ->    user "Read a user.", get_team

The first rule that a caller meets applies; a caller who meets none has no tools. Rules name tools as the server does. A
new name stands for one tool, for all callers: another tool that the server calls so is not listed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final

from louver.core.cached import cached_property
from louver.core.json import digest, is_array
from louver.core.nearest import did_you_mean
from louver.errors import InvalidConfig
from louver.policy.principal import EVERYBODY, Who

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from louver.policy.principal import Principal


@dataclass(frozen=True)
class ToolRule:
    who: Who = EVERYBODY
    allow: tuple[str, ...] = ("*",)  # patterns
    hide: tuple[str, ...] = ()  # patterns
    rename: Mapping[str, str] = field(default_factory=dict[str, str])
    describe: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> ToolRule:
        who = {kind: frozenset(words) for kind, words in written.get("who", {}).items()}
        patterns = {key: tuple(written[key]) for key in ("allow", "hide") if key in written}
        rule = cls(Who(**who), **patterns, rename=written.get("rename", {}), describe=written.get("describe", {}))
        for key in ("rename", "describe"):
            if hidden := next((tool for tool in written.get(key, {}) if not rule.allows(tool)), None):
                raise InvalidConfig(f"{key!r} names {hidden!r}, which 'allow' and 'hide' leave out")
        return rule

    def allows(self, tool: str) -> bool:
        return _matches(tool, self.allow) and not _matches(tool, self.hide)

    def name_of(self, tool: str) -> str:
        return self.rename.get(tool, tool)

    @cached_property
    def id(self) -> str:
        """The same for rules of the same content, in all processes."""
        who = [sorted(words) for words in asdict(self.who).values()]
        return digest([who, list(self.allow), list(self.hide), dict(self.rename), dict(self.describe)])


_NO_TOOLS: Final = ToolRule(allow=())


@dataclass(frozen=True)
class ToolRules:
    rules: tuple[ToolRule, ...]

    @classmethod
    def read(cls, written: Any) -> ToolRules:
        """The rules of a configuration, which fits the schema: one rule, or a list of them."""
        rules = cls(tuple(map(ToolRule.read, written if is_array(written) else [written])))
        renamed = [(new, tool) for rule in rules.rules for tool, new in rule.rename.items()]
        for new, tool in renamed:
            if (other := rules.renamed[new]) != tool:
                raise InvalidConfig(f"'rename' gives both {other!r} and {tool!r} the name {new!r}: expected one")
        return rules

    @cached_property
    def renamed(self) -> dict[str, str]:
        """New name -> the tool."""
        found: dict[str, str] = {}
        for rule in self.rules:
            for tool, new in rule.rename.items():
                found.setdefault(new, tool)
        return found

    @property
    def depend_on_caller(self) -> bool:
        return self.rules[0].who != EVERYBODY

    def rule_for(self, principal: Principal) -> ToolRule:
        return next((rule for rule in self.rules if rule.who.is_met_by(principal)), _NO_TOOLS)

    def tool_of(self, name: str) -> str:
        """The server's name of a tool, by the name that clients use."""
        return self.renamed.get(name, name)

    def visible_tool(self, rule: ToolRule, tool: dict[str, Any]) -> dict[str, Any] | None:
        """A tool of the server as the callers of a rule have it, if they do."""
        name: str = tool["name"]
        if not rule.allows(name) or self.tool_of(rule.name_of(name)) != name:
            return None
        described = {"description": rule.describe[name]} if name in rule.describe else {}
        return {**tool, "name": rule.name_of(name), **described}

    def tool_for(self, rule: ToolRule, name: str) -> str | None:
        """The server's name of the tool that the callers of a rule know by a name; `None` if they have none."""
        tool = self.tool_of(name)
        return tool if rule.allows(tool) and rule.name_of(tool) == name else None

    def all_visible(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The tools that any caller has, under each name; of several descriptions the first."""
        found: dict[str, dict[str, Any]] = {}
        for rule in self.rules:
            for tool in tools:
                if (visible := self.visible_tool(rule, tool)) is not None:
                    found.setdefault(visible["name"], visible)
        return list(found.values())

    def collision(self, tool: str) -> str | None:
        """Why a tool of the server is not listed under its own name, if another one has that name."""
        other = self.tool_of(tool)
        if other == tool or not any(rule.allows(tool) and rule.name_of(tool) == tool for rule in self.rules):
            return None
        return f"tool {tool!r} is not listed: 'rename' gives its name to {other!r}"

    def validation_errors(self, tools: Iterable[str]) -> list[str]:
        """Problems: tools and patterns that the server does not have, and names that collide."""
        listed = list(tools)
        patterns = {pattern: None for rule in self.rules for pattern in (*rule.allow, *rule.hide) if pattern != "*"}
        named = {tool: None for rule in self.rules for tool in (*rule.rename, *rule.describe)}
        return [
            *(
                f"'tools' names a tool {tool!r}, which it does not have{did_you_mean(tool, listed)}"
                for tool in named
                if tool not in listed
            ),
            *(
                f"'tools' has a pattern {pattern!r}, which matches none of its tools"
                for pattern in patterns
                if not any(fnmatchcase(tool, pattern) for tool in listed)
            ),
            *filter(None, map(self.collision, listed)),
        ]


def _matches(tool: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(tool, pattern) for pattern in patterns)
