"""What of a tool is searched: name, title, description, names and descriptions of its parameters, its server.

Taken from the whole descriptor, whatever of it a list shows::

    {"name": "create_issue", "description": "Open an issue.", "inputSchema": {"properties": {"repo": {...}}}}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.catalogue.search.fts_index import Fields
from louver.catalogue.search.words import words
from louver.core.json import members
from louver.limits import MAX_SEARCHED_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable

    Named = Callable[[str], tuple[str, str]]
    """Name of a tool -> its server, and its name there."""


def alone(name: str) -> tuple[str, str]:
    """Of the only server there is, whose name would say nothing of its tools."""
    return "", name


def fields_of(tool: dict[str, Any], named: Named) -> Fields:
    """The words of a tool as it is listed."""
    server, name = named(tool["name"])
    parameters = members(members(tool.get("inputSchema")).get("properties"))
    told = (text for name, schema in parameters.items() for text in (name, _text(members(schema).get("description"))))
    texts = (name, _title(tool), _text(tool.get("description")), "\n".join(told), server)
    return Fields(*(words(text[:MAX_SEARCHED_CHARACTERS]) for text in texts))


def _title(tool: dict[str, Any]) -> str:
    return _text(tool.get("title")) or _text(members(tool.get("annotations")).get("title"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
