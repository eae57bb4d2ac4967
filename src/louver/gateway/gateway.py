"""The gateway: one MCP server in front of one or several upstreams.

    client ── middleware ── routing ── dispatch ── session ── transport ── upstream

Routing has two kinds: `single` for one upstream, `aggregate` for several.
"""

from __future__ import annotations

import asyncio
import logging
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args

from louver import __version__
from louver.concurrency.background import BackgroundTasks
from louver.core.cached import cached_property
from louver.core.choices import check_choice
from louver.core.json import digest
from louver.errors import InvalidConfig, InvalidView, LoginFailed, LouverError
from louver.gateway.clients.client import GatewayCaller, GatewayClient
from louver.gateway.clients.input_required import PendingCalls
from louver.gateway.clients.listen import ListenStreams
from louver.gateway.clients.revisions import with_envelope
from louver.gateway.config.model import CatalogueSource, Config, ExecuteLevel, Exposure
from louver.gateway.login.server_logins import ServerLogins
from louver.gateway.login.store import login_store
from louver.gateway.metrics import count_answer, observe_upstreams
from louver.gateway.pipeline import Files, Pipeline
from louver.gateway.routing.aggregate import SEPARATOR, AggregateRoutes
from louver.gateway.routing.dispatch import Dispatcher
from louver.gateway.routing.single import SingleRoute
from louver.gateway.serve.places import max_processes
from louver.gateway.shared_state import GatewayState
from louver.gateway.transports.budgets import UpstreamBudgets
from louver.gateway.upstream.availability import AvailabilityListeners
from louver.gateway.upstream.kept_catalogue import CatalogueFolder
from louver.gateway.upstream.list_cache import LIST_CHANGED_METHODS
from louver.gateway.upstream.negotiation import GATEWAY_IDENTITY
from louver.gateway.upstream.per_principal import UpstreamPerPrincipal
from louver.gateway.upstream.processes import ProcessBudget
from louver.gateway.upstream.upstream import Upstream, UpstreamSettings
from louver.jsonrpc.errors import METHOD_NOT_FOUND, JsonRpcError
from louver.server.request import ANONYMOUS, Identity
from louver.server.tools.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping
    from os import PathLike
    from typing import Self

    from mcp.server import Server

    from louver.catalogue.entry import Entry
    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.catalogue.grants import PrincipalKey
    from louver.catalogue.learned import LearnedFields
    from louver.catalogue.policy.policy import Policy
    from louver.catalogue.policy.principal import Principal
    from louver.catalogue.tool_rules import ToolRules
    from louver.gateway.config import model
    from louver.gateway.config.model import AuditSettings
    from louver.gateway.discovery.scripts import ScriptRunner
    from louver.gateway.discovery.service import DiscoveryService
    from louver.gateway.login.links import LoginLinks
    from louver.gateway.login.login import Login
    from louver.gateway.routing.log_in import LogIn
    from louver.gateway.transports.endpoint import Credentials
    from louver.gateway.transports.http import HttpTransport
    from louver.gateway.transports.sse import SseTransport
    from louver.gateway.transports.transport import Listener, Transport
    from louver.gateway.upstream.derived_tools import DerivedTools
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.processes import IdleProcess
    from louver.jsonrpc.codec import Params
    from louver.server.audit.shipper import Shipper
    from louver.server.audit.writer import AuditWriter
    from louver.server.request import Request
    from louver.server.savings.counter import SavingsCounter
    from louver.state.shared import SharedState

logger = logging.getLogger(__name__)

SERVER_INFO: Final = {"name": "louver", "version": __version__}

# Variables that differ from one terminal, or run of a host, to the next.
_VOLATILE: Final = re.compile(
    r"SESSION|_PID$|^(SHLVL|_|PWD|OLDPWD|COLUMNS|LINES|WINDOWID|TERM|INVOCATION_ID|JOURNAL_STREAM)$"
)

# Prefix of the loggers for the standard error of upstreams; the upstream's name follows.
LOGGER_PREFIX: Final = "louver.upstream."


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


class Replica(NamedTuple):
    """A gateway among several that serve the same clients."""

    keys: tuple[str, ...]  # that they share; empty if it is alone
    url: str  # where the others reach it; empty if they cannot
    urls: frozenset[str] | None = None  # of all of them; `None`: any that is sealed with the keys


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
        replica: Replica | None = None,  # one of several processes, instead of what the configuration says
        savings: Path | None = None,  # file for counters of savings, unless the configuration has the setting
        logins: Path | None = None,  # folder for logins at servers, unless they are in a shared state
    ) -> None:
        self._replica = replica
        self._single_client = single_client
        self._exposure: Exposure | None = exposure
        self._execute = execute
        self._ready_views = ready_views
        self._can_reload = can_reload
        self._catalogues = None if catalogues is None else CatalogueFolder(catalogues)
        self._logins: dict[str, ServerLogins] = {}  # by upstream
        self._savings_default = savings
        self._savings_file: Path | None = None
        self._savings: SavingsCounter | None = None
        self._closing = BackgroundTasks(logger)  # what a reload has replaced
        self._pending_calls = PendingCalls()
        # The processes of a single client end with it.
        self._processes = ProcessBudget(self._idle_processes, ends_idle=not single_client)
        self.listen_streams = ListenStreams()
        self._availability_listeners = AvailabilityListeners(self._publish)
        self.upstreams: dict[str, Upstream] = {}
        # Includes upstreams that a reload removed: they may return, with the clients that they served.
        self._all_upstreams: dict[str, Upstream] = {}
        self._learned: dict[Path, LearnedFields] = {}
        self._audit: AuditWriter | None = None
        self._audit_settings: AuditSettings | None = None
        self._shipper: Shipper | None = None
        self._config = Config(())
        self._opening: asyncio.Task[Any] | None = None
        if not isinstance(config, Config):
            # Imported only now: a gateway of one command has no file.
            from louver.gateway.config.read import as_config

            config = as_config(config)
        self._state = GatewayState(config, lambda: self.upstreams)
        self._login_store = login_store(self._state.shared, config.keys, logins)
        self.login_links = self._make_login_links(config)
        self._pipeline = Pipeline(SERVER_INFO, self.listen_streams, on_opened, self._remove_client, self._state)
        self._apply(config)
        observe_upstreams(lambda: self.upstreams)

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
        from louver.gateway.sdk_server import sdk_server

        principal = self._config.principal
        return sdk_server(self, ANONYMOUS if principal is None else Identity(principal))

    def answer(self, request: Request) -> Awaitable[dict[str, Any]]:
        """The result for a message of a client; JsonRpcError is the error that it gets."""
        return self._pipeline.answer(request)

    def audience(self, principal: Principal) -> Hashable:
        """Equal for callers to whom the policies in force show the same."""
        return self._pipeline.audience(principal)

    def input_schema(self, tool: str, principal: Principal) -> dict[str, Any] | None:
        """The input schema of a tool, as it was listed to callers who see the same."""
        return self._pipeline.input_schema(tool, principal)

    @property
    def state(self) -> SharedState | None:
        """The state that it shares with its replicas."""
        return self._state.shared

    @property
    def replica(self) -> Replica:
        """This gateway among its replicas, by the configuration in force."""
        if self._replica is None:
            return Replica(self._config.keys, self._config.replica_url)
        return self._replica._replace(keys=self._config.keys)

    @property
    def has_own_upstreams(self) -> bool:
        """Whether upstreams keep state for the session of a client."""
        return any(upstream.is_isolated for upstream in self.upstreams.values())

    def entry(self, tool: str, caller: Identity) -> Entry | None:
        """A tool with its schemas and views, as it was listed to a caller."""
        return self._pipeline.entry(tool, caller)

    @property
    def savings_file(self) -> Path | None:
        """Where savings are counted, if they are."""
        return self._savings_file

    @property
    def config(self) -> Config:
        """The configuration in force."""
        return self._config

    async def open(self) -> list[UpstreamState]:
        """Open all available upstreams and report their states."""
        self._state.listen()
        if self._shipper is not None:
            self._shipper.start()
        states = await asyncio.gather(*map(self.state_of, self._config.upstreams))
        if self._pipeline.scripts is not None:
            await self._pipeline.scripts.is_ready()
        return states

    def discovery(self) -> DiscoveryService:
        """Discovery for the gateway itself: unprojected, and without a client that upstreams could ask."""
        from louver.gateway.discovery.behind import VisibleServers
        from louver.gateway.discovery.service import DiscoveryService

        caller = _gateway_caller()

        async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            return await self._routes.answer(caller, method, with_envelope(params, GATEWAY_IDENTITY.envelope))

        return DiscoveryService(VisibleServers(self.upstreams, caller.client, ask))

    async def call(self, upstream: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool, by a name that a client of its upstream alone knows, as the gateway itself, unprojected."""
        caller, rules = _gateway_caller(), self._rules_of(upstream)
        params = {"name": tool if rules is None else rules.tool_of(tool), "arguments": dict(arguments)}
        return await self._dispatcher.call_once(
            self.upstreams[upstream], caller, "tools/call", with_envelope(params, GATEWAY_IDENTITY.envelope)
        )

    async def reconfigure(self, config: Config) -> None:
        """Switch to another configuration, but for its `state`; unchanged upstreams keep their sessions."""
        clients = {client for upstream in self._all_upstreams.values() for client in upstream.clients}
        replaced_scripts = self._apply(replace(config, state=self._config.state))
        if self._shipper is not None:
            self._shipper.start()
        await self._wait_closed(*replaced_scripts)
        for change in sorted(LIST_CHANGED_METHODS):
            await self._publish(change, None)
            for client in clients:
                client.notify(change, None)

    async def end(self) -> None:
        """End all upstreams and cancel pending calls; a second call waits for the same end."""
        self._pending_calls.close()
        for upstream in self._all_upstreams.values():
            upstream.close()
        await self._wait_closed(*([] if self._pipeline.scripts is None else [self._pipeline.scripts]))

    async def close(self) -> None:
        """End all upstreams, then close the state that is shared and the audit log, and write the last savings."""
        await self.end()
        await self._state.close()
        if self._audit is not None:
            self._audit.close()
        if self._shipper is not None:
            await self._shipper.close()
        if self.login_links is not None:
            await self.login_links.close()
        await asyncio.gather(*(login.close() for login in self._logins.values()))
        await self._closing.wait()
        if self._savings is not None:
            await self._savings.close()

    async def login(self, upstream: str) -> Login | None:
        """The login at an upstream, if there is one that opens."""
        logins = self._logins.get(upstream)
        with suppress(LoginFailed):
            return None if logins is None else await logins.login()
        return None

    def views_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        return sorted(self._files.views.entry(self._as_listed(upstream, tool), None).views.named)

    def is_declared(self, upstream: str, tool: dict[str, Any]) -> bool:
        """Whether a tool has an output schema, from its server or from a file."""
        return tool.get("outputSchema") is not None or self._schema_file(upstream, tool) is not None

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
        await asyncio.gather(
            *(each.wait_closed() for each in self._all_upstreams.values()), *(each.close() for each in scripts)
        )

    def _schema_file(self, upstream: str, tool: dict[str, Any]) -> SchemaFile | None:
        return self._files.schemas.find(self._as_listed(upstream, tool)["name"])

    def _as_listed(self, upstream: str, tool: dict[str, Any]) -> dict[str, Any]:
        """The tool under the name that clients see."""
        return tool if len(self.upstreams) == 1 else {**tool, "name": f"{upstream}{SEPARATOR}{tool['name']}"}

    def _apply(self, config: Config) -> list[ScriptRunner]:
        """Apply a configuration and return the scripts that it replaces; if it raises, nothing has changed."""
        config = self._with_overrides(config)
        files = Files(config, self._server_name, self._learned)
        self._state.reconfigure(config)
        retained = self._pipeline.retained_for(config)
        audit = self._audit_for(config.audit)
        self._reconfigure(config)
        self._files = files
        self._dispatcher = Dispatcher(
            self._pending_calls,
            {name: upstream.guard for name, upstream in self.upstreams.items()},
            {each.name: _derived_tools(each.name, each.tools) for each in config.upstreams if each.tools is not None},
            self._log_in_steps(config),
        )
        self._processes.limit = self._max_processes(config)
        server_ids = {each.name: each.server_id for each in config.upstreams}
        single = next(iter(self.upstreams.values())) if len(self.upstreams) == 1 else None
        # What a single upstream has is missing too until a caller has logged in.
        self._availability_listeners.is_enabled = single is None or config.upstreams[0].is_per_principal
        self._routes = (
            AggregateRoutes(self.upstreams, self._dispatcher, server_ids, self._availability_listeners)
            if single is None
            else SingleRoute(single, self._dispatcher, server_ids, can_reload=self._can_reload)
        )
        savings = self._savings_for(config)
        return self._pipeline.build(config, files, retained, self.upstreams, self._routes, audit, savings)

    def _audit_for(self, wanted: AuditSettings | None) -> AuditWriter | None:
        """The audit log that a configuration wants; an open one is reused."""
        if wanted != self._audit_settings:
            audit, shipper = (None, None) if wanted is None else _open_audit(wanted)
            if self._audit is not None:
                self._audit.close()
            if self._shipper is not None:
                self._closing.start(self._shipper.close())
            self._audit, self._audit_settings, self._shipper = audit, wanted, shipper
        return self._audit

    def _savings_for(self, config: Config) -> SavingsCounter | None:
        """The counters of the file that a configuration wants; current ones are reused."""
        file = self._savings_default if config.savings is None else config.savings or None
        if file != self._savings_file:
            if self._savings is not None:
                self._closing.start(self._savings.close())
            self._savings, self._savings_file = None if file is None else _savings_counter(file), file
        return self._savings

    def _with_overrides(self, config: Config) -> Config:
        """The configuration with the constructor's overrides."""
        exposure = self._exposure or config.exposure
        check_choice("listing", config.listing, get_args(Listing))
        check_choice("exposure", exposure, get_args(Exposure))
        check_choice("catalogue", config.catalogue, get_args(CatalogueSource))
        execute = config.execute or ("strict" if exposure == "discovery" else "off")
        check_choice("execute", execute, get_args(ExecuteLevel))
        if self._execute is not None:
            execute = "off" if not self._execute else "strict" if execute == "off" else execute
        upstreams = config.upstreams
        if self._ready_views:
            upstreams = tuple(replace(each, ready_views=True) for each in upstreams)
        keys = config.keys or (() if self._replica is None else self._replica.keys)
        return replace(config, upstreams=upstreams, exposure=exposure, execute=execute, keys=keys)

    def _server_name(self, upstream: str) -> str | None:
        """The name in an upstream's `serverInfo`, once it has been opened."""
        found = self.upstreams.get(upstream)
        return None if found is None else found.server_name

    def _reconfigure(self, config: Config) -> None:
        """Set the upstreams; sessions of changed and removed ones end."""
        before = {each.name: each for each in self._config.upstreams}
        changed = {
            each.name: self._settings_of(each, config) for each in config.upstreams if before.get(each.name) != each
        }
        for name in before.keys() - {each.name for each in config.upstreams}:
            self._all_upstreams[name].close()
            self._end_login(name)
        shared_identity = next(
            (upstream.shared_identity for upstream in self._all_upstreams.values()), GATEWAY_IDENTITY
        )
        for name, settings in changed.items():
            if name in self._all_upstreams:
                self._all_upstreams[name].reconfigure(settings)
            else:
                options: dict[str, Any] = {
                    "shared_identity": shared_identity,
                    "single_client": self._single_client,
                    "availability_listeners": self._availability_listeners,
                    "has_listeners": lambda: self.listen_streams.want_lists,
                    "pass_on": self._state.pass_on(name),
                }
                self._all_upstreams[name] = UpstreamPerPrincipal(
                    name,
                    settings,
                    make=partial(self._upstream_of, name, options),
                    on_unused=partial(self._forget_principal, name),
                    publish=self._publish,
                    **options,
                )
        self._config = config
        self.upstreams = {each.name: self._all_upstreams[each.name] for each in config.upstreams}

    def _upstream_of(
        self, name: str, options: dict[str, Any], principal: PrincipalKey, settings: UpstreamSettings
    ) -> Upstream:
        return Upstream(name, settings, publish=partial(self._publish, only=principal), **options)

    def _settings_of(self, config: model.UpstreamConfig, gateway: Config) -> UpstreamSettings:
        # Not under a policy, and not where changes are blocked: a kept definition would count as the first.
        can_keep = (
            gateway.catalogue == "kept"
            and config.policy is None
            and config.on_change != "block"
            and not config.is_per_principal
        )
        credentials_of = self._credentials_for(config)

        def link(principal: PrincipalKey | None) -> Callable[[Listener], Transport]:
            credentials = None if credentials_of is None else credentials_of(principal)
            return partial(_make_transport, config, UpstreamBudgets(), credentials, self._processes)

        settings = UpstreamSettings(
            link(None),
            config.timeout_seconds,
            isolated=config.isolation == "session" if config.isolation is not None else not self._single_client,
            per_revision=config.transport == "http",
            on_change=config.on_change,
            pins=self._state.pins(config.server_id),
            guard=None if config.policy is None else _make_guard(config.name, config.policy),
            catalogues=self._catalogues if can_keep else None,
            place=_catalogue_place(config, gateway),
            processes=self._processes if config.transport == "stdio" else None,
        )
        if not config.is_per_principal:
            return settings

        def of_principal(principal: PrincipalKey) -> UpstreamSettings:
            pins = self._state.pins(f"{config.server_id}:{digest(list(principal))}")
            return replace(settings, link=link(principal), pins=pins, catalogues=None)

        return replace(settings, of_principal=of_principal)

    def _credentials_for(self, config: model.UpstreamConfig) -> Callable[[PrincipalKey | None], Credentials] | None:
        """The credentials for an upstream, by the principal of a caller with its own login."""
        self._end_login(config.name)
        if config.header_templates or config.headers_helper is not None:
            # Lazy import: only such servers need it.
            from louver.gateway.transports.secret_headers import SecretHeaders

            secrets = SecretHeaders(config.header_templates, config.headers_helper)
            return lambda _: secrets
        if not config.can_log_in or (self._login_store is None and not config.exchanges_tokens):
            return None
        logins = self._logins[config.name] = ServerLogins(config, self._login_store)
        return logins.of

    def _make_login_links(self, config: Config) -> LoginLinks | None:
        """The links by which callers log in for themselves, if there can be any."""
        if config.auth is None or config.auth.public_url is None or self._login_store is None:
            return None
        # Lazy imports, since most gateways have none.
        from louver.gateway.login.links import LoginLinks
        from louver.gateway.login.notes import LoginNotes

        notes = LoginNotes(self._state.shared if config.keys else None)
        servers = lambda: {each.name: each for each in self._config.upstreams}  # noqa: E731
        return LoginLinks(config.auth.public_url, servers, self._login_store, notes)

    def _log_in_steps(self, config: Config) -> dict[str, LogIn]:
        names = [each.name for each in config.upstreams if each.logs_in_callers]
        if not names:
            return {}
        if self.login_links is None:
            raise InvalidConfig(
                f"server {names[0]!r} has a login for each principal: expected 'auth' with a 'resource', and a folder "
                "of the user or 'state' with 'keys', where logins are kept"
            )
        from louver.gateway.routing.log_in import LogIn

        return {name: LogIn(name, self.login_links) for name in names}

    def _forget_principal(self, upstream: str, principal: PrincipalKey) -> None:
        if (logins := self._logins.get(upstream)) is not None:
            self._closing.start(logins.forget(principal))

    def _end_login(self, upstream: str) -> None:
        if (replaced := self._logins.pop(upstream, None)) is not None:
            self._closing.start(replaced.close())

    def _idle_processes(self) -> Iterator[IdleProcess]:
        for upstream in self._all_upstreams.values():
            yield from upstream.idle_processes()

    def _max_processes(self, config: Config) -> int:
        """How many processes of servers may run: workers share the machine."""
        workers = 1 if self._replica is None or self._replica.urls is None else len(self._replica.urls)
        return max(1, (config.max_processes or max_processes()) // workers)

    async def _remove_client(self, client: GatewayClient) -> None:
        """Remove a client from all upstreams, also from those that a reload removed."""
        await asyncio.gather(*(upstream.remove_client(client) for upstream in self._all_upstreams.values()))

    async def _publish(self, method: str, params: Params, only: PrincipalKey | None = None) -> None:
        """Publish a change to 2026-07-28 clients; sessions notify handshake clients themselves."""
        self.listen_streams.publish(method, params, only)

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
                projectable=sum(self.is_declared(config.name, tool) for tool in tools),
                instructions=session.negotiation.opening.get("instructions", ""),
                own_tools=own_tools,
            )
        except LouverError as error:
            return UpstreamState(config.name, config.transport, version, [], upstream.problem or error.message)
        except JsonRpcError as error:
            # A server without tools may not know `tools/list`. The text of other errors is not repeated.
            has_no_tools = not has_tools and error.code == METHOD_NOT_FOUND
            problem = None if has_no_tools else f"'tools/list' fails with {error.code}"
            return UpstreamState(config.name, config.transport, version, [], problem)


def _gateway_caller() -> GatewayCaller:
    return GatewayCaller(GatewayClient(GATEWAY_IDENTITY.version, GATEWAY_IDENTITY))


def _make_transport(
    config: model.UpstreamConfig,
    budgets: UpstreamBudgets,
    credentials: Credentials | None,
    processes: ProcessBudget,
    listener: Listener,
) -> Transport:
    if config.policy is None or "logging" in config.policy.allowed_features:
        logger = logging.getLogger(f"{LOGGER_PREFIX}{config.name}")
    else:
        # The policy cannot filter standard error: it goes to a disabled logger that no logging configuration reaches.
        logger = logging.Logger(config.name)
        logger.disabled = True
    if config.transport != "stdio":
        return _url_transport(config.transport)(
            config.url,
            headers=config.headers,
            listener=listener,
            budgets=budgets,
            logger=logger,
            credentials=credentials,
        )
    # Lazy imports, here and below: each transport only where it is used.
    from louver.gateway.transports.stdio import StdioTransport

    return StdioTransport(
        config.command,
        env=config.env,
        cwd=config.cwd,
        listener=listener,
        budgets=budgets,
        processes=processes,
        logger=logger,
    )


def _url_transport(kind: Literal["http", "sse"]) -> type[HttpTransport | SseTransport]:
    if kind == "sse":
        from louver.gateway.transports.sse import SseTransport

        return SseTransport
    from louver.gateway.transports.http import HttpTransport

    return HttpTransport


def _catalogue_place(config: model.UpstreamConfig, gateway: Config) -> str:
    """A digest of all that decides what an upstream answers, besides the identity of its client."""
    process: list[Any] = []
    if config.transport == "stdio":
        # Lazy import, as in `_make_transport`.
        from louver.gateway.transports.stdio import inherited_environment

        environment = {**inherited_environment(), **config.env}
        stable = {name: value for name, value in environment.items() if not _VOLATILE.search(name)}
        process = [list(config.command), stable, _folder_of(config)]
    helper = None if config.headers_helper is None else list(config.headers_helper.command)
    templates = {name: list(map(str, template)) for name, template in config.header_templates.items()}
    reached = [config.url, dict(config.headers), templates, helper]
    return digest([__version__, process, reached, config.isolation, repr(gateway.principal)])


def _folder_of(config: model.UpstreamConfig) -> str:
    try:
        return str(Path.cwd() if config.cwd is None else config.cwd.absolute())
    except FileNotFoundError:
        # The current folder was removed.
        return ""


def _open_audit(settings: AuditSettings) -> tuple[AuditWriter, Shipper | None]:
    # Lazy imports: only an audit needs SQLite.
    from louver.server.audit.writer import AuditWriter

    if settings.ship_to is None:
        return AuditWriter(settings.file, settings.retention_days), None
    from louver.server.audit.shipper import Shipper, open_destination
    from louver.server.audit.spool import Spool

    destination = open_destination(settings.ship_to)
    writer = AuditWriter(settings.file, settings.retention_days, shipping_key=settings.shipping_key)
    return writer, Shipper(Spool(settings.file), destination)


def _savings_counter(file: Path) -> SavingsCounter:
    # Lazy import, as in `_open_audit`.
    from louver.server.savings.counter import SavingsCounter

    return SavingsCounter(file, on_counted=count_answer)


def _derived_tools(server: str, rules: ToolRules) -> DerivedTools:
    # Lazy import: only tool rules need it.
    from louver.gateway.upstream.derived_tools import DerivedTools

    return DerivedTools(server, rules)


def _make_guard(server: str, policy: Policy) -> Guard:
    # Lazy import: only policies need it.
    from louver.gateway.upstream.policy_guard import Guard
    from louver.server.policy.enforcer import PolicyEnforcer

    return Guard(PolicyEnforcer(server, policy))
