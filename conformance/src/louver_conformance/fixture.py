"""Arguments for the tools of a target, where its schemas do not give any.

A fixture is one JSON object::

    {"get_user_profile": [{"user_id": 7}, {"user_id": 8}],
     "get_issue": {"number": 1},
     "$witness": {"tool": "runs", "arguments": {}}}

A tool has one set of arguments, or a list of them. The witness is a tool whose answer tells what others have done:
it is asked before and after calls that must not have run. A tool that is not named here is called only if it says of
itself that it only reads, with what its input schema gives: `const`, `default`, `examples`, `enum`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import NotJson, is_array, is_object, members, parse, strings
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from pathlib import Path

_WITNESS: Final = "$witness"
_FORM: Final = "a fixture is one JSON object: tool -> arguments, or a list of them"
_SETS: Final = 2
"""Sets of arguments that are made of a schema: a second answer shows what the first cannot."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The call that tells what other calls have done."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fixture:
    """What a file says.

    Args:
        arguments: Tool -> sets of arguments.
        witness: The witness, if there is one.
    """

    arguments: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    witness: Witness | None = None

    @classmethod
    def read(cls, path: Path) -> Fixture:
        """What a file says.

        Raises:
            InvalidInput: It cannot be read, or is no fixture.
        """
        try:
            written = parse(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path} cannot be read: {type(error).__name__}") from None
        except NotJson as error:
            raise InvalidInput(f"{path}:{error.line}: not JSON: {error.reason}") from None
        if not is_object(written):
            raise InvalidInput(f"{path}: {_FORM}")
        sets = {name: given if is_array(given) else [given] for name, given in written.items() if name != _WITNESS}
        if wrong := [name for name, given in sets.items() if not given or not all(map(is_object, given))]:
            raise InvalidInput(f"{path}: {wrong[0]!r}: {_FORM}")
        return cls(sets, _witness(path, written[_WITNESS]) if _WITNESS in written else None)

    def arguments_of(self, name: str, schema: dict[str, Any], *, only_reads: bool) -> list[dict[str, Any]]:
        """The sets of arguments with which a tool is called; none if it is not.

        Args:
            name: The tool's.
            schema: Its input schema.
            only_reads: Whether it says that it only reads.
        """
        if name in self.arguments:
            return self.arguments[name]
        return _made(schema) if only_reads else []


def _witness(path: Path, written: Any) -> Witness:
    said = members(written)
    tool, arguments = said.get("tool"), said.get("arguments", {})
    if not isinstance(tool, str) or not is_object(arguments):
        raise InvalidInput(f"{path}: '{_WITNESS}' is an object with the name of a 'tool', and its 'arguments'")
    return Witness(tool, arguments)


def _made(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Arguments of what a schema gives; none where it demands what it does not give."""
    properties = members(schema.get("properties"))
    given = {name: _given(members(properties.get(name))) for name in strings(schema.get("required"))}
    if not all(given.values()):
        return []
    sets = [{name: values[at % len(values)] for name, values in given.items()} for at in range(_SETS)]
    return sets[:1] if sets[0] == sets[1] else sets


def _given(schema: dict[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    if is_array(schema.get("examples")) and schema["examples"]:
        return schema["examples"]
    if "default" in schema:
        return [schema["default"]]
    return schema["enum"] if is_array(schema.get("enum")) else []
