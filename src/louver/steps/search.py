"""Tool search: `tools/list` with a query. Source: SEP-1821; DISCLOSURE.md, "Search".

    tools/list  {"query": "create an issue"}
    -> {"tools": [the matching tools, best first], "nextCursor": "search:20:9f2c..."}

Each query lists all pages of the server again, so matches are current, and callers find only what they can list. A
cursor is bound to query, caller and list; it is no secret and grants nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import anyio

from louver.catalogue.search.ranking import Rankings, alone
from louver.concurrency.offload import in_thread
from louver.core.json import digest
from louver.errors import InvalidCursor, InvalidQuery, RateLimited
from louver.limits import MATCHES_A_PAGE, MAX_QUERY_CHARACTERS, QUERIES_PER_MINUTE
from louver.steps.rate_limit import RateLimiter, rate_limit_key
from louver.steps.refusals import protocol_error
from louver.steps.tools.registry import tool_list_pages
from louver.wire.capability import searchable
from louver.wire.names import FILTERING_LITERAL, NEEDS, QUERY
from louver.wire.requests import queried

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from pathlib import Path

    from louver.catalogue.files.descriptions import DescriptionFiles
    from louver.catalogue.search.ranking import Match, Named, Ranking
    from louver.steps.request import Next, Request
    from louver.steps.shared_state import SharedState

# Added to the server's instructions.
INSTRUCTIONS: Final = (
    f"Tool search: send `tools/list` with a `query` of plain words, at most {MAX_QUERY_CHARACTERS:,} characters. "
    "Write one short line for each thing to do ('create an issue', 'read configuration files'); "
    "a subject ('database', 'filesystem') or a tool ('create_issue') will do, too. "
    f"The best matches come first, {MATCHES_A_PAGE} a page, line by line in turn; a tool matches by a single word. "
    "There are no operators and no wildcards."
)

_CURSOR: Final = "search:"


class Search:
    """Answers `tools/list` with a query; `split_name` splits a tool's name into server and name there."""

    def __init__(
        self,
        split_name: Named = alone,
        per_minute: int = QUERIES_PER_MINUTE,
        state: SharedState | None = None,
        files: DescriptionFiles | None = None,
        meaning: Path | None = None,
    ) -> None:
        self._files = files
        self._rankings = Rankings(split_name, meaning)
        self._limiter = RateLimiter("queries", per_minute, state=state)
        self._ranking_lock = anyio.Lock()

    def add_to_handshake(self, handshake: dict[str, Any], *, is_for_model: bool = False) -> dict[str, Any]:
        """The handshake result with search added; nothing else changes. No model can send a query to a list."""
        capabilities: dict[str, Any] = handshake.get("capabilities") or {}
        if capabilities.get("tools") is None:
            return handshake
        # A server with a search of its own, possibly an upstream of a gateway, has described it already.
        is_described = is_for_model or capabilities["tools"].get(FILTERING_LITERAL) is True
        search_instructions = None if is_described else INSTRUCTIONS
        instructions = "\n\n".join(filter(None, (handshake.get("instructions"), search_instructions)))
        added = {"instructions": instructions} if instructions else {}
        return {**handshake, "capabilities": searchable(capabilities), **added}

    async def list(self, request: Request, call_next: Next) -> dict[str, Any]:
        params = request.params
        try:
            query = queried(params)
            if query is None:
                _refuse_search_cursor(params.get("cursor"))
                return await call_next(_without_query(request))
            # Counted with a cursor too: a forged one costs a full list and ranking before it is refused.
            await self._limiter.admit(rate_limit_key(request))
            return await self._matches(query, params.get("cursor"), request, call_next)
        except (InvalidQuery, InvalidCursor, RateLimited) as error:
            raise protocol_error(error) from None

    async def _matches(self, query: str, cursor: object, request: Request, call_next: Next) -> dict[str, Any]:
        caller = request.identity.caller
        listed = [page async for page in tool_list_pages(request, call_next)]
        tools = [tool for page in listed for tool in page.get("tools") or ()]
        ranking = await self._ranking(caller, tools)
        binding = [query, caller, ranking.version]
        start = _start(cursor, binding)
        page_size = min(request.matches_a_page, len(tools))
        needs = ranking.needs_of(query)
        matches = ranking.search_needs(needs, start, page_size + 1)
        rest = {key: value for key, value in listed[0].items() if key not in ("tools", "nextCursor")}
        # Some clients cache a list by its method alone: matches must not pass for the full list.
        caching = {"ttlMs": 0, "cacheScope": "private"} if request.is_modern else {}
        next_cursor = {"nextCursor": _cursor(start + page_size, binding)} if len(matches) > page_size else {}
        shown = matches[:page_size]
        served = _with_needs(rest, needs, shown) if len(needs) > 1 else rest
        return {**served, **caching, "tools": [match.tool for match in shown], **next_cursor}

    async def _ranking(self, caller: Hashable, tools: list[dict[str, Any]]) -> Ranking:
        """The ranking of a list; concurrent searches of the same new list share one."""
        terms = self._search_terms()
        if (ranking := self._rankings.find(caller, tools, terms)) is not None:
            return ranking
        async with self._ranking_lock:
            ranking = self._rankings.find(caller, tools, terms)
            if ranking is None:
                ranking = await in_thread(self._rankings.maker(caller, tools, terms))
                self._rankings.keep(caller, ranking)
            return ranking

    def _search_terms(self) -> dict[str, list[str]]:
        if self._files is None:
            return {}
        self._files.refresh()
        return self._files.search_terms()


def _with_needs(result: dict[str, Any], needs: Sequence[str], matches: Sequence[Match]) -> dict[str, Any]:
    """The result with the needs of the query, and the tools that serve each of them."""
    tools = [[match.tool["name"] for match in matches if match.need == place] for place in range(len(needs))]
    served = [{"need": need, "tools": of_need} for need, of_need in zip(needs, tools, strict=True)]
    return {**result, "_meta": {**(result.get("_meta") or {}), NEEDS: served}}


def _without_query(request: Request) -> Request:
    params = request.params
    if QUERY not in params:
        return request
    return replace(request, params={key: value for key, value in params.items() if key != QUERY})


def _cursor(start: int, binding: list[Any]) -> str:
    return f"{_CURSOR}{start}:{digest([start, *binding])}"


def _start(cursor: object, binding: list[Any]) -> int:
    """The first match of the page; InvalidCursor if the cursor is not of this search."""
    if cursor is None:
        return 0
    start = cursor.removeprefix(_CURSOR).partition(":")[0] if isinstance(cursor, str) else ""
    if not (start.isascii() and start.isdigit() and len(start) < 10 and cursor == _cursor(int(start), binding)):
        raise InvalidCursor(
            "the cursor is not of this query, this caller and the tools that there are now: ask again without it"
        )
    return int(start)


def _refuse_search_cursor(cursor: object) -> None:
    """Refuse the cursor of a search where the full list is requested."""
    if isinstance(cursor, str) and cursor.startswith(_CURSOR):
        raise InvalidCursor("the cursor is of a search, and there is no query: send the query with it")
