"""Several upstreams as one server.

Each tool and prompt has its server's name before its own; resources keep their addresses. What every upstream
lists is put together, all pages in one; an upstream that is not there is left out until it is::

    tools/list                                    github__create_issue, memory__read_graph
    tools/call    {"name": "memory__read_graph"}  -> memory: {"name": "read_graph"}
    resources/read {"uri": "file:///a"}           -> whoever listed it, else whoever has it
                   {"uri": "louver://results/Z"}  -> whoever has kept an answer there, likewise
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from louver import __version__
from louver.core.json import is_object, members
from louver.errors import UnknownResult, UpstreamError
from louver.gateway.addresses import Addresses
from louver.gateway.calls import Calls, opening_of, watching
from louver.gateway.eras import enveloped, opening_for_modern
from louver.protocol.names import SERVER
from louver.protocol.results import kept_at
from louver.server.turns import by_turns
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from louver.gateway.clients import Caller, Client
    from louver.gateway.link import Params
    from louver.gateway.upstream import Upstream

logger = logging.getLogger(__name__)

SEPARATOR: Final = "__"
"""Stands between a server's name and the name of its tool."""

_LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    "resources/templates/list": ("resourceTemplates", "uriTemplate"),
}
"""The lists, each with its member and what names an entry of it."""

_NAMED: Final = ("tools/call", "prompts/get")
_ADDRESSED: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_CAPABILITIES: Final = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
}


def named(name: str) -> tuple[str, str]:
    """Whose a tool or prompt of several servers is, and its name there."""
    server, _, own = name.partition(SEPARATOR)
    return server, own


class Many:
    """Several upstreams.

    Args:
        upstreams: By name.
        calls: Sends the requests.
        places: Names each where it is told from whatever else had its name: by name.
    """

    def __init__(self, upstreams: Mapping[str, Upstream], calls: Calls, places: Mapping[str, str]) -> None:
        self._upstreams = upstreams
        self._calls = calls
        self._places = places
        self._addresses = Addresses()

    async def opening(self, client: Client) -> dict[str, Any]:
        """What the upstreams that are there can do together, and what each has to say."""
        openings = await self._openings(client)
        able = {name for opening in openings.values() for name in members(opening.get("capabilities"))}
        instructions = [
            f"# {name}\n\n{text}" for name, opening in openings.items() if (text := opening.get("instructions"))
        ]
        # Tools always: an upstream that is not there yet may have some.
        capabilities = {name: said for name, said in _CAPABILITIES.items() if name in able or name == "tools"}
        said: dict[str, Any] = {"capabilities": capabilities, "serverInfo": {"name": "louver", "version": __version__}}
        if instructions:
            said["instructions"] = "\n\n".join(instructions)
        return opening_for_modern(said) if client.is_modern else said

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What the upstream answers that it concerns, or all of them together.

        Raises:
            MCPError: It is an error, or there is no such tool, prompt or resource.
        """
        if method in _LISTS:
            return await self._list(turn, method, params)
        if method in _NAMED:
            upstream, name = self._by_name(params["name"], method)
            result = await self._calls.send(upstream, turn, method, {**params, "name": name})
            self._note_kept(upstream, result)
            return result
        if method in _ADDRESSED:
            return await self._addressed(turn, method, params)
        if method == "completion/complete":
            return await self._complete(turn, params)
        if method == "logging/setLevel":
            await asyncio.gather(*(self._set_level(up, turn, params) for up in self._upstreams.values()))
            return {}
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def place_of(self, tool: str) -> str:
        """Names the upstream whose tool it is."""
        return self._places[self._by_name(tool, "tools/call")[0].name]

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What that upstream answers."""
        upstream = next((each for each in self._upstreams.values() if self._places[each.name] == place), None)
        if upstream is None:
            raise UnknownResult
        return await self._calls.send(upstream, turn, method, params)

    async def notify(self, client: Client, method: str, params: Params) -> None:
        """Send on what a client says, to all that it concerns."""
        await asyncio.gather(*(upstream.notify(client, method, params) for upstream in self._upstreams.values()))

    @asynccontextmanager
    async def watching(self, turn: Caller, uris: Sequence[str]) -> AsyncGenerator[None]:
        """Have resources watched meanwhile, where they are listed."""
        async with watching(turn, await self._whose(turn, uris)):
            yield

    async def _openings(self, client: Client) -> dict[str, dict[str, Any]]:
        async def opening(upstream: Upstream) -> dict[str, Any] | None:
            try:
                return await opening_of(upstream, client)
            except UpstreamError:
                return None

        found = await asyncio.gather(*map(opening, self._upstreams.values()))
        return {name: said for name, said in zip(self._upstreams, found, strict=True) if said is not None}

    async def _list(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise MCPError(code=INVALID_PARAMS, message="there is but one page, and no cursor to another")
        member, key = _LISTS[method]
        upstreams = self._asked(params)
        lists: dict[str, list[dict[str, Any]]] = {}
        answered: list[Upstream] = []

        async def ask(upstream: Upstream) -> None:
            lists[upstream.name], is_whole = await self._all(upstream, turn, method, params)
            if is_whole:
                answered.append(upstream)

        # Not `gather`: where a client goes, that leaves the threads to themselves in which lists are made visible.
        async with anyio.create_task_group() as asking:
            for upstream in upstreams:
                asking.start_soon(ask, upstream)
        entries: list[dict[str, Any]] = []
        # Whoever does not answer now has what it had.
        whose = {} if key == "name" else self._addresses.list_anew(method, answered)
        for upstream in upstreams:
            listed = lists[upstream.name]
            if key == "name":
                before = f"{upstream.name}{SEPARATOR}"
                entries += [{**entry, "name": before + entry["name"]} async for entry in by_turns(listed)]
            else:
                entries += [entry for entry in listed if whose.setdefault(entry[key], upstream) is upstream]
        modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if turn.client.is_modern else {}
        return {**modern, member: entries}

    async def _all(
        self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], bool]:
        """The entries of all pages of one upstream, as far as it answers, and whether it does so to the end."""
        member, key = _LISTS[method]

        async def ask(place: dict[str, Any]) -> dict[str, Any]:
            return await self._calls.send(upstream, turn, method, {**params, **place})

        entries: list[dict[str, Any]] = []
        try:
            async for page in pages(ask):
                listed: list[Any] = page.get(member) or []
                entries += [entry for entry in listed if is_object(entry) and isinstance(entry.get(key), str)]
        except MCPError as error:
            if error.error.code != METHOD_NOT_FOUND:
                logger.warning("upstream %r does not answer %r", upstream.name, method)
                return entries, False
        return entries, True

    def _asked(self, params: dict[str, Any]) -> list[Upstream]:
        """Whose list is asked for: all, or the one that is named."""
        name = members(params.get("_meta")).get(SERVER)
        only = self._upstreams.get(name) if isinstance(name, str) else None
        return list(self._upstreams.values()) if only is None else [only]

    def _by_name(self, name: str, method: str) -> tuple[Upstream, str]:
        server, separator, rest = name.partition(SEPARATOR)
        upstream = self._upstreams.get(server)
        if not separator or upstream is None:
            kind = "tool" if method == "tools/call" else "prompt"
            raise MCPError(code=INVALID_PARAMS, message=f"Unknown {kind}: {name}")
        return upstream, rest

    async def _addressed(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Of a resource: from whoever listed it, else from the first that has it."""
        uri = params["uri"]
        known = self._addresses.whose(uri)
        if method == "resources/unsubscribe":
            # It may be watched since before a change, and nobody has listed it again.
            known = next((each for each in self._upstreams.values() if each.is_watched(turn.client, uri)), known)
        if known is not None:
            try:
                return await self._calls.send(known, turn, method, params)
            except MCPError:
                if not self._addresses.refused(uri):
                    raise
        for upstream in self._upstreams.values():
            with suppress(MCPError):
                result = await self._calls.send(upstream, turn, method, params)
                if method == "resources/read":
                    self._addresses.read(uri, upstream)
                return result
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown resource: {uri}")

    def _note_kept(self, upstream: Upstream, result: dict[str, Any]) -> None:
        """Remember where an answer is kept."""
        if (uri := kept_at(result)) is not None:
            self._addresses.kept(uri, upstream)

    async def _complete(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        reference: dict[str, Any] = params["ref"]
        if isinstance(reference.get("name"), str):
            upstream, name = self._by_name(reference["name"], "prompts/get")
            said = {**params, "ref": {**reference, "name": name}}
            return await self._calls.send(upstream, turn, "completion/complete", said)
        known = await self._whose(turn, [reference.get("uri", "")])
        if not known:
            raise MCPError(code=INVALID_PARAMS, message="no resource or template has this address")
        (upstream,) = known.values()
        return await self._calls.send(upstream, turn, "completion/complete", params)

    async def _whose(self, turn: Caller, uris: Sequence[str]) -> dict[str, Upstream]:
        """Who has which resource or template; they are listed if of any nobody has asked for that before."""
        for method in ("resources/list", "resources/templates/list"):
            if any(self._addresses.whose(uri) is None for uri in uris):
                await self._list(turn, method, enveloped({}, turn.client.hello.envelope))
        return {uri: upstream for uri in uris if (upstream := self._addresses.whose(uri)) is not None}

    async def _set_level(self, upstream: Upstream, turn: Caller, params: dict[str, Any]) -> None:
        try:
            await self._calls.send(upstream, turn, "logging/setLevel", params)
        except MCPError:
            # It writes no log that a client could hear.
            logger.debug("upstream %r has no log level", upstream.name)
