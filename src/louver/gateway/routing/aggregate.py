"""Routing over several upstreams as one server: lists are merged, tools and prompts get a prefix, URIs stay unchanged.

    tools/list                                        github__create_issue, memory__read_graph
    tools/call     {"name": "memory__read_graph"}     -> memory: {"name": "read_graph"}
    resources/read {"uri": "file:///a"}               -> the upstream that listed it, or the first that has it

Unavailable and slow upstreams are left out; `list_changed` follows (`availability.py`, `slow_lists.py`).
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

import anyio
from mcp import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from louver import __version__
from louver.concurrency.background import Tasks
from louver.concurrency.offload import by_turns
from louver.core.json import digest, is_object, members
from louver.errors import UnknownResult, UpstreamError
from louver.gateway.clients.revisions import enveloped, opening_for_modern
from louver.gateway.routing.dispatch import Calls, is_unavailable, opening_of, watching
from louver.gateway.routing.resource_owners import Addresses
from louver.gateway.routing.slow_lists import Late, Listed
from louver.gateway.routing.task_owners import Jobs, made_by
from louver.gateway.upstream.list_cache import change_of
from louver.limits import LEFT_OUT_S
from louver.protocol.names import SERVER
from louver.protocol.results import kept_at
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.upstream.availability import Onlookers
    from louver.gateway.upstream.upstream import Upstream
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)

# Between a server's name and the name of its tool.
SEPARATOR: Final = "__"

_TEMPLATES: Final = "resources/templates/list"
_TASKS: Final = "tasks/list"
# List method -> its member, and the key that identifies an entry.
_LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    _TEMPLATES: ("resourceTemplates", "uriTemplate"),
    _TASKS: ("tasks", "taskId"),
}

_NAMED: Final = ("tools/call", "prompts/get")
_ADDRESSED: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_OF_TASK: Final = ("tasks/get", "tasks/result", "tasks/cancel")
_CAPABILITIES: Final[dict[str, dict[str, Any]]] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


def named(name: str) -> tuple[str, str]:
    """The server of a prefixed tool or prompt, and its name there."""
    server, _, own = name.partition(SEPARATOR)
    return server, own


class Many:
    def __init__(
        self, upstreams: Mapping[str, Upstream], calls: Calls, places: Mapping[str, str], onlookers: Onlookers
    ) -> None:
        self._upstreams = upstreams
        self._calls = calls
        self._places = places  # upstream name -> `config.model.Upstream.place`
        self._onlookers = onlookers
        self._addresses = Addresses()
        self._jobs = Jobs()
        self._late = Late()
        self._telling = Tasks(logger)

    async def opening(self, client: Client) -> dict[str, Any]:
        openings = await self._openings(client)
        able = {name for opening in openings.values() for name in members(opening.get("capabilities"))}
        instructions = [
            f"# {name}\n\n{text}" for name, opening in openings.items() if (text := opening.get("instructions"))
        ]
        absent = [upstream for name, upstream in self._upstreams.items() if name not in openings]
        for upstream in absent:
            upstream.miss(client)
        # An upstream that is unavailable now may have any of them later.
        capabilities = {name: said for name, said in _CAPABILITIES.items() if absent or name in able or name == "tools"}
        said: dict[str, Any] = {"capabilities": capabilities, "serverInfo": {"name": "louver", "version": __version__}}
        if instructions:
            said["instructions"] = "\n\n".join(instructions)
        return opening_for_modern(said) if client.is_modern else said

    async def answer(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method in _LISTS:
            return await self._list(turn, method, params)
        if method in _NAMED:
            upstream, name = self._by_name(params["name"], method)
            result = await self._calls.send(upstream, turn, method, {**params, "name": name})
            self._note_kept(upstream, result)
            if (number := made_by(result)) is not None:
                self._jobs.note(_who(turn), number, upstream)
            return result
        if method in _ADDRESSED:
            return await self._addressed(turn, method, params)
        if method in _OF_TASK:
            return await self._of_task(turn, method, params)
        if method == "completion/complete":
            return await self._complete(turn, params)
        if method == "logging/setLevel":
            await asyncio.gather(*(self._set_level(up, turn, params) for up in self._upstreams.values()))
            return {}
        raise MCPError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def place_of(self, tool: str) -> str:
        return self._places[self._by_name(tool, "tools/call")[0].name]

    async def answer_at(self, place: str, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        upstream = next((each for each in self._upstreams.values() if self._places[each.name] == place), None)
        if upstream is None:
            raise UnknownResult
        return await self._calls.send(upstream, turn, method, params)

    async def notify(self, client: Client, method: str, params: Params) -> None:
        await asyncio.gather(*(upstream.notify(client, method, params) for upstream in self._upstreams.values()))

    @asynccontextmanager
    async def watching(self, turn: Caller, uris: Sequence[str]) -> AsyncGenerator[None]:
        async with watching(turn, await self._whose(turn, uris)):
            self._onlookers.listening.add(turn.client)
            try:
                for upstream in self._upstreams.values():
                    if not upstream.is_there(turn.client):
                        upstream.miss(turn.client)
                yield
            finally:
                self._onlookers.listening.discard(turn.client)

    async def _openings(self, client: Client) -> dict[str, dict[str, Any]]:
        await asyncio.gather(*(_comes(upstream, client) for upstream in self._upstreams.values()))
        openings: dict[str, dict[str, Any]] = {}
        for name, upstream in self._upstreams.items():
            # Some may have opened while others were waited for.
            if upstream.is_there(client):
                with suppress(UpstreamError):
                    openings[name] = await opening_of(upstream, client)
        return openings

    async def _list(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise MCPError(code=INVALID_PARAMS, message="there is but one page, and no cursor to another")
        member, key = _LISTS[method]
        upstreams = self._asked(params)
        lists: dict[str, Listed] = {}
        # A single upstream may take its time.
        how = self._all if len(upstreams) == 1 else self._all_soon

        async def ask(upstream: Upstream) -> None:
            lists[upstream.name] = await how(upstream, turn, method, params)

        # Not `gather`: if the client cancels, that would not wait for the threads that apply policies to lists.
        async with anyio.create_task_group() as asking:
            for upstream in upstreams:
                asking.start_soon(ask, upstream)
        entries: list[dict[str, Any]] = []
        # An upstream that does not answer now keeps its known URIs.
        answered = [upstream for upstream in upstreams if lists[upstream.name].is_whole]
        whose = self._addresses.list_anew(method, answered) if key in ("uri", "uriTemplate") else {}
        if method == _TEMPLATES:
            for upstream in answered:
                self._addresses.list_templates(upstream, [entry[key] for entry in lists[upstream.name].entries])
        for upstream in upstreams:
            listed = lists[upstream.name].entries
            if key == "name":
                before = f"{upstream.name}{SEPARATOR}"
                entries += [{**entry, "name": before + entry["name"]} async for entry in by_turns(listed)]
            else:
                entries += [entry for entry in listed if whose.setdefault(entry[key], upstream) is upstream]
        if method == _TASKS:
            who = _who(turn)
            for number, upstream in whose.items():
                self._jobs.note(who, number, upstream)
        modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if turn.client.is_modern else {}
        return {**modern, member: entries}

    async def _all_soon(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> Listed:
        """The list of one upstream, if it answers soon; a later answer is announced to the client."""
        if not await _comes(upstream, turn.client):
            upstream.miss(turn.client)
            return Listed([], is_whole=False)
        said = {key: value for key, value in params.items() if key != "_meta"}
        key = upstream.name, method, digest(said), _who(turn)
        ask = partial(self._all, upstream, turn, method, params)
        return await self._late.listed(key, ask, partial(self._changed, turn.client, method))

    def _changed(self, client: Client, method: str) -> None:
        if (change := change_of(method)) is None:
            return
        if client.is_modern:
            self._telling.start(self._onlookers.told(change, None))
        else:
            client.hear(change, None)

    async def _all(self, upstream: Upstream, turn: Caller, method: str, params: dict[str, Any]) -> Listed:
        """The list of one upstream, all pages merged, as far as it answers."""
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
                if is_unavailable(error):
                    upstream.miss(turn.client)
                return Listed(entries, is_whole=False)
        return Listed(entries, is_whole=True)

    def _asked(self, params: dict[str, Any]) -> list[Upstream]:
        """The upstreams to list: all, or the one that `_meta` names."""
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
        """Route by URI: to the upstream that listed it or a template of it, else to the first that has it."""
        uri = params["uri"]
        if not (known := self._addresses.candidates(uri)):
            there = [each for each in self._upstreams.values() if each.is_there(turn.client)]
            if not all(map(self._addresses.knows_templates, there)):
                await self._list(turn, _TEMPLATES, enveloped({}, turn.client.hello.envelope))
                known = self._addresses.candidates(uri)
        if method == "resources/unsubscribe":
            # It may be watched since before a reload, and not listed again.
            known = [each for each in self._upstreams.values() if each.is_watched(turn.client, uri)] or known
        refused: MCPError | None = None
        for upstream in known:
            try:
                return await self._calls.send(upstream, turn, method, params)
            except MCPError as error:
                refused = refused or error
        if refused is not None and not self._addresses.refused(uri):
            raise refused
        for upstream in self._upstreams.values():
            if not await _comes(upstream, turn.client):
                continue
            with suppress(MCPError):
                result = await self._calls.send(upstream, turn, method, params)
                if method == "resources/read":
                    self._addresses.read(uri, upstream)
                return result
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown resource: {uri}")

    async def _of_task(self, turn: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Route by task: to the upstream that made it, else to the first that has it."""
        number, who = params.get("taskId"), _who(turn)
        if not isinstance(number, str):
            raise MCPError(code=INVALID_PARAMS, message="'taskId' is no text")
        if (known := self._jobs.whose(who, number)) is not None:
            return await self._calls.send(known, turn, method, params)
        for upstream in self._upstreams.values():
            if not await _comes(upstream, turn.client):
                continue
            with suppress(MCPError):
                result = await self._calls.send(upstream, turn, method, params)
                self._jobs.note(who, number, upstream)
                return result
        raise MCPError(code=INVALID_PARAMS, message="Unknown task")

    def _note_kept(self, upstream: Upstream, result: dict[str, Any]) -> None:
        """Remember which upstream keeps a result."""
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
        """The owners of resources and templates; if any is unknown, they are listed."""
        known = await self._known(uris)
        for method in ("resources/list", _TEMPLATES):
            if known.keys() < set(uris):
                await self._list(turn, method, enveloped({}, turn.client.hello.envelope))
                known = await self._known(uris)
        return known

    async def _known(self, uris: Sequence[str]) -> dict[str, Upstream]:
        # Yields to other tasks: each URI may be matched against many templates.
        return {uri: upstream async for uri in by_turns(uris) if (upstream := self._addresses.whose(uri)) is not None}

    async def _set_level(self, upstream: Upstream, turn: Caller, params: dict[str, Any]) -> None:
        if not await _comes(upstream, turn.client):
            upstream.keep_level(turn.client, params["level"])
            return
        try:
            await self._calls.send(upstream, turn, "logging/setLevel", params)
        except MCPError:
            # The upstream has no log.
            logger.debug("upstream %r has no log level", upstream.name)


async def _comes(upstream: Upstream, client: Client) -> bool:
    """Whether an upstream is available to a client, or is soon."""
    try:
        await upstream.session(client, LEFT_OUT_S)
    except UpstreamError:
        return False
    return True


def _who(turn: Caller) -> Hashable:
    """Identifies clients that see the same lists: by connection or client identity, and by principal."""
    client = turn.client
    return (client.hello.digest if client.is_modern else ref(client)), turn.identity.principal
