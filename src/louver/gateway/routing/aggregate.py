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

from louver import __version__
from louver.concurrency.background import BackgroundTasks
from louver.concurrency.offload import yielding
from louver.core.json import digest, is_object, members
from louver.errors import LoginRequired, TooManyProcesses, UnknownResult, UpstreamError
from louver.gateway.back.fan_out.task_bindings import TASK_LIST, TASK_METHODS, task_id_of
from louver.gateway.back.lists.list_cache import change_notification
from louver.gateway.clients.revisions import opening_for_modern, with_envelope
from louver.gateway.routing.dispatch import Dispatcher, can_be_kept, is_unavailable, opening_of, watching
from louver.gateway.routing.resource_owners import ResourceOwners
from louver.gateway.routing.slow_lists import SlowLists, UpstreamList
from louver.gateway.routing.task_owners import TaskOwners
from louver.limits import LEFT_OUT_S
from louver.steps.pages import pages
from louver.wire.jsonrpc.errors import INVALID_PARAMS, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.names import SERVER
from louver.wire.results import kept_at

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Hashable, Mapping, Sequence

    from louver.gateway.back.availability import AvailabilityListeners
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params

logger = logging.getLogger(__name__)

# Between a server's name and the name of its tool.
SEPARATOR: Final = "__"

_TEMPLATE_LIST: Final = "resources/templates/list"
# List method -> its member, and the key that identifies an entry.
_LISTS: Final = {
    "tools/list": ("tools", "name"),
    "prompts/list": ("prompts", "name"),
    "resources/list": ("resources", "uri"),
    _TEMPLATE_LIST: ("resourceTemplates", "uriTemplate"),
    TASK_LIST: ("tasks", "taskId"),
}

_NAME_METHODS: Final = ("tools/call", "prompts/get")
_URI_METHODS: Final = ("resources/read", "resources/subscribe", "resources/unsubscribe")
_CAPABILITIES: Final[dict[str, dict[str, Any]]] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "completions": {},
    "logging": {},
    "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
}


def split_name(name: str) -> tuple[str, str]:
    """The server of a prefixed tool or prompt, and its name there."""
    server, _, local_name = name.partition(SEPARATOR)
    return server, local_name


class AggregateRoutes:
    def __init__(
        self,
        upstreams: Mapping[str, Upstream],
        dispatcher: Dispatcher,
        server_ids: Mapping[str, str],
        availability_listeners: AvailabilityListeners,
    ) -> None:
        self._upstreams = upstreams
        self._dispatcher = dispatcher
        self._server_ids = server_ids  # upstream name -> `config.model.Upstream.place`
        self._availability_listeners = availability_listeners
        self._resource_owners = ResourceOwners()
        self._task_owners = TaskOwners()
        self._slow_lists = SlowLists()
        self._notify_tasks = BackgroundTasks(logger)

    async def opening(self, client: GatewayClient) -> dict[str, Any]:
        openings = await self._openings(client)
        available = {name for opening in openings.values() for name in members(opening.get("capabilities"))}
        instructions = [
            f"# {name}\n\n{text}" for name, opening in openings.items() if (text := opening.get("instructions"))
        ]
        absent = [upstream for name, upstream in self._upstreams.items() if name not in openings]
        for upstream in absent:
            upstream.of(client).notify_when_available(client)
        # An upstream that is unavailable now may have any of them later.
        capabilities = {
            name: value for name, value in _CAPABILITIES.items() if absent or name in available or name == "tools"
        }
        declared: dict[str, Any] = {
            "capabilities": capabilities,
            "serverInfo": {"name": "louver", "version": __version__},
        }
        if instructions:
            declared["instructions"] = "\n\n".join(instructions)
        return opening_for_modern(declared) if client.is_modern else declared

    async def answer(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method in _LISTS:
            return await self._list(caller, method, params)
        if method in _NAME_METHODS:
            upstream, name = self._by_name(params["name"], method)
            result = await self._dispatcher.send(upstream, caller, method, {**params, "name": name})
            self._record_kept_result(upstream, result)
            if (task_id := task_id_of(result)) is not None:
                self._task_owners.record(_caller_key(caller), task_id, upstream)
            return result
        if method in _URI_METHODS:
            return await self._route_by_uri(caller, method, params)
        if method in TASK_METHODS:
            return await self._route_by_task(caller, method, params)
        if method == "completion/complete":
            return await self._complete(caller, params)
        if method == "logging/setLevel":
            await asyncio.gather(*(self._set_level(each, caller, params) for each in self._upstreams.values()))
            return {}
        raise JsonRpcError(code=METHOD_NOT_FOUND, message="Method not found", data=method)

    def server_id_of(self, tool: str) -> str:
        return self._server_ids[self._by_name(tool, "tools/call")[0].name]

    async def answer_from(self, server_id: str, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        upstream = next((each for each in self._upstreams.values() if self._server_ids[each.name] == server_id), None)
        if upstream is None:
            raise UnknownResult
        return await self._dispatcher.send(upstream, caller, method, params)

    async def notify(self, client: GatewayClient, method: str, params: Params) -> None:
        await asyncio.gather(*(each.of(client).notify(client, method, params) for each in self._upstreams.values()))

    @asynccontextmanager
    async def watching(self, caller: Caller, uris: Sequence[str]) -> AsyncGenerator[None]:
        async with watching(caller, await self._owners_of(caller, uris)):
            self._availability_listeners.clients.add(caller.client)
            try:
                for upstream in self._upstreams.values():
                    if not _can_open(upstream, caller.client):
                        upstream.of(caller.client).notify_when_available(caller.client)
                yield
            finally:
                self._availability_listeners.clients.discard(caller.client)

    async def _openings(self, client: GatewayClient) -> dict[str, dict[str, Any]]:
        waiting = [each for each in self._upstreams.values() if not _can_open(each, client)]
        problems = await asyncio.gather(*(_problem_of(upstream, client) for upstream in waiting))
        openings: dict[str, dict[str, Any]] = {}
        for name, upstream in self._upstreams.items():
            # Some may have opened while others were waited for.
            if _can_open(upstream, client, is_late=True):
                with suppress(UpstreamError):
                    openings[name] = await opening_of(upstream, client, is_live=False)
        for problem in problems:
            if not openings and isinstance(problem, TooManyProcesses):
                # The client would be served by none: better that it knows why.
                raise problem
        return openings

    async def _list(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise JsonRpcError(code=INVALID_PARAMS, message="there is but one page, and no cursor to another")
        member, key = _LISTS[method]
        upstreams = self._requested_upstreams(params)
        lists: dict[str, UpstreamList] = {}

        async def ask(upstream: Upstream) -> None:
            lists[upstream.name] = await self._fetch_list_soon(upstream, caller, method, params)

        if len(upstreams) == 1:
            # A single upstream may take its time, and its problem is the answer.
            lists[upstreams[0].name] = await self._fetch_whole_list(upstreams[0], caller, method, params)
        else:
            # Not `gather`: if the client cancels, that would not wait for the threads that apply policies to lists.
            async with anyio.create_task_group() as group:
                for upstream in upstreams:
                    group.start_soon(ask, upstream)
        entries: list[dict[str, Any]] = []
        # An upstream that does not answer now keeps its known URIs.
        answered = [upstream for upstream in upstreams if lists[upstream.name].is_complete]
        owners = self._resource_owners.replace_listed(method, answered) if key in ("uri", "uriTemplate") else {}
        if method == _TEMPLATE_LIST:
            for upstream in answered:
                self._resource_owners.set_templates(upstream, [entry[key] for entry in lists[upstream.name].entries])
        for upstream in upstreams:
            listed = lists[upstream.name].entries
            if key == "name":
                prefix = f"{upstream.name}{SEPARATOR}"
                entries += [{**entry, "name": prefix + entry["name"]} async for entry in yielding(listed)]
            else:
                entries += [entry for entry in listed if owners.setdefault(entry[key], upstream) is upstream]
        if method == TASK_LIST:
            caller_key = _caller_key(caller)
            for task_id, upstream in owners.items():
                self._task_owners.record(caller_key, task_id, upstream)
        modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if caller.client.is_modern else {}
        return {**modern, member: entries}

    async def _fetch_list_soon(
        self, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]
    ) -> UpstreamList:
        """The list of one upstream, if it answers soon; a later answer is announced to the client."""
        is_kept = can_be_kept(caller, method, params) and upstream.of(caller.client).kept_for(caller.client) is not None
        if not is_kept and (problem := await _problem_of(upstream, caller.client)):
            if method == "tools/list" and (tools := await self._dispatcher.late_tools(upstream, caller)):
                # If these turn out to be outdated, that is announced.
                return UpstreamList(tools, is_complete=False)
            upstream.of(caller.client).notify_when_available(caller.client)
            if method == "tools/list" and isinstance(problem, LoginRequired):
                return UpstreamList(self._dispatcher.log_in_tools(upstream), is_complete=False)
            return UpstreamList([], is_complete=False)
        other_params = {key: value for key, value in params.items() if key != "_meta"}
        key = upstream.name, method, digest(other_params), _caller_key(caller)
        ask = partial(self._fetch_list, upstream, caller, method, params)
        return await self._slow_lists.fetch(key, ask, partial(self._announce_change, caller.client, method))

    def _announce_change(self, client: GatewayClient, method: str) -> None:
        if (change := change_notification(method)) is None:
            return
        if client.is_modern:
            self._notify_tasks.start(self._availability_listeners.publish(change, None))
        else:
            client.notify(change, None)

    async def _fetch_list(
        self, upstream: Upstream, caller: Caller, method: str, params: dict[str, Any]
    ) -> UpstreamList:
        """The list of one upstream, as far as it answers."""
        entries: list[dict[str, Any]] = []
        try:
            return await self._fetch_whole_list(upstream, caller, method, params, entries)
        except JsonRpcError as error:
            logger.warning("upstream %r does not answer %r", upstream.name, method)
            if is_unavailable(error):
                upstream.of(caller.client).notify_when_available(caller.client)
            return UpstreamList(entries, is_complete=False)

    async def _fetch_whole_list(
        self,
        upstream: Upstream,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        entries: list[dict[str, Any]] | None = None,  # gets those of each page that comes
    ) -> UpstreamList:
        """The list of one upstream, all pages merged."""
        member, key = _LISTS[method]
        entries = [] if entries is None else entries

        async def ask(page_params: dict[str, Any]) -> dict[str, Any]:
            return await self._dispatcher.send(upstream, caller, method, {**params, **page_params})

        try:
            async for page in pages(ask):
                listed: list[Any] = page.get(member) or []
                entries += [entry for entry in listed if is_object(entry) and isinstance(entry.get(key), str)]
        except JsonRpcError as error:
            if error.code != METHOD_NOT_FOUND:
                raise
        return UpstreamList(entries, is_complete=True)

    def _requested_upstreams(self, params: dict[str, Any]) -> list[Upstream]:
        """The upstreams to list: all, or the one that `_meta` names."""
        name = members(params.get("_meta")).get(SERVER)
        only = self._upstreams.get(name) if isinstance(name, str) else None
        return list(self._upstreams.values()) if only is None else [only]

    def _by_name(self, name: str, method: str) -> tuple[Upstream, str]:
        server, separator, rest = name.partition(SEPARATOR)
        upstream = self._upstreams.get(server)
        if not separator or upstream is None:
            kind = "tool" if method == "tools/call" else "prompt"
            raise JsonRpcError(code=INVALID_PARAMS, message=f"Unknown {kind}: {name}")
        return upstream, rest

    async def _route_by_uri(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Route by URI: to the upstream that listed it or a template of it, else to the first that has it."""
        uri = params["uri"]
        if not (known := self._resource_owners.candidates(uri)):
            connected = [
                each
                for each in self._upstreams.values()
                if each.of(caller.client).open_session(caller.client) is not None
            ]
            if not all(map(self._resource_owners.knows_templates, connected)):
                await self._list(caller, _TEMPLATE_LIST, with_envelope({}, caller.client.identity.envelope))
                known = self._resource_owners.candidates(uri)
        if method == "resources/unsubscribe":
            # It may be watched since before a reload, and not listed again.
            known = [
                each for each in self._upstreams.values() if each.of(caller.client).is_watched(caller.client, uri)
            ] or known
        refused: JsonRpcError | None = None
        for upstream in known:
            try:
                return await self._dispatcher.send(upstream, caller, method, params)
            except JsonRpcError as error:
                refused = refused or error
        if refused is not None and not self._resource_owners.forget_read(uri):
            raise refused
        for upstream in self._upstreams.values():
            if not await _is_available(upstream, caller.client):
                continue
            with suppress(JsonRpcError):
                result = await self._dispatcher.send(upstream, caller, method, params)
                if method == "resources/read":
                    self._resource_owners.record_read(uri, upstream)
                return result
        raise JsonRpcError(code=INVALID_PARAMS, message=f"Unknown resource: {uri}")

    async def _route_by_task(self, caller: Caller, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Route by task: to the upstream that made it, else to the first that has it."""
        task_id, caller_key = params.get("taskId"), _caller_key(caller)
        if not isinstance(task_id, str):
            raise JsonRpcError(code=INVALID_PARAMS, message="'taskId' is no text")
        if (known := self._task_owners.owner_of(caller_key, task_id)) is not None:
            return await self._dispatcher.send(known, caller, method, params)
        for upstream in self._upstreams.values():
            if not await _is_available(upstream, caller.client):
                continue
            with suppress(JsonRpcError):
                result = await self._dispatcher.send(upstream, caller, method, params)
                self._task_owners.record(caller_key, task_id, upstream)
                return result
        raise JsonRpcError(code=INVALID_PARAMS, message="Unknown task")

    def _record_kept_result(self, upstream: Upstream, result: dict[str, Any]) -> None:
        """Remember which upstream keeps a result."""
        if (uri := kept_at(result)) is not None:
            self._resource_owners.record_kept(uri, upstream)

    async def _complete(self, caller: Caller, params: dict[str, Any]) -> dict[str, Any]:
        reference: dict[str, Any] = params["ref"]
        if isinstance(reference.get("name"), str):
            upstream, name = self._by_name(reference["name"], "prompts/get")
            completion_params = {**params, "ref": {**reference, "name": name}}
            return await self._dispatcher.send(upstream, caller, "completion/complete", completion_params)
        known = await self._owners_of(caller, [reference.get("uri", "")])
        if not known:
            raise JsonRpcError(code=INVALID_PARAMS, message="no resource or template has this address")
        (upstream,) = known.values()
        return await self._dispatcher.send(upstream, caller, "completion/complete", params)

    async def _owners_of(self, caller: Caller, uris: Sequence[str]) -> dict[str, Upstream]:
        """The owners of resources and templates; if any is unknown, they are listed."""
        known = await self._known_owners(uris)
        for method in ("resources/list", _TEMPLATE_LIST):
            if known.keys() < set(uris):
                await self._list(caller, method, with_envelope({}, caller.client.identity.envelope))
                known = await self._known_owners(uris)
        return known

    async def _known_owners(self, uris: Sequence[str]) -> dict[str, Upstream]:
        # Yields to other tasks: each URI may be matched against many templates.
        return {
            uri: upstream
            async for uri in yielding(uris)
            if (upstream := self._resource_owners.owner_of(uri)) is not None
        }

    async def _set_level(self, upstream: Upstream, caller: Caller, params: dict[str, Any]) -> None:
        if not await _is_available(upstream, caller.client):
            upstream.of(caller.client).store_level(caller.client, params["level"])
            return
        try:
            await self._dispatcher.send(upstream, caller, "logging/setLevel", params)
        except JsonRpcError:
            # The upstream has no log.
            logger.debug("upstream %r has no log level", upstream.name)


def _can_open(upstream: Upstream, client: GatewayClient, *, is_late: bool = False) -> bool:
    """Whether a client can be served now: by a session, or by what is kept while one opens."""
    own = upstream.of(client)
    return own.open_session(client) is not None or own.kept_for(client, is_late=is_late) is not None


async def _is_available(upstream: Upstream, client: GatewayClient) -> bool:
    """Whether an upstream is available to a client, or is soon."""
    return await _problem_of(upstream, client) is None


async def _problem_of(upstream: Upstream, client: GatewayClient) -> UpstreamError | None:
    """Why an upstream is not available to a client, nor is soon."""
    try:
        await upstream.of(client).session(client, LEFT_OUT_S)
    except UpstreamError as problem:
        return problem
    return None


def _caller_key(caller: Caller) -> Hashable:
    """Identifies clients that see the same lists: by connection or client identity, and by principal."""
    client = caller.client
    return (client.identity.digest if client.is_modern else ref(client)), caller.identity.principal
