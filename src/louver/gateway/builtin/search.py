"""Search over the tools of all servers, for built-in tools: by one query, or by the things that are to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from louver.catalogue.search.words import needs_of
from louver.catalogue.signature import described, outlined
from louver.core.json import members
from louver.errors import InvalidArguments, LouverError, RateLimited, UpstreamUnavailable
from louver.limits import MAX_NEEDS
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.names import NEEDS, QUERY
from louver.wire.requests import queried

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


OUTLINED_TOOLS = 2
NAMED_TOOLS = 7
"""Tools that a search outlines to a model for each need, after the best, and further ones that it names."""


class FoundTools(NamedTuple):
    tools: list[dict[str, Any]]
    needs: list[str]  # of the query, as they are ranked
    need_of: dict[str, str]  # name of a tool -> what it serves; empty for a query of one need
    has_more: bool

    def need(self, tool: dict[str, Any]) -> dict[str, str]:
        """The member of a tool that tells what it serves; empty for a query of one need."""
        return {"need": self.need_of[tool["name"]]} if tool["name"] in self.need_of else {}


def query_of(needs: Sequence[Any]) -> str:
    """The query for several needs; InvalidArguments if they are none."""
    if not needs or len(needs) > MAX_NEEDS or not all(isinstance(need, str) and need.strip() for need in needs):
        message = f"'needs': expected 1 to {MAX_NEEDS} short lines, for example ['fetch a page', 'save it as PDF']"
        raise InvalidArguments(message, argument="needs")
    return "\n".join(" ".join(need.split()) for need in needs)


async def search_tools(query: str, ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]) -> FoundTools:
    """The tools that fit, best first; `ask` lists tools with the params."""
    if queried({QUERY: query}) is None:
        message = "'query' is white: expected plain words, for example 'create issue'"
        raise InvalidArguments(message, argument="query")
    try:
        listing = await ask({QUERY: query})
    except JsonRpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return FoundTools([], needs_of(query), {}, has_more=False)
        raise _search_error(error) from None
    served: list[dict[str, Any]] = members(listing.get("_meta")).get(NEEDS) or []
    needs = [each["need"] for each in served] or needs_of(query)[:1]
    need_of = {name: each["need"] for each in served for name in each["tools"]}
    return FoundTools(listing["tools"], needs, need_of, has_more=bool(listing.get("nextCursor")))


def as_text(found: FoundTools, example: Callable[[str], str], *, output: bool = False) -> str:
    """The tools for each need, for a model: the best is described, others are outlined or named.

    Args:
        found: The tools, best first.
        example: The name of a tool -> how it is called.
        output: Whether output fields of the best are described too.
    """
    if not found.tools:
        return "No tool fits. Say it in other words, or name a subject: 'database', 'files'."
    parts: list[str] = []
    for need in found.needs:
        tools = [tool for tool in found.tools if found.need_of.get(tool["name"], need) == need]
        parts += [f"For {need}:"] if len(found.needs) > 1 else []
        parts += [described(tool, output=output) for tool in tools[:1]]
        parts += [outlined(tool) for tool in tools[1 : 1 + OUTLINED_TOOLS]]
        if more := tools[1 + OUTLINED_TOOLS : 1 + OUTLINED_TOOLS + NAMED_TOOLS]:
            parts.append(f"Also: {', '.join(tool['name'] for tool in more)}")
    return "\n\n".join([*parts, f"Call one so: {example(found.tools[0]['name'])}"])


def _search_error(error: JsonRpcError) -> LouverError:
    """Convert a failed search into an error for the model: rate limit, or no available tool list."""
    error_data = members(members(error.data).get("error"))
    message = error_data.get("message", f"error {error.code}")
    if error_data.get("code") == RateLimited.code:
        return RateLimited(
            message, **{key: error_data[key] for key in ("limit", "retryAfterSeconds") if key in error_data}
        )
    return UpstreamUnavailable(f"there is no list of tools to search: {message}")
