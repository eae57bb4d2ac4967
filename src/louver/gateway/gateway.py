"""The gateway: one MCP server in front of one or several upstreams.

    client ── middleware ── routing ── dispatch ── session ── transport ── upstream

Routing has two kinds: `single` for one upstream, `aggregate` for several.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

from louver import __version__
from louver.concurrency.places import max_processes
from louver.core.cached import cached_property
from louver.core.nearest import check_choice
from louver.errors import InvalidView, LouverError
from louver.gateway.back.logins import Logins
from louver.gateway.back.shared_state import GatewayState
from louver.gateway.back.upstreams import Upstreams
from louver.gateway.clients.client import GatewayCaller
from louver.gateway.clients.input_required import PendingCalls
from louver.gateway.clients.listen import ListenStreams
from louver.gateway.clients.revisions import GATEWAY_IDENTITY, with_envelope
from louver.gateway.config.model import Config, ExecuteLevel, Exposure
from louver.gateway.pipeline import Files, Pipeline
from louver.gateway.records import Records
from louver.gateway.routing.aggregate import SEPARATOR, AggregateRoutes
from louver.gateway.routing.dispatch import Dispatcher
from louver.gateway.routing.single import SingleRoute
from louver.seams import plugged_in
from louver.steps.pages import pages
from louver.steps.request import ANONYMOUS, Identity
from louver.steps.shared_state import is_same_store
from louver.steps.telemetry import metrics
from louver.steps.tools.listing import Listing
from louver.wire.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import LIST_CHANGED_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
    from os import PathLike
    from pathlib import Path
    from typing import Self

    from mcp.server import Server
    from starlette.types import ASGIApp

    from louver.catalogue.entry import Entry
    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.catalogue.learned import LearnedFields
    from louver.core.json import Schema
    from louver.gateway.back.lists.derived_tools import DerivedTools
    from louver.gateway.back.logins import Login, PluggedLogins
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.scripts import ScriptRunner
    from louver.gateway.builtin.service import DiscoveryService
    from louver.gateway.config import model
    from louver.policy.principal import Principal
    from louver.policy.tool_rules import ToolRules
    from louver.steps.calls.planning import Planning
    from louver.steps.request import Request
    from louver.steps.shared_state import SharedState

SERVER_INFO: Final = {"name": "louver", "version": __version__}


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """The state of an upstream, for `louver serve`, `louver check` and `louver doctor`."""

    name: str
    transport: str
    version: str | None  # protocol revision; `None` without a session
    tools: list[dict[str, Any]]  # that any client has
    problem: str | None = None  # why there is no session
    projectable: int = 0  # tools with an output schema, from their server or from a file
    instructions: str = ""
    own_tools: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])  # as the server lists them
    server_name: str | None = None  # in its `serverInfo`


class Replica(NamedTuple):
    """A gateway among several that serve the same clients."""

    keys: tuple[str, ...]  # that they share; empty if it is alone
    url: str  # where the others reach it; empty if they cannot


class Gateway:
    """The upstreams, and the MCP server in front of them.

        async with Gateway("mcp.json") as gateway, louver.Client(gateway) as client: ...

    Args:
        config: The path to a configuration file, its content as a dict, or a `Config`. It is read once.
        single_client: Whether there is one client, with whose identity upstreams are opened.
        exposure: How tools are listed, instead of what the configuration says.
        execute: Whether scripts can be run, instead of what the configuration says.

    Raises:
        InvalidConfig: The configuration cannot be used.
        InvalidPolicy: A policy of it cannot be used.
        AuditFailed: Its audit records cannot be written.
    """

    def __init__(
        self,
        config: Config | Mapping[str, Any] | str | PathLike[str],
        *,
        single_client: bool = False,
        exposure: Exposure | None = None,
        execute: bool | None = None,
        ready_views: bool = False,  # every upstream gets shipped views
        on_opened: Callable[[], None] = lambda: None,  # called when a client has opened the gateway
        can_reload: bool = False,  # a reload may come: announce that lists can change
        catalogues: Path | None = None,  # folder for kept catalogues; `None`: upstreams are waited for
        savings: Path | None = None,  # file for counters of savings, unless the configuration has the setting
        logins: Path | None = None,  # folder for logins at servers, unless they are in a shared state
    ) -> None:
        self._exposure: Exposure | None = exposure
        self._execute = execute
        self._ready_views = ready_views
        self._can_reload = can_reload
        self._pending_calls = PendingCalls()
        self.listen_streams = ListenStreams()
        self._learned: dict[Path, LearnedFields] = {}
        self._records = Records(savings)
        self._config = Config(())
        self._opening: asyncio.Task[Any] | None = None
        if not isinstance(config, Config):
            # Imported only now: a gateway of one command has no file.
            from louver.gateway.config.read import as_config

            config = as_config(config)
        self._state = GatewayState(config, lambda: self.upstreams)
        shared = self._state.shared

        def plug_in_logins() -> PluggedLogins:
            plugged = plugged_in("team.login.gateway_logins:GatewayLogins")
            return plugged(config, shared, logins, lambda: self._config.upstreams)

        has_store = logins is not None or (shared is not None and bool(config.keys))
        self._logins = Logins(plug_in_logins, has_store=has_store)
        self._upstreams = Upstreams(
            self._state, self._logins, self.listen_streams, single_client=single_client, catalogues=catalogues
        )
        remove_client = self._upstreams.remove_client
        self._pipeline = Pipeline(SERVER_INFO, self.listen_streams, on_opened, remove_client, self._state)
        self._apply(config)
        if (found := metrics()) is not None:
            found.observe_upstreams(lambda: self.upstreams)

    async def __aenter__(self) -> Self:
        # In a task: an upstream that starts slowly delays only its own calls.
        self._opening = asyncio.create_task(self.open())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._opening is not None:
            self._opening.cancel()
        await self.close()

    @cached_property
    def server(self) -> Server[Any]:
        """The gateway as a server of the SDK, for `mcp.Client` in this process; its `principal` is the caller."""
        # Imported only now: the gateway itself needs no SDK.
        from louver.gateway.in_process import sdk_server

        principal = self._config.principal
        return sdk_server(self.answer, ANONYMOUS if principal is None else Identity(principal))

    def answer(self, request: Request) -> Awaitable[dict[str, Any]]:
        """The result for a message of a client; JsonRpcError is the error that it gets."""
        return self._pipeline.answer(request)

    def audience(self, principal: Principal) -> Hashable:
        """Equal for callers to whom the policies in force show the same."""
        return self._pipeline.audience(principal)

    def name_in_audit(self, caller: Identity) -> str | None:
        """The caller as audit records name it; `None` without an audit, or if it is not authenticated."""
        audit = self._records.audit
        return None if audit is None or caller.key is None else audit.principal_digest(caller.principal)

    def input_schema(self, tool: str, principal: Principal) -> dict[str, Any] | None:
        """The input schema of a tool, as it was listed to callers who see the same."""
        return self._pipeline.input_schema(tool, principal)

    def versions(self) -> Sequence[str]:
        """The revisions that a request may name, with those of drafts."""
        return self._pipeline.versions

    @property
    def state(self) -> SharedState | None:
        """The state that it shares with its replicas."""
        return self._state.shared

    @property
    def is_outdated(self) -> bool:
        """Whether another replica has had a configuration of a higher `generation` for some time."""
        return self._state.is_outdated

    @property
    def replica(self) -> Replica:
        """This gateway among its replicas, by the configuration in force."""
        return Replica(self._config.keys, self._config.replica_url)

    def tag_pending_calls(self, tag: Callable[[], str]) -> None:
        """Begin the states of calls that wait for a client with a tag, by which other replicas find them."""
        self._pending_calls.tag = tag

    @property
    def has_own_upstreams(self) -> bool:
        """Whether upstreams keep state for the session of a client."""
        return any(upstream.is_isolated for upstream in self.upstreams.values())

    def entry(self, tool: str, caller: Identity) -> Entry | None:
        """A tool with its schemas and views, as it was listed to a caller."""
        return self._pipeline.entry(tool, caller)

    @property
    def planning(self) -> Planning:
        """The budget of plans of each caller."""
        return self._pipeline.planning

    @property
    def upstreams(self) -> Mapping[str, Upstream]:
        """The upstreams of the configuration in force, by name."""
        return self._upstreams.by_name

    @property
    def login_pages(self) -> ASGIApp | None:
        """Where callers log in for themselves, if they can."""
        return self._logins.pages

    @property
    def savings_file(self) -> Path | None:
        """Where savings are counted, if they are."""
        return self._records.savings_file

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    async def open(self) -> list[UpstreamState]:
        """Open all available upstreams and report their states."""
        self._state.listen()
        self._records.start_shipping()
        opening = asyncio.gather(*map(self.state_of, self._config.upstreams))
        states, _ = await asyncio.gather(opening, self._pipeline.load_search())
        if self._pipeline.scripts is not None:
            await self._pipeline.scripts.is_ready()
        return states

    def discovery(self) -> DiscoveryService:
        """Discovery for the gateway itself: unprojected, and without a client that upstreams could ask."""
        from louver.gateway.builtin.behind import VisibleServers
        from louver.gateway.builtin.service import DiscoveryService

        caller = GatewayCaller()

        async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            return await self._routes.answer(caller, method, with_envelope(params, GATEWAY_IDENTITY.envelope))

        return DiscoveryService(VisibleServers(self.upstreams, caller.client, ask))

    async def call(self, upstream: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool, by a name that a client of its upstream alone knows, as the gateway itself, unprojected."""
        caller, rules = GatewayCaller(), self._rules_of(upstream)
        params = {"name": tool if rules is None else rules.tool_of(tool), "arguments": dict(arguments)}
        return await self._dispatcher.call_once(
            self.upstreams[upstream], caller, "tools/call", with_envelope(params, GATEWAY_IDENTITY.envelope)
        )

    async def tools_for(self, upstream: str, principal: Principal) -> list[dict[str, Any]]:
        """The tools of an upstream as a caller is listed them, by the names that a client of it alone knows."""
        caller = GatewayCaller(identity=Identity(principal))

        def page(place: dict[str, Any]) -> Awaitable[dict[str, Any]]:
            params = with_envelope(place, GATEWAY_IDENTITY.envelope)
            return self._dispatcher.send(self.upstreams[upstream], caller, "tools/list", params)

        return [tool async for listed in pages(page) for tool in listed["tools"]]

    async def reconfigure(self, config: Config) -> None:
        """Switch to another configuration, but for the address of `state`; unchanged upstreams keep their sessions."""
        await asyncio.to_thread(_load, config)
        await self._records.prepare(config)
        clients = self._upstreams.clients
        state = config.state if is_same_store(config.state, self._config.state) else self._config.state
        try:
            replaced_scripts = self._apply(replace(config, state=state))
        finally:
            await self._records.discard()
        self._records.start_shipping()
        await self._wait_closed(*replaced_scripts)
        for change in sorted(LIST_CHANGED_METHODS):
            await self._upstreams.publish(change, None)
            for client in clients:
                client.notify(change, None)

    async def end(self) -> None:
        """End all upstreams and cancel pending calls; a second call waits for the same end."""
        self._pending_calls.close()
        self._upstreams.close()
        await self._wait_closed(*([] if self._pipeline.scripts is None else [self._pipeline.scripts]))

    async def close(self) -> None:
        """End all upstreams, then close logins, the shared state that keeps them, and the audit log with savings."""
        await self.end()
        await self._logins.close()
        await self._state.close()
        await self._records.close()

    async def login(self, upstream: str) -> Login | None:
        """The login at an upstream, if there is one that opens."""
        return await self._logins.current(upstream)

    def views_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        return sorted(self._files.views.entry(self._as_listed(upstream, tool), None).views.named)

    def search_terms_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        file = self._files.descriptions.find(self._as_listed(upstream, tool)["name"])
        return [] if file is None else file.search_terms

    def output_schema(self, upstream: str, tool: dict[str, Any]) -> Schema | None:
        """The output schema of a tool, from its server or from a file."""
        declared = tool.get("outputSchema")
        file = self._schema_file(upstream, tool) if declared is None else None
        return declared if file is None else file.schema

    def learnt_fields(self, upstream: str, tool: dict[str, Any]) -> tuple[str, ...]:
        """The paths of fields in earlier answers of a tool."""
        learned = self._files.learned
        return () if learned is None else learned.find(self._as_listed(upstream, tool)["name"])

    def problems_of(self, state: UpstreamState) -> list[str]:
        """Problems of an upstream's guidance, views, schemas, descriptions, policy and tool rules."""
        problems: list[str] = []
        if state.problem is None:
            problems += self._files.mismatches(state.name, {tool["name"] for tool in state.tools})
            config = next(each for each in self._config.upstreams if each.name == state.name)
            problems += [] if config.policy is None else config.policy.validation_errors(state.own_tools)
            names = [tool["name"] for tool in state.own_tools]
            problems += [] if config.tools is None else config.tools.validation_errors(names)
        for tool in state.tools:
            file = self._schema_file(state.name, tool)
            if file is not None and tool.get("outputSchema") is not None:
                prefix = f"tool {tool['name']!r} declares its output itself"
                problems.append(f"{prefix}: that counts, and {file.path.name!r} is not used")
            try:
                self._files.views.check(self._as_listed(state.name, tool))
            except InvalidView as error:
                problems.append(error.message)
        return [f"{state.name}: {problem}" for problem in problems]

    def _rules_of(self, upstream: str) -> ToolRules | None:
        return next(each.tools for each in self._config.upstreams if each.name == upstream)

    async def _wait_closed(self, *scripts: ScriptRunner) -> None:
        """Wait until closed sessions have ended, and close scripts."""
        await asyncio.gather(self._upstreams.wait_closed(), *(each.close() for each in scripts))

    def _schema_file(self, upstream: str, tool: dict[str, Any]) -> SchemaFile | None:
        return self._files.schemas.find(self._as_listed(upstream, tool)["name"])

    def _as_listed(self, upstream: str, tool: dict[str, Any]) -> dict[str, Any]:
        """The tool under the name that clients see."""
        return tool if len(self.upstreams) == 1 else {**tool, "name": f"{upstream}{SEPARATOR}{tool['name']}"}

    def _apply(self, config: Config) -> list[ScriptRunner]:
        """Apply a configuration and return the scripts that it replaces; if it raises, nothing has changed."""
        config = self._with_overrides(config)
        files = Files(config, self._server_name, self._learned)
        login_steps = self._logins.steps(config.upstreams)
        retained = self._pipeline.retained_for(config)
        use = self._records.switch(config)
        self._state.reconfigure(config)
        self._upstreams.reconfigure(config, config.max_processes or max_processes())
        self._config = config
        self._files = files
        self._dispatcher = Dispatcher(
            self._pending_calls,
            {name: upstream.guard for name, upstream in self.upstreams.items()},
            {each.name: _derived_tools(each.name, each.tools) for each in config.upstreams if each.tools is not None},
            login_steps,
        )
        server_ids = {each.name: each.server_id for each in config.upstreams}
        single = next(iter(self.upstreams.values())) if len(self.upstreams) == 1 else None
        # What a single upstream has is missing too until a caller has logged in.
        self._upstreams.availability_listeners.is_enabled = single is None or config.upstreams[0].is_per_principal
        self._routes = (
            AggregateRoutes(self.upstreams, self._dispatcher, server_ids, self._upstreams.availability_listeners)
            if single is None
            else SingleRoute(single, self._dispatcher, server_ids, can_reload=self._can_reload)
        )
        records = self._records
        return self._pipeline.build(
            config, files, retained, self.upstreams, self._routes, records.audit, records.savings, use
        )

    def _with_overrides(self, config: Config) -> Config:
        """The configuration with the constructor's overrides."""
        exposure = self._exposure or config.exposure
        check_choice("listing", config.listing, get_args(Listing))
        check_choice("exposure", exposure, get_args(Exposure))
        execute = config.execute or ("strict" if exposure == "discovery" else "off")
        check_choice("execute", execute, get_args(ExecuteLevel))
        if self._execute is not None:
            execute = "off" if not self._execute else "strict" if execute == "off" else execute
        upstreams = config.upstreams
        if self._ready_views:
            upstreams = tuple(replace(each, ready_views=True) for each in upstreams)
        return replace(config, upstreams=upstreams, exposure=exposure, execute=execute)

    def _server_name(self, upstream: str) -> str | None:
        """The name in an upstream's `serverInfo`, once it has been opened."""
        found = self.upstreams.get(upstream)
        return None if found is None else found.server_name

    async def state_of(self, config: model.UpstreamConfig) -> UpstreamState:
        """Open an upstream of the configuration, if it is available, and report its state."""
        version, has_tools = None, True
        # Looked up first: a reload may remove the name while this waits.
        upstream = self.upstreams[config.name]
        await upstream.resume()
        try:
            session = await upstream.session()
            version, has_tools = session.negotiation.version, session.negotiation.has_tools
            own_tools = await session.tools()
            tools = own_tools if config.tools is None else config.tools.all_visible(own_tools)
            return UpstreamState(
                config.name,
                config.transport,
                version,
                tools,
                projectable=sum(self.output_schema(config.name, tool) is not None for tool in tools),
                instructions=session.negotiation.opening.get("instructions", ""),
                own_tools=own_tools,
                server_name=session.negotiation.name,
            )
        except LouverError as error:
            return UpstreamState(config.name, config.transport, version, [], upstream.problem or error.message)
        except JsonRpcError as error:
            # A server without tools may not know `tools/list`. The text of other errors is not repeated.
            has_no_tools = not has_tools and error.code == METHOD_NOT_FOUND
            problem = None if has_no_tools else f"'tools/list' fails with {error.code}"
            return UpstreamState(config.name, config.transport, version, [], problem)


def _load(config: Config) -> None:
    """Import what settings of a reload may be the first to need, for which all clients would wait."""
    if config.keys:
        plugged_in("team.replicas:prepare")(config.keys)
    if any(each.is_per_principal for each in config.upstreams):
        plugged_in("team.login.flow:prepare")()


def _derived_tools(server: str, rules: ToolRules) -> DerivedTools:
    # Lazy import: only tool rules need it.
    from louver.gateway.back.lists.derived_tools import DerivedTools

    return DerivedTools(server, rules)
