"""Flat rows to nested objects: a column `address.geo.lat` becomes `{"address": {"geo": {"lat": ...}}}`."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def nest(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as an object; an inner object is `None` if all of its columns are NULL (an outer join found nothing)."""
    record: dict[str, Any] = {}
    for column, value in row.items():
        *path, name = column.split(".")
        target = record
        for step in path:
            target = target.setdefault(step, {})
        target[name] = value
    return {name: _absent_or(value) for name, value in record.items()}


def group(rows: Iterable[Mapping[str, Any]], key: str) -> defaultdict[Any, list[dict[str, Any]]]:
    """Rows by their value of `key`, each nested and without it."""
    groups: defaultdict[Any, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        record = nest(row)
        groups[record.pop(key)].append(record)
    return groups


def _absent_or(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    members = {name: _absent_or(member) for name, member in cast("dict[str, Any]", value).items()}
    return None if all(member is None for member in members.values()) else members
