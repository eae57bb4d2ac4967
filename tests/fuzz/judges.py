"""Validators that know nothing of Louver: `jsonschema`, and the much faster `jsonschema-rs`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema
import jsonschema_rs
from referencing import Registry

if TYPE_CHECKING:
    from .schemas import Draft

Verdict = Callable[[Any], bool]
Judge = Callable[[Any, "Draft"], "Verdict | None"]
"""Makes a schema ready to be applied; `None` if the schema cannot be used."""


def python(schema: Any, draft: Draft) -> Verdict | None:
    """The reference in Python; formats are not asserted."""
    validator = _kind(jsonschema, draft)(schema, registry=Registry())

    def verdict(value: Any) -> bool:
        try:
            return validator.is_valid(value)
        except Exception:  # noqa: BLE001 - a reference that leads nowhere: nothing was validated
            return False

    return verdict


def rust(schema: Any, draft: Draft) -> Verdict | None:
    """Some hundred times as fast; asserts formats for draft 7."""
    try:
        return _kind(jsonschema_rs, draft)(schema).is_valid
    except (ValueError, jsonschema_rs.ReferencingError):
        return None


def _kind(library: Any, draft: Draft) -> Any:
    return getattr(library, f"Draft{draft.replace('-', '')}Validator")


def is_schema(schema: Any) -> bool:
    """Whether `schema` is a schema of draft 2020-12."""
    return _metaschema().is_valid(schema)


@cache
def _metaschema() -> Any:
    return jsonschema_rs.Draft202012Validator(jsonschema.Draft202012Validator.META_SCHEMA)


JUDGES: dict[str, Judge] = {"rust": rust, "python": python}
"""By name, the fastest first."""
