"""`tools/list` with a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.errors import Broken, NotOffered, UpstreamError
from louver.protocol.names import FILTERING_LITERAL, QUERY, SEARCH
from louver_conformance.assertions import refusal_of
from louver_conformance.checks import check

if TYPE_CHECKING:
    from louver_conformance.context import Talk

_NONSENSE = "qzxvkjwq"
_HOSTILE = ('{"name": "a"}', "' OR 1=1; --", 'a" NEAR b*', "name:x AND (y", "$(ls)", "*", "../../etc", "[a-z]{9}")
"""Texts that mean something in some language, and must mean nothing here."""
_LONG = 10_000
"""Repetitions of two words: a query that is much too long; and characters of the instructions that are read."""


@check("search-declared")
async def search_declared(talk: Talk) -> None:
    if members(talk.peer.capabilities.get("tools")).get(FILTERING_LITERAL) is not True:
        raise Broken("'capabilities.tools.filtering' is not true")


@check("search-explained")
async def search_explained(talk: Talk) -> None:
    told = talk.peer.instructions[:_LONG]
    if not re.search(r"\b(search|query|queries|filter|find)\b", told, re.IGNORECASE):
        raise Broken("the instructions do not tell how a query is written")
    if not re.search(r"['\"‘“`][^'\"’”`]{3,}['\"’”`]", told):  # noqa: RUF001 - the quotes of prose
        raise Broken("the instructions have no example of a query")


@check("search-finds")
async def search_finds(talk: Talk) -> None:
    for tool in talk.tools[:3]:
        if tool.name not in await _found(talk, " ".join(re.findall(r"[A-Za-z0-9]+", tool.name))):
            raise Broken(f"the words of its name do not find {tool.name!r}")


@check("search-leaves-out")
async def search_leaves_out(talk: Talk) -> None:
    if len(await _found(talk, _NONSENSE)) >= len(talk.tools):
        raise Broken("a word that stands nowhere finds all tools")


@check("search-without-query")
async def search_without_query(talk: Talk) -> None:
    if set(await _found(talk, "")) != {tool.name for tool in talk.tools}:
        raise Broken("an empty query does not list all tools")


@check("search-takes-text")
async def search_takes_text(talk: Talk) -> None:
    for query in (7, True, ["a"], {"name": "a"}):
        answer = await talk.peer.ask("tools/list", {QUERY: query})
        if answer.result is not None:
            raise Broken(f"a query that is no string ({type(query).__name__}) is answered")


@check("search-is-plain")
async def search_is_plain(talk: Talk) -> None:
    names = {tool.name for tool in talk.tools}
    for query in _HOSTILE:
        try:
            found = await _found(talk, query)
        except UpstreamError:
            raise Broken("a query that would be code elsewhere is not answered") from None
        if not set(found) <= names:
            raise Broken("a search finds what is not listed")


@check("search-has-a-bound")
async def search_has_a_bound(talk: Talk) -> None:
    answer = await talk.peer.ask("tools/list", {QUERY: "find tools " * _LONG})
    if answer.result is not None:
        raise Broken(f"a query of {11 * _LONG} characters is answered")


@check("search-refusal-has-a-code")
async def search_refusal_has_a_code(talk: Talk) -> None:
    most = members(talk.extensions.get(SEARCH)).get("maxCharacters")
    if not isinstance(most, int) or isinstance(most, bool) or not 0 < most < _LONG:
        raise NotOffered(f"'{SEARCH}' with 'maxCharacters' is not declared in 'capabilities.extensions'")
    queries: tuple[Any, ...] = (7, "x" * (most + 1), "a\nb")
    for query in queries:
        if refusal_of(await talk.peer.ask("tools/list", {QUERY: query})).get("code") != "INVALID_QUERY":
            raise Broken("a query that is no text, too long, or has a control character is not INVALID_QUERY")
    if (await talk.peer.ask("tools/list", {QUERY: "x" * most})).result is None:
        raise Broken(f"a query of {most} characters is refused, and so many are declared")


@check("search-stays-private")
async def search_stays_private(talk: Talk) -> None:
    answer = await talk.peer.ask("tools/list", {QUERY: "list"})
    said = members(answer.result)
    if said.get("cacheScope") != "private" or said.get("ttlMs") != 0:
        raise Broken("what a search finds may be kept: 'cacheScope' is not private, or 'ttlMs' is not 0")


async def _found(talk: Talk, query: str) -> list[str]:
    return strings([tool.get("name") for tool in await talk.peer.pages("tools/list", "tools", {QUERY: query})])
