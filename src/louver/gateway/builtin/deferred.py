"""Deferred tools: those in use are listed in full, and one tool finds and calls all others.

    tools/list                                                      the tools in use, and search_tools
    search_tools {"query": "commits of a repository"}               -> signatures of tools that fit
    search_tools {"tool": "git__git_log", "arguments": {...}}       a call of that tool, answered like any other

A client of a handshake, which hears of changed lists, is listed a tool from its first call on.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, cast

from louver.concurrency.offload import run_in_thread
from louver.core.json import compact, members
from louver.core.nearest import meant, nearest
from louver.errors import InvalidArguments, LouverError, UnknownName
from louver.gateway.builtin.search import as_text, search_tools
from louver.gateway.builtin.step import check_arguments
from louver.gateway.clients.revisions import ENVELOPE_KEYS
from louver.limits import MATCHES_A_PAGE
from louver.steps.calls.response import for_model
from louver.steps.pages import envelope
from louver.steps.recipient import recipient_of
from louver.steps.refusals import error_result
from louver.steps.savings.tool_use import used_lately
from louver.steps.tools.registry import all_tools, tool_list_pages
from louver.wire.mcp import TOOLS_CHANGED
from louver.wire.names import PREFIX, QUERY, SERVER
from louver.wire.requests import check_request
from louver.wire.results import READ_RESULT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence, Set

    from louver.steps.request import Next, Request
    from louver.steps.savings.tool_use import Use
    from louver.steps.tools.registry import ToolRegistry

MAX_USED_TOOLS = 24
"""Tools that are listed because they are in use: a model chooses well among so many."""

MIN_DEFERRED_TOOLS = 8
"""A tool that finds fewer others costs more than it saves."""

SEARCH_TOOL: Final = "search_tools"

_FOUND: Final = f"{PREFIX}deferred"  # of a connection: the tools that it is listed because it has called them
_SHOWN_SERVERS: Final = 12

_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What is to be done: the whole task, then a line for each step."},
        "tool": {"type": "string", "description": "Instead: call this tool that was found."},
        "arguments": {"type": "object", "description": "Its arguments."},
    },
}

logger = logging.getLogger(__name__)


class DeferredTools:
    """The middleware: lists and calls pass, without the tools that are deferred.

    Args:
        server_info: The gateway, for results of its own.
        choose: Names of all tools -> those to list in full; all, if nothing is to be deferred.
        split_name: The name of a tool -> its server and its own name.
        tools: What was listed to each caller.
        is_single: Whether there is one server, whose tool may have the name of ours.
    """

    def __init__(
        self,
        server_info: dict[str, Any],
        choose: Callable[[Sequence[str]], Set[str]],
        split_name: Callable[[str], tuple[str, str]],
        tools: ToolRegistry,
        *,
        is_single: bool,
    ) -> None:
        self._server_info = server_info
        self._choose = choose
        self._split_name = split_name
        self._is_single = is_single
        self._tools = tools
        self._has_logged = False
        self.methods = {"tools/list": self._list, "tools/call": self._call}

    def close(self) -> None:
        """Nothing is subscribed."""

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        return await self.methods[request.method](request, call_next)

    async def _list(self, request: Request, call_next: Next) -> dict[str, Any]:
        params = request.params
        is_partial = params.get("cursor") or params.get(QUERY) or SERVER in members(params.get("_meta"))
        recipient = recipient_of(request)
        is_deferring_host = recipient.known_host is not None and recipient.known_host.defers
        if is_partial or request.is_for_program or recipient.is_program or is_deferring_host:
            return await call_next(request)
        pages = [page async for page in tool_list_pages(request, call_next)]
        tools = [tool for page in pages for tool in cast("list[dict[str, Any]]", page.get("tools") or [])]
        names = [tool["name"] for tool in tools]
        found = _found_before(request)
        found.intersection_update(names)
        listed = {*self._choose(names), *found, READ_RESULT["name"]}
        deferred = [name for name in names if name not in listed]
        if len(deferred) >= MIN_DEFERRED_TOOLS and not self._is_taken(names):
            tools = [self._definition(deferred), *(tool for tool in tools if tool["name"] in listed)]
        rest = {key: value for key, value in pages[0].items() if key not in ("tools", "nextCursor")}
        return {**rest, "tools": tools}

    def _definition(self, deferred: Sequence[str]) -> dict[str, Any]:
        servers = [*dict.fromkeys(self._split_name(name)[0] for name in deferred)]
        more = f" and {len(servers) - _SHOWN_SERVERS} more servers" if len(servers) > _SHOWN_SERVERS else ""
        of = "" if self._is_single else f" of {', '.join(servers[:_SHOWN_SERVERS])}{more}"
        text = f"Finds and calls {len(deferred)} more tools{of}. Search first, then call by the name that was found."
        return {"name": SEARCH_TOOL, "description": text, "inputSchema": _SCHEMA}

    async def _call(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.params.get("name") != SEARCH_TOOL:
            return await call_next(request)
        if self._is_single and self._tools.has(SEARCH_TOOL):
            return await call_next(request)
        check_request(request.method, request.revision, request.params)
        try:
            arguments = check_arguments(SEARCH_TOOL, _SCHEMA, request.params.get("arguments"))
            if "tool" in arguments:
                return await self._call_other(arguments, request, call_next)
            if "query" not in arguments:
                raise InvalidArguments("expected 'query', to find tools, or 'tool', to call one", argument="query")
            text = await self._search(arguments["query"], request, call_next)
        except LouverError as error:
            result = error_result(error, envelope(self._server_info, request))
            return result if recipient_of(request).is_program else await for_model(result)
        return {**envelope(self._server_info, request), "content": [{"type": "text", "text": text}]}

    async def _call_other(self, given: dict[str, Any], request: Request, call_next: Next) -> dict[str, Any]:
        name: str = given["tool"]
        # Every list that passes is remembered: a caller that has none yet gets one.
        names = self._tools.names_listed_to(request.identity) or [
            tool["name"] async for tool in all_tools(request, call_next)
        ]
        if name not in names:
            raise self._unknown(name, names)
        params = {**request.params, "name": name, "arguments": given.get("arguments", {})}
        result = await call_next(replace(request, params=params))
        await self._list_from_now_on(name, request)
        return result

    async def _list_from_now_on(self, name: str, request: Request) -> None:
        found = _found_before(request)
        if not request.lasts or name in found:
            return
        names = [*self._tools.names_listed_to(request.identity)]
        chosen = self._choose(names)
        if name not in chosen and len(names) - len(chosen) >= MIN_DEFERRED_TOOLS:
            found.add(name)
            await request.connection.notify(TOOLS_CHANGED, None)

    def _unknown(self, name: str, names: Collection[str]) -> UnknownName:
        own = [each for each in names if self._split_name(each)[1] == name]
        near = own[:3] or nearest(name, names)
        hint = meant(near, "search for it, by 'query'")
        return UnknownName(f"there is no tool {name[:80]!r}: {hint}", nearest=near)

    async def _search(self, query: str, request: Request, call_next: Next) -> str:
        meta = {key: value for key, value in members(request.params.get("_meta")).items() if key in ENVELOPE_KEYS}
        inner = replace(request, method="tools/list", is_live=True, matches_a_page=MATCHES_A_PAGE)

        async def ask(params: dict[str, Any]) -> dict[str, Any]:
            return await call_next(replace(inner, params={**params, **({"_meta": meta} if meta else {})}))

        found = await search_tools(query, ask)
        return await run_in_thread(found.tools, partial(as_text, found, _example))

    def _is_taken(self, names: Sequence[str]) -> bool:
        """Whether the server itself has a tool of that name."""
        if not self._is_single or SEARCH_TOOL not in names:
            return False
        if not self._has_logged:
            self._has_logged = True
            logger.warning("the server has a tool %r itself: no tool is deferred", SEARCH_TOOL)
        return True


def _example(name: str) -> str:
    return f"{SEARCH_TOOL} {compact({'tool': name, 'arguments': {}})}"


def choose_pinned(pinned: Collection[str], _: Sequence[str]) -> Set[str]:
    return {*pinned}


def choose_used(
    use: Use,
    split_name: Callable[[str], tuple[str, str]],
    servers: Callable[[], Collection[str]],
    names: Sequence[str],
) -> Set[str]:
    """The tools in use; all, if none is of these servers, whether they are there now or not."""
    of_servers = {*servers()}
    used = used_lately({tool: each for tool, each in use.items() if tool[0] in of_servers})[:MAX_USED_TOOLS]
    return {name for name in names if split_name(name) in used} if used else {*names}


def _found_before(request: Request) -> set[str]:
    return request.connection.state.setdefault(_FOUND, set()) if request.lasts else set()
