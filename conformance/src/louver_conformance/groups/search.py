"""Tool search: `tools/list` with a query."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.wire.names import FILTERING_LITERAL, QUERY, SEARCH
from louver_conformance.assertions import refusal_of
from louver_conformance.checks import check
from louver_conformance.errors import CheckFailed, NotOffered, TargetError

if TYPE_CHECKING:
    from louver_conformance.context import Context

_NONSENSE = "qzxvkjwq"
# Texts that are code in some language, and plain text here.
_HOSTILE = ('{"name": "a"}', "' OR 1=1; --", 'a" NEAR b*', "name:x AND (y", "$(ls)", "*", "../../etc", "[a-z]{9}")
# Repetitions of two words, which make a query that is much too long; characters of the instructions that are read.
_LONG = 10_000


@check("search-declared")
async def search_declared(context: Context) -> None:
    if members(context.session.capabilities.get("tools")).get(FILTERING_LITERAL) is not True:
        raise CheckFailed("'capabilities.tools.filtering' is not true")


@check("search-explained")
async def search_explained(context: Context) -> None:
    instructions = context.session.instructions[:_LONG]
    if not re.search(r"\b(search|query|queries|filter|find)\b", instructions, re.IGNORECASE):
        raise CheckFailed("the instructions do not tell how a query is written")
    if not re.search(r"['\"‘“`][^'\"’”`]{3,}['\"’”`]", instructions):  # noqa: RUF001 - the quotes of prose
        raise CheckFailed("the instructions have no example of a query")


@check("search-finds")
async def search_finds(context: Context) -> None:
    for tool in context.tools[:3]:
        if tool.name not in await _found(context, " ".join(re.findall(r"[A-Za-z0-9]+", tool.name))):
            raise CheckFailed(f"the words of its name do not find {tool.name!r}")


@check("search-leaves-out")
async def search_leaves_out(context: Context) -> None:
    if len(await _found(context, _NONSENSE)) >= len(context.tools):
        raise CheckFailed("a word that stands nowhere finds all tools")


@check("search-without-query")
async def search_without_query(context: Context) -> None:
    if set(await _found(context, "")) != {tool.name for tool in context.tools}:
        raise CheckFailed("an empty query does not list all tools")


@check("search-takes-text")
async def search_takes_text(context: Context) -> None:
    for query in (7, True, ["a"], {"name": "a"}):
        answer = await context.session.request("tools/list", {QUERY: query})
        if answer.result is not None:
            raise CheckFailed(f"a query that is no string ({type(query).__name__}) is answered")


@check("search-is-plain")
async def search_is_plain(context: Context) -> None:
    names = {tool.name for tool in context.tools}
    for query in _HOSTILE:
        try:
            found = await _found(context, query)
        except TargetError:
            raise CheckFailed("a query that would be code elsewhere is not answered") from None
        if not set(found) <= names:
            raise CheckFailed("a search finds what is not listed")


@check("search-has-a-bound")
async def search_has_a_bound(context: Context) -> None:
    answer = await context.session.request("tools/list", {QUERY: "find tools " * _LONG})
    if answer.result is not None:
        raise CheckFailed(f"a query of {11 * _LONG} characters is answered")


@check("search-refusal-has-a-code")
async def search_refusal_has_a_code(context: Context) -> None:
    most = members(context.extensions.get(SEARCH)).get("maxCharacters")
    if not isinstance(most, int) or isinstance(most, bool) or not 0 < most < _LONG:
        raise NotOffered(f"'{SEARCH}' with 'maxCharacters' is not declared in 'capabilities.extensions'")
    queries: tuple[Any, ...] = (7, "x" * (most + 1), "a\0b")
    for query in queries:
        if refusal_of(await context.session.request("tools/list", {QUERY: query})).get("code") != "INVALID_QUERY":
            raise CheckFailed("a query that is no text, too long, or has a control character is not INVALID_QUERY")
    if (await context.session.request("tools/list", {QUERY: "x" * most})).result is None:
        raise CheckFailed(f"a query of {most} characters is refused, and so many are declared")


@check("search-stays-private")
async def search_stays_private(context: Context) -> None:
    answer = await context.session.request("tools/list", {QUERY: "list"})
    result = members(answer.result)
    if result.get("cacheScope") != "private" or result.get("ttlMs") != 0:
        raise CheckFailed("what a search finds may be kept: 'cacheScope' is not private, or 'ttlMs' is not 0")


async def _found(context: Context, query: str) -> list[str]:
    return strings([tool.get("name") for tool in await context.session.pages("tools/list", "tools", {QUERY: query})])
