"""The searched text of a tool, also where `tools/list` shows less, and the search terms of its description file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.catalogue.search.text_index import SearchFields
from louver.catalogue.search.words import words
from louver.core.json import members
from louver.limits import MAX_MEANING_CHARACTERS, MAX_SEARCHED_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    # Tool name -> its server, and its name there; `alone` is for a single server: its name adds nothing.
    Named = Callable[[str], tuple[str, str]]


def alone(name: str) -> tuple[str, str]:
    return "", name


def fields_of(tool: dict[str, Any], named: Named, search_terms: Iterable[str] = ()) -> SearchFields:
    server, name = named(tool["name"])
    parameters = members(members(tool.get("inputSchema")).get("properties"))
    parameter_texts = (
        text for name, schema in parameters.items() for text in (name, _text(members(schema).get("description")))
    )
    texts = (
        name,
        _title(tool),
        _text(tool.get("description")),
        "\n".join(parameter_texts),
        server,
        "\n".join(search_terms),
    )
    return SearchFields(*(words(text[:MAX_SEARCHED_CHARACTERS]) for text in texts))


def meaning_text(tool: dict[str, Any], named: Named, search_terms: Iterable[str] = ()) -> str:
    """The text of a tool that says what it does."""
    texts = (*named(tool["name"]), _title(tool), *search_terms, _text(tool.get("description")))
    return "\n".join(texts)[:MAX_MEANING_CHARACTERS]


def _title(tool: dict[str, Any]) -> str:
    return _text(tool.get("title")) or _text(members(tool.get("annotations")).get("title"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
