"""Whether a value satisfies a schema.

Every kept value is validated against its projected schema before it is sent, so
a wrong schema or a wrong tool shows on the server and not in a client. Nothing
is ever fetched for a schema, and a schema that cannot be applied admits nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from louver.core.json import Json, Schema


class Validator(Protocol):
    """A schema made ready to be applied."""

    def is_valid(self, value: Json) -> bool:
        """Whether `value` satisfies the schema."""
        ...


def validator(schema: Schema) -> Validator:
    """The validator of a 2020-12 schema that refers to nothing outside itself."""
    return _Python(schema)


class _Python:
    """The backend that is always there: `jsonschema`."""

    def __init__(self, schema: Schema) -> None:
        # Imported here: the command line and most plans never validate.
        from jsonschema import Draft202012Validator
        from referencing import Registry

        self._validator: Any = Draft202012Validator(schema, registry=Registry())

    def is_valid(self, value: Json) -> bool:
        try:
            return self._validator.is_valid(value)
        except Exception:  # noqa: BLE001 - whatever a strange schema makes the backend raise, nothing was validated
            return False
