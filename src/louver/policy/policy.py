"""Field policy: which callers may see which fields of one server's tools.

    {"version": "2026-11-20", "tools": {"get_user": {"rules": [
       {"name": "admins", "who": {"roles": ["admin"]}, "allow": ["*"]}, {"name": "others", "allow": ["name"]}]}}}

The first rule that a caller meets applies. A tool is hidden from callers who meet none, and from everybody if no rules
name it (`*`: all others) or its definition no longer fits them. Sources: PRIVACY.md, "Policy file"; TRUST.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, get_args
from unicodedata import normalize
from urllib.parse import unquote

from louver.catalogue.entry import definition_digest
from louver.catalogue.files.folder import read_json
from louver.catalogue.files.line_numbers import line_of
from louver.catalogue.files.open_regular import trusted
from louver.core.json import digest, is_array, is_object
from louver.core.nearest import did_you_mean
from louver.core.paths.path import FieldPath, fold
from louver.core.policy.name_variants import without_invisible
from louver.core.policy.visibility import Fields
from louver.core.wrapper import text_wrapper
from louver.errors import InvalidPolicy, InvalidProjection
from louver.limits import MAX_URI_BYTES
from louver.policy.principal import EVERYBODY, Who

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from louver.catalogue.files.line_numbers import Place
    from louver.policy.principal import Principal

# Whether a server's error texts are replaced, or passed on.
Errors = Literal["constant", "passthrough"]

# Whether an answer's text that is not JSON is withheld, or passed on.
Text = Literal["withhold", "pass"]

# What a policy can allow besides tool calls.
Feature = Literal["progress", "logging", "elicitation", "sampling", "prompts", "completion", "instructions"]

FEATURES: Final[tuple[Feature, ...]] = get_args(Feature)

# Key for all tools that are not named.
OTHERS: Final = "*"

_DIGEST: Final = re.compile("[0-9a-f]{16}")
_KEYS: Final = ("$schema", "version", "tools", "errors", "meta", "let", "resources")
_OF_TOOL: Final = ("rules", "digest")
_PATHS: Final = ("allow", "deny", "mask", "hash")
_OF_RULE: Final = ("name", "who", *_PATHS, "text")
_OF_WHO: Final = ("scopes", "roles", "clients")

# Characters that URI readers strip, anywhere (tabs, line ends) or at the ends.
_SKIPPED: Final = re.compile(r"[\x00-\x20\x7f-\x9f]")

# Layers of percent-encoding that are decoded; a URI with more is not plain.
_MOST_ENCODINGS: Final = 8

# A segment may have parameters, which readers strip: `..;x=1`.
_UP: Final = re.compile(r"(?:^|[/\\])\.\.(?:[/\\?#;]|$)")


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    who: Who
    fields: Fields
    text: Text = "withhold"


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    rules: tuple[Rule, ...]
    digest: str | None = None  # of the definition that the rules were written for
    is_for_others: bool = False  # few of these tools have all fields

    @property
    def is_for_everybody(self) -> bool:
        return any(rule.who == EVERYBODY for rule in self.rules)

    def rule_for(self, principal: Principal) -> Rule | None:
        """The first rule that a caller meets; `None` hides the tool from the caller."""
        return next((rule for rule in self.rules if rule.who.is_met_by(principal)), None)

    def mismatch_reason(self, tool: dict[str, Any]) -> str | None:
        """Why the listed tool is not the one that the rules were written for; `None` if it is."""
        if self.digest is not None and self.digest != definition_digest(tool):
            return "its definition is not the one that the policy was written for"
        schema = tool.get("outputSchema")
        if self.is_for_others or schema is None or text_wrapper(schema) is not None:
            # A text may be any JSON.
            return None
        for rule in self.rules:
            # A `**` path holds wherever its name occurs, and the name need not occur.
            for path, meant in rule.fields.unknown(schema).items():
                if not path.deep:
                    near = "" if meant is None else f"; did you mean {str(meant)!r}?"
                    return f"rule {rule.name!r} names {str(path)!r}, which the output cannot have{near}"
        return None


@dataclass(frozen=True, slots=True)
class Policy:
    version: str
    tools: Mapping[str, ToolPolicy]
    errors: Errors = "constant"
    meta: frozenset[str] = frozenset()  # keys of `_meta` that are passed on
    allowed_features: frozenset[str] = frozenset()
    resources: tuple[str, ...] = ()  # readable URIs; `*` at the end makes a prefix
    key: bytes = field(default=b"", repr=False)  # for pseudonyms
    file: Path | None = None
    text_digest: str = field(default="", compare=False)  # of the file's content

    @classmethod
    def read(cls, path: Path, key: bytes = b"") -> Policy:
        content, text = read_json(path, "policy", InvalidPolicy, trusted)
        return replace(_Reader(str(path), text).policy(content, key), file=path, text_digest=digest(text))

    def of(self, tool: str) -> ToolPolicy | None:
        """The rules of a tool; `None` hides it from everybody."""
        return self.tools.get(tool, self.tools.get(OTHERS))

    def rule_for(self, tool: str, principal: Principal) -> Rule | None:
        """The rule for calls of a tool by a caller; `None` hides the tool from the caller."""
        tool_policy = self.of(tool)
        return None if tool_policy is None else tool_policy.rule_for(principal)

    def validation_errors(self, tools: Sequence[dict[str, Any]]) -> list[str]:
        """Problems: tools that rules name but the server lacks, and tools that no longer fit their rules."""
        listed = {tool["name"]: tool for tool in tools}
        found = [
            f"the policy names a tool {name!r}, which it does not have{did_you_mean(name, listed)}"
            for name in self.tools
            if name not in listed and name != OTHERS
        ]
        for name, tool in listed.items():
            tool_policy = self.of(name)
            if tool_policy is not None and (problem := tool_policy.mismatch_reason(tool)) is not None:
                found.append(f"tool {name!r} is not served: {problem}")
        return found

    def audience(self, principal: Principal) -> tuple[str | None, ...]:
        """A key for callers who see the same: the name of the rule that applies to them, tool by tool."""
        rules = [tool_policy.rule_for(principal) for tool_policy in self.tools.values()]
        return tuple(None if rule is None else rule.name for rule in rules)

    def covers(self, uri: str) -> bool:
        """Whether a resource may be read. A prefix covers only plain URIs: readers may resolve others elsewhere."""
        plain = _is_plain(uri)
        return any(
            uri == each or (plain and each.endswith("*") and uri.startswith(each[:-1])) for each in self.resources
        )


def _is_plain(uri: str) -> bool:
    """Whether a URI has neither `..` nor characters that readers strip, in any layer of encoding."""
    if len(uri) > MAX_URI_BYTES or _SKIPPED.search(uri) or uri != uri.strip():
        return False
    for _ in range(_MOST_ENCODINGS):
        # A reader that decodes may also strip the decoded characters, and take others for dots and slashes.
        read = uri if uri.isascii() else normalize("NFKC", without_invisible(uri))
        if _UP.search(_SKIPPED.sub("", read)):
            return False
        if (decoded := unquote(uri)) == uri:
            return True
        uri = decoded
    return False


@dataclass(frozen=True, slots=True)
class _Reader:
    file: str
    text: str

    def policy(self, content: Any, key: bytes) -> Policy:
        document = self._object((), content, _KEYS, ("version", "tools"))
        tools = document["tools"]
        if not is_object(tools) or not tools:
            self._wrong(("tools",), "'tools' is an object of tools, with one or more")
        policy = Policy(
            self._text(("version",), document["version"]),
            {name: self._tool(("tools", name), tool) for name, tool in tools.items()},
            self._one_of(("errors",), document.get("errors", "constant"), get_args(Errors)),
            frozenset(self._texts(("meta",), document.get("meta", []))),
            frozenset(
                self._one_of(place, each, FEATURES) for place, each in self._each(("let",), document.get("let", []))
            ),
            tuple(self._texts(("resources",), document.get("resources", []))),
            key,
        )
        for name, tool in policy.tools.items():
            if not key and any(rule.fields.hash for rule in tool.rules):
                needed = "'hash' needs a secret key: 'pseudonymKey' under 'louver', at the top of the configuration"
                self._wrong(("tools", name), f"tool {name!r}: {needed}")
        return policy

    def _tool(self, at: Place, value: Any) -> ToolPolicy:
        value = self._object(at, value, _OF_TOOL, ("rules",))
        rules = tuple(self._rule(place, rule) for place, rule in self._each((*at, "rules"), value["rules"]))
        if not rules:
            self._wrong((*at, "rules"), "'rules' is a list of one rule or more")
        names = [rule.name for rule in rules]
        for number, name in enumerate(names):
            if name in names[:number]:
                self._wrong((*at, "rules", number, "name"), f"there is a rule {name!r} already")
        pinned = value.get("digest")
        if pinned is not None and not (isinstance(pinned, str) and _DIGEST.fullmatch(pinned)):
            self._wrong((*at, "digest"), "'digest' is 16 hex digits, as 'louver check --as WHO' prints them")
        return ToolPolicy(rules, pinned, at[-1] == OTHERS)

    def _rule(self, at: Place, value: Any) -> Rule:
        value = self._object(at, value, _OF_RULE, ("name",))
        who = self._object((*at, "who"), value.get("who", {}), _OF_WHO)
        paths = {key: self._paths((*at, key), key, value[key]) for key in _PATHS if key in value}
        if not paths:
            self._wrong(at, "a rule has 'allow', 'deny', 'mask' or 'hash'; to show everything, 'allow': [\"*\"]")
        return Rule(
            self._text((*at, "name"), value["name"]),
            Who(**{key: self._some((*at, "who", key), listed) for key, listed in who.items()}),
            Fields(**paths),
            self._one_of((*at, "text"), value.get("text", "withhold"), get_args(Text)),
        )

    def _paths(self, at: Place, key: str, value: Any) -> tuple[FieldPath, ...]:
        found: list[FieldPath] = []
        for place, text in self._each(at, value):
            try:
                path = FieldPath.parse(self._text(place, text), deep=key != "allow")
            except InvalidProjection as error:
                self._wrong(place, error.message)
            if not path.steps and key in ("mask", "hash"):
                self._wrong(place, f"{key!r} names fields: something else cannot stand instead of the whole output")
            found.append(path)
        if not found:
            self._wrong(at, f"{key!r} names one field or more")
        return fold(tuple(found))

    def _object(self, at: Place, value: Any, keys: tuple[str, ...], required: tuple[str, ...] = ()) -> dict[str, Any]:
        if not is_object(value):
            self._wrong(at, f"expected an object with {', '.join(map(repr, required or keys))}")
        for key in value:
            if key not in keys:
                expected = f"expected one of {', '.join(map(repr, keys))}{did_you_mean(key, keys)}"
                self._wrong((*at, key), f"unknown key {key!r}: {expected}")
        for key in required:
            if key not in value:
                self._wrong(at, f"{key!r} is missing")
        return value

    def _each(self, at: Place, value: Any) -> Iterator[tuple[Place, Any]]:
        if not is_array(value):
            self._wrong(at, f"{at[-1]!r} is a list")
        for number, each in enumerate(value):
            yield (*at, number), each

    def _texts(self, at: Place, value: Any) -> list[str]:
        return [self._text(place, each) for place, each in self._each(at, value)]

    def _some(self, at: Place, value: Any) -> frozenset[str]:
        # An empty list may be meant for nobody, but everybody would meet it.
        return frozenset(self._texts(at, value)) or self._wrong(at, f"{at[-1]!r} names one or more")

    def _text(self, at: Place, value: Any) -> str:
        if not isinstance(value, str) or not value:
            self._wrong(at, "expected a text that is not empty")
        return value

    def _one_of(self, at: Place, value: Any, words: tuple[Any, ...]) -> Any:
        if value not in words:
            self._wrong(at, f"expected one of {', '.join(map(repr, words))}")
        return value

    def _wrong(self, at: Place, message: str) -> NoReturn:
        line = next((line for end in range(len(at), 0, -1) if (line := line_of(self.text, at[:end])) is not None), 1)
        raise InvalidPolicy(message, file=self.file, line=line)
