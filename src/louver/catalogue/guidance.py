"""Guidance: notes that an author attaches to results which meet a condition.

    {"tool": "list_orders", "when": {"path": "orders.status", "matches": "^disputed$"},
     "note": "Disputed orders must not be refunded by you.", "workflow": ["Ask for the case number.", ...]}

All conditions of `when` must hold at the path, or for the whole result. Only patterns of linear time are accepted.
Source: 001, "Response-Embedded Guidance"; the form of rules is ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

from louver.core.json import is_array, is_object
from louver.core.nearest import did_you_mean
from louver.core.paths.find import at_path, leaves
from louver.core.paths.path import FieldPath
from louver.core.preview.field_sizes import size_of
from louver.core.schema.patterns import for_python
from louver.core.wrapper import WRAPPER
from louver.errors import InvalidGuidance, InvalidPath, ProjectionLimit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

    from louver.core.json import Json

_KEYS: Final = ("tool", "when", "note", "workflow")
_CONDITIONS: Final = ("path", "matches", "overItems", "overBytes")
_PLAIN: Final = (
    "a plain pattern: characters and classes in a row, one of them repeated at most, and that at the end if the "
    "pattern does not begin with '^'; for example '^failed$', '[Ee]rror' or '^[a-z]+-secret'"
)


@dataclass(frozen=True, slots=True)
class Note:
    note: str
    workflow: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        return {"note": self.note, **({"workflow": list(self.workflow)} if self.workflow else {})}

    def text(self) -> str:
        steps = [f"{number}. {step}" for number, step in enumerate(self.workflow, 1)]
        return "\n".join([f"GUIDANCE: {self.note}", *steps])


@dataclass(frozen=True, slots=True)
class GuidanceRule:
    note: Note
    tool: str | None = None  # `None`: every tool
    path: FieldPath | None = None  # names look through arrays; `None`: the whole result
    matches: re.Pattern[str] | None = None  # searched in strings, and in other scalars as JSON spells them
    over_items: int | None = None  # an array has more elements
    over_bytes: int | None = None  # the JSON is larger

    @classmethod
    def read(cls, written: object) -> GuidanceRule:
        rule = _members("a rule", written, _KEYS)
        when = _members("'when'", rule.get("when"), _CONDITIONS)
        if not when:
            _refuse("'when'", f"one of {_listed(_CONDITIONS)}")
        workflow = rule.get("workflow", [])
        if not is_array(workflow):
            _refuse("'workflow'", "a list of texts")
        steps = tuple(_text("'workflow'", step) for step in workflow)
        return cls(
            Note(_text("'note'", rule.get("note")), steps),
            tool=_text("'tool'", rule["tool"]) if "tool" in rule else None,
            path=_path(when["path"]) if "path" in when else None,
            matches=_pattern(when["matches"]) if "matches" in when else None,
            over_items=_number("'overItems'", when["overItems"]) if "overItems" in when else None,
            over_bytes=_number("'overBytes'", when["overBytes"]) if "overBytes" in when else None,
        )

    def fires(self, value: Json, texts: Sequence[str] | None = None) -> bool:
        """Whether the rule applies. If a result is not JSON, `texts` are its texts and `value` joins them."""
        if texts is not None:
            return self.path is None and self._holds(value, texts)
        return any(self._holds(part, leaves(part)) for part in self._parts(value))

    def _parts(self, value: Json) -> Iterator[Json]:
        if self.path is None:
            yield value
            return
        if is_object(value) and value.keys() == {WRAPPER} and self.path.steps[:1] != (WRAPPER,):
            # SDKs wrap an output that is not an object; paths omit the wrapper.
            value = value[WRAPPER]
        for part in at_path(value, self.path):
            if part is not None:
                yield part

    def _holds(self, part: Json, texts: Iterable[str]) -> bool:
        if self.over_items is not None and not (is_array(part) and len(part) > self.over_items):
            return False
        if self.matches is not None and not any(map(self.matches.search, texts)):
            return False
        return self.over_bytes is None or size_of(part) > self.over_bytes


class Guidance:
    def __init__(self, rules: Mapping[str, Sequence[GuidanceRule]]) -> None:  # by the prefix of their tools' names
        self._rules = [
            (prefix, rule, None if rule.tool is None else prefix + rule.tool)
            for prefix, each in rules.items()
            for rule in each
        ]

    def concerns(self, tool: str) -> bool:
        return next(self._of(tool), None) is not None

    def notes(self, tool: str, value: Json, texts: Sequence[str] | None = None) -> list[Note]:
        return [*dict.fromkeys(rule.note for rule in self._of(tool) if rule.fires(value, texts))]

    def unknown(self, tools: Set[str]) -> list[str]:
        return sorted({tool for _, _, tool in self._rules if tool is not None} - tools)

    def check_names(self, tools: Set[str]) -> None:
        for name in self.unknown(tools):
            raise InvalidGuidance(f"guidance: a rule is for a tool {name!r}, which the server does not have")

    def _of(self, name: str) -> Iterator[GuidanceRule]:
        return (
            rule for prefix, rule, tool in self._rules if (name.startswith(prefix) if tool is None else tool == name)
        )


def _members(what: str, written: object, keys: Sequence[str]) -> dict[str, Any]:
    if not is_object(written):
        _refuse(what, f"an object with {_listed(keys)}")
    for key in written:
        if key not in keys:
            shown = str(key)[:80]
            expected = f"expected one of {_listed(keys)}{did_you_mean(shown, keys)}"
            raise InvalidGuidance(f"guidance: unknown key {shown!r} in {what}: {expected}")
    return written


def _text(what: str, written: object) -> str:
    if not isinstance(written, str) or not written:
        _refuse(what, "a text that is not empty")
    return written


def _number(what: str, written: object) -> int:
    if not isinstance(written, int) or isinstance(written, bool) or written < 0:
        _refuse(what, "a whole number from 0")
    return written


def _path(written: object) -> FieldPath:
    try:
        return FieldPath.parse(_text("'path'", written))
    except (InvalidPath, ProjectionLimit) as error:
        raise InvalidGuidance(f"guidance: {error.message}") from None


def _pattern(written: object) -> re.Pattern[str]:
    plain = for_python(_text("'matches'", written))
    try:
        return re.compile(plain or "(")
    except re.error:
        _refuse("'matches'", _PLAIN)


def _refuse(what: str, expected: str) -> NoReturn:
    raise InvalidGuidance(f"guidance: {what}: expected {expected}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
