"""Fixtures: arguments for the tools of a target.

::

    {"get_user_profile": [{"user_id": 7}, {"user_id": 8}],
     "get_issue": {"number": 1},
     "$witness": {"tool": "runs", "arguments": {}},
     "$not_called": {"delete_user": {"user_id": 7}}}

The witness is a tool whose answer shows which other tools have run. A tool without arguments here is called only if it
is read-only, with the `const`, `default`, `examples` or `enum` of its input schema. What is not called stands there for
who edits the file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import NotJson, is_array, is_object, members, parse
from louver.core.schema.outline import examples_of_required
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

_WITNESS: Final = "$witness"
NOT_CALLED: Final = "$not_called"
_FORM: Final = "a fixture is one JSON object: tool -> arguments, or a list of them"
# Sets of arguments made from a schema: a second answer shows what the first cannot.
_SETS: Final = 2


@dataclass(frozen=True, slots=True)
class Witness:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fixture:
    # Tool -> sets of arguments.
    arguments: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    witness: Witness | None = None

    @classmethod
    def read(cls, path: Path) -> Fixture:
        try:
            written = parse(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path} cannot be read: {type(error).__name__}") from None
        except NotJson as error:
            raise InvalidInput(f"{path}:{error.line}: not JSON: {error.reason}") from None
        if not is_object(written):
            raise InvalidInput(f"{path}: {_FORM}")
        own = (_WITNESS, NOT_CALLED)
        sets = {name: given if is_array(given) else [given] for name, given in written.items() if name not in own}
        if wrong := [name for name, given in sets.items() if not given or not all(map(is_object, given))]:
            raise InvalidInput(f"{path}: {wrong[0]!r}: {_FORM}")
        return cls(sets, _witness(path, written[_WITNESS]) if _WITNESS in written else None)

    def arguments_of(self, name: str, schema: dict[str, Any], *, is_read_only: bool) -> list[dict[str, Any]]:
        """The sets of arguments to call a tool with; empty if it may not be called."""
        if name in self.arguments:
            return self.arguments[name]
        return _from_schema(schema) if is_read_only else []


def _witness(path: Path, written: Any) -> Witness:
    entry = members(written)
    tool, arguments = entry.get("tool"), entry.get("arguments", {})
    if not isinstance(tool, str) or not is_object(arguments):
        raise InvalidInput(f"{path}: '{_WITNESS}' is an object with the name of a 'tool', and its 'arguments'")
    return Witness(tool, arguments)


def filled(schema: dict[str, Any]) -> dict[str, Any]:
    """Arguments that a schema requires: its own examples, or texts that name their types."""
    properties = members(schema.get("properties"))
    return {
        name: examples[0] if examples else f"<{members(properties.get(name)).get('type', 'value')}>"
        for name, examples in examples_of_required(schema).items()
    }


def _from_schema(schema: dict[str, Any]) -> list[dict[str, Any]]:
    examples = examples_of_required(schema)
    if not all(examples.values()):
        return []
    sets = [{name: values[at % len(values)] for name, values in examples.items()} for at in range(_SETS)]
    return sets[:1] if sets[0] == sets[1] else sets
