"""The gateway: one MCP server in front of one or several upstreams.

    client ── middleware ── routing ── dispatch ── session ── transport ── upstream

Routing has two kinds: `single` for one upstream, `aggregate` for several.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, get_args

from mcp import MCPError
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import event_from_wire
from mcp_types import METHOD_NOT_FOUND

from louver import __version__
from louver.core.choices import check_choice
from louver.errors import InvalidView, LouverError
from louver.gateway.clients.client import Client, Itself
from louver.gateway.clients.input_required import Parked
from louver.gateway.clients.revisions import enveloped
from louver.gateway.config.model import Config, Execute, Exposure
from louver.gateway.pipeline import Files, Stack
from louver.gateway.routing.aggregate import SEPARATOR, Many
from louver.gateway.routing.dispatch import Calls
from louver.gateway.routing.single import One
from louver.gateway.upstream.availability import Onlookers
from louver.gateway.upstream.list_cache import CHANGES
from louver.gateway.upstream.negotiation import GATEWAY
from louver.gateway.upstream.upstream import Terms, Upstream
from louver.server.request import ANONYMOUS, Identity, in_order
from louver.server.sdk import StepMiddleware, on_tools_published
from louver.server.tools.listing import Listing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from louver.catalogue.files.output_schemas import SchemaFile
    from louver.catalogue.learned import LearnedFields
    from louver.catalogue.policy.policy import Policy
    from louver.gateway.config import model
    from louver.gateway.config.model import Audited
    from louver.gateway.discovery.scripts import Scripts
    from louver.gateway.discovery.service import DiscoveryService
    from louver.gateway.pipeline import FindSchema
    from louver.gateway.transports.transport import Link, Listener
    from louver.gateway.upstream.policy_guard import Guard
    from louver.jsonrpc.codec import Params
    from louver.server.audit.writer import Audit
    from louver.server.request import Next, Request

# Prefix of the loggers for the standard error of upstreams; the upstream's name follows.
UPSTREAMS: Final = "louver.upstream."


@dataclass(frozen=True, slots=True)
class State:
    """The state of an upstream, for `louver serve` and `louver check`."""

    name: str
    transport: str
    version: str | None  # protocol revision; `None` without a session
    tools: list[dict[str, Any]]
    problem: str | None = None  # why there is no session
    projectable: int = 0  # tools with an output schema, from their server or from a file


async def _unanswered(request: Request) -> dict[str, Any]:
    raise MCPError(METHOD_NOT_FOUND, "Method not found", request.method)


class Gateway:
    """The upstreams, and the MCP server in front of them."""

    def __init__(
        self,
        config: Config,
        *,
        serves_one: bool,  # one client, over stdio: upstreams are opened with its identity
        exposure: Exposure | None = None,  # overrides the configuration
        execute: bool | None = None,  # overrides the configuration
        ready_views: bool = False,  # every upstream gets shipped views
        opened: Callable[[], None] = lambda: None,  # called when a client has opened the gateway
        changes: bool = False,  # a reload may come: announce that lists can change
        identity: Identity = ANONYMOUS,  # of clients without a token
    ) -> None:
        self._serves_one = serves_one
        self._exposure: Exposure | None = exposure
        self._execute = execute
        self._ready_views = ready_views
        self._changes = changes
        self._parked = Parked()
        self._bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self._bus)
        self._onlookers = Onlookers(self._told)
        self.upstreams: dict[str, Upstream] = {}
        # Includes upstreams that a reload removed: they may return, with the clients that they served.
        self._known: dict[str, Upstream] = {}
        self.server: Server[Any] = Server("louver", version=__version__, on_subscriptions_listen=self.listening)
        # Without the SDK's own, whose spans hold the messages of errors.
        self.server.middleware[:] = [StepMiddleware([self.answer], identity)]
        self._stack = Stack(
            self.server.server_info_stamp,
            partial(on_tools_published, self.server),
            self._use_schemas,
            opened,
            self._leave,
        )
        self.find_schema: FindSchema | None = None  # tool name -> input schema, once tools were listed
        self._learned: dict[Path, LearnedFields] = {}
        self._audit: Audit | None = None
        self._audited: Audited | None = None
        self._config = Config(())
        self._lay_out(config)

    async def answer(self, request: Request, call_next: Next = _unanswered) -> dict[str, Any]:
        """The result for a message of a client; what belongs to its connection goes to `call_next`."""
        return await in_order(self._stack.steps, call_next)(request)

    def _use_schemas(self, find: FindSchema | None) -> None:
        # Without it the SDK lists all tools on every call of 2026-07-28 over HTTP.
        self.server.get_tool_input_schema = self.find_schema = find

    async def open(self) -> list[State]:
        """Open all available upstreams and report their states."""
        states = await asyncio.gather(*map(self._state, self._config.upstreams))
        if self._stack.scripts is not None:
            await self._stack.scripts.are_ready()
        return states

    def discovery(self) -> DiscoveryService:
        """Discovery for the gateway itself: unprojected, and without a client that upstreams could ask."""
        from louver.gateway.discovery.behind import Behind
        from louver.gateway.discovery.service import DiscoveryService

        itself = _itself()

        async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            return await self._routes.answer(itself, method, enveloped(params, GATEWAY.envelope))

        return DiscoveryService(Behind(self.upstreams, itself.client, ask))

    async def call(self, upstream: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool, by its upstream's name for it, as the gateway itself; the answer is not projected."""
        itself = _itself()
        said = {"name": tool, "arguments": dict(arguments)}
        return await self._calls.ask(self.upstreams[upstream], itself, "tools/call", enveloped(said, GATEWAY.envelope))

    async def change(self, config: Config) -> None:
        """Switch to another configuration; upstreams that it leaves unchanged keep their sessions."""
        clients = {client for upstream in self._known.values() for client in upstream.clients}
        gone = self._lay_out(config)
        await self._ended(*gone)
        for change in sorted(CHANGES):
            await self._told(change, None)
            for client in clients:
                client.hear(change, None)

    async def end(self) -> None:
        """End all upstreams and cancel pending calls; a second call waits for the same end."""
        self._parked.close()
        for upstream in self._known.values():
            upstream.give_up()
        await self._ended(*([] if self._stack.scripts is None else [self._stack.scripts]))

    async def close(self) -> None:
        """End all upstreams, then close the audit log."""
        await self.end()
        if self._audit is not None:
            self._audit.close()

    def views_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        return sorted(self._files.views.entry(self._named(upstream, tool), None).views.named)

    def is_declared(self, upstream: str, tool: dict[str, Any]) -> bool:
        """Whether a tool has an output schema, from its server or from a file."""
        return tool.get("outputSchema") is not None or self._schema_file(upstream, tool) is not None

    def problems_of(self, state: State) -> list[str]:
        """Problems of an upstream's guidance, views, schemas, descriptions and policy."""
        problems: list[str] = []
        if state.problem is None:
            problems += self._files.misfits(state.name, {tool["name"] for tool in state.tools})
            policy = next((each.policy for each in self._config.upstreams if each.name == state.name), None)
            problems += [] if policy is None else policy.misfits(state.tools)
        for tool in state.tools:
            file = self._schema_file(state.name, tool)
            if file is not None and tool.get("outputSchema") is not None:
                declares = f"tool {tool['name']!r} declares its output itself"
                problems.append(f"{declares}: that counts, and {file.path.name!r} is not used")
            try:
                self._files.views.check(self._named(state.name, tool))
            except InvalidView as error:
                problems.append(error.message)
        return [f"{state.name}: {problem}" for problem in problems]

    async def _ended(self, *gone: Scripts) -> None:
        """Wait until closed sessions have ended, and close scripts."""
        await asyncio.gather(*(each.ended() for each in self._known.values()), *(each.close() for each in gone))

    def _schema_file(self, upstream: str, tool: dict[str, Any]) -> SchemaFile | None:
        return self._files.schemas.find(self._named(upstream, tool)["name"])

    def _named(self, upstream: str, tool: dict[str, Any]) -> dict[str, Any]:
        """The tool under the name that clients see."""
        return tool if len(self.upstreams) == 1 else {**tool, "name": f"{upstream}{SEPARATOR}{tool['name']}"}

    def _lay_out(self, config: Config) -> list[Scripts]:
        """Apply a configuration and return the scripts that it replaces; if it raises, nothing has changed."""
        config = self._chosen(config)
        files = Files(config, self._says, self._learned)
        kept = self._stack.kept_for(config)
        audit = self._audit_for(config.audit)
        self._take_up(config)
        self._files = files
        self._calls = Calls(self._parked, {name: upstream.guard for name, upstream in self.upstreams.items()})
        places = {each.name: each.place for each in config.upstreams}
        only = next(iter(self.upstreams.values())) if len(self.upstreams) == 1 else None
        self._onlookers.are_told = only is None
        self._routes = (
            Many(self.upstreams, self._calls, places, self._onlookers)
            if only is None
            else One(only, self._calls, places, changes=self._changes)
        )
        return self._stack.build(config, files, kept, self.upstreams, self._routes, audit)

    def _audit_for(self, wanted: Audited | None) -> Audit | None:
        """The audit log that a configuration wants; an open one is reused."""
        if wanted != self._audited:
            audit = None if wanted is None else _audit(wanted)
            if self._audit is not None:
                self._audit.close()
            self._audit, self._audited = audit, wanted
        return self._audit

    def _chosen(self, config: Config) -> Config:
        """The configuration with the constructor's overrides."""
        exposure = self._exposure or config.exposure
        check_choice("listing", config.listing, get_args(Listing))
        check_choice("exposure", exposure, get_args(Exposure))
        execute = config.execute or ("strict" if exposure == "discovery" else "off")
        check_choice("execute", execute, get_args(Execute))
        if self._execute is not None:
            execute = "off" if not self._execute else "strict" if execute == "off" else execute
        upstreams = config.upstreams
        if self._ready_views:
            upstreams = tuple(replace(each, ready_views=True) for each in upstreams)
        return replace(config, upstreams=upstreams, exposure=exposure, execute=execute)

    def _says(self, upstream: str) -> str | None:
        """The name in an upstream's `serverInfo`, once it has been opened."""
        known = self.upstreams.get(upstream)
        return None if known is None else known.says

    def _take_up(self, config: Config) -> None:
        """Set the upstreams; sessions of changed and removed ones end."""
        before = {each.name: each for each in self._config.upstreams}
        changed = {each.name: self._terms(each) for each in config.upstreams if before.get(each.name) != each}
        for name in before.keys() - {each.name for each in config.upstreams}:
            self._known[name].give_up()
        opened_as = next((upstream.opened_as for upstream in self._known.values()), GATEWAY)
        for name, terms in changed.items():
            if name in self._known:
                self._known[name].change(terms)
            else:
                self._known[name] = Upstream(
                    name,
                    terms,
                    opened_as=opened_as,
                    serves_one=self._serves_one,
                    told=self._told,
                    onlookers=self._onlookers,
                )
        self._config = config
        self.upstreams = {each.name: self._known[each.name] for each in config.upstreams}

    def _terms(self, each: model.Upstream) -> Terms:
        return Terms(
            partial(_link, each),
            each.timeout_seconds,
            isolated=each.isolation == "session" if each.isolation is not None else not self._serves_one,
            per_era=each.transport == "http",
            on_change=each.on_change,
            guard=None if each.policy is None else _guard(each.name, each.policy),
        )

    async def _leave(self, client: Client) -> None:
        """Remove a client from all upstreams, also from those that a reload removed."""
        await asyncio.gather(*(upstream.leave(client) for upstream in self._known.values()))

    async def _told(self, method: str, params: Params) -> None:
        """Publish a change to 2026-07-28 clients; sessions notify handshake clients themselves."""
        event = event_from_wire(method, params)
        if event is not None:
            await self._bus.publish(event)

    async def _state(self, each: model.Upstream) -> State:
        version, has_tools = None, True
        # Looked up first: a reload may remove the name while this waits.
        upstream = self.upstreams[each.name]
        await upstream.resume()
        try:
            session = await upstream.session()
            version, has_tools = session.opened.version, session.opened.has_tools
            tools = await session.tools()
            projectable = sum(self.is_declared(each.name, tool) for tool in tools)
            return State(each.name, each.transport, version, tools, projectable=projectable)
        except LouverError as error:
            return State(each.name, each.transport, version, [], upstream.problem or error.message)
        except MCPError as error:
            # A server without tools may not know `tools/list`. The text of other errors is not repeated.
            is_none = not has_tools and error.error.code == METHOD_NOT_FOUND
            problem = None if is_none else f"'tools/list' fails with {error.error.code}"
            return State(each.name, each.transport, version, [], problem)


def _itself() -> Itself:
    return Itself(Client(GATEWAY.version, GATEWAY))


def _link(each: model.Upstream, listener: Listener) -> Link:
    if each.policy is None or "logging" in each.policy.lets:
        told = logging.getLogger(f"{UPSTREAMS}{each.name}")
    else:
        # The policy cannot filter standard error: it goes to a disabled logger that no logging configuration reaches.
        told = logging.Logger(each.name)
        told.disabled = True
    # Lazy imports: each transport only where it is used.
    if each.transport == "http":
        from louver.gateway.transports.http import HttpLink

        return HttpLink(each.url, headers=each.headers, listener=listener, logger=told)
    from louver.gateway.transports.stdio import StdioLink

    return StdioLink(each.command, env=each.env, cwd=each.cwd, listener=listener, logger=told)


def _audit(wanted: Audited) -> Audit:
    # Lazy import: only an audit needs SQLite.
    from louver.server.audit.writer import Audit

    return Audit(wanted.file, wanted.retention_days)


def _guard(server: str, policy: Policy) -> Guard:
    # Lazy import: only policies need it.
    from louver.gateway.upstream.policy_guard import Guard
    from louver.server.policy.enforcer import Policed

    return Guard(Policed(server, policy))
