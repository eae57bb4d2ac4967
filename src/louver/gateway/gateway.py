"""The gateway: a server of the SDK that has nothing of its own, and upstreams behind it.

::

    client ── stack ── routes ── calls ── session ── link ── upstream
                      `One`, `Many`
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
from louver.gateway.upstream.settings import Terms
from louver.gateway.upstream.upstream import Upstream
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
    from louver.gateway.transports.transport import Link, Listener
    from louver.gateway.upstream.policy_guard import Guard
    from louver.jsonrpc.codec import Params
    from louver.server.audit.writer import Audit

UPSTREAMS: Final = "louver.upstream."
"""The loggers of what upstreams write to their standard error begin so; then comes the upstream's name."""


@dataclass(frozen=True, slots=True)
class State:
    """What `louver serve` and `louver check` tell of an upstream.

    Args:
        name: Its name.
        transport: `stdio` or `http`.
        version: The protocol revision that was agreed on, if there is a session.
        tools: Its tools, as it lists them.
        problem: Why there is no session.
        projectable: How many of them have an output that is declared, by them or by a file.
    """

    name: str
    transport: str
    version: str | None
    tools: list[dict[str, Any]]
    problem: str | None = None
    projectable: int = 0


def _nothing() -> None:
    pass


class Gateway:
    """Upstreams, and the server that stands before them.

    Args:
        config: The configuration.
        serves_one: Whether there is one client, over stdio: then upstreams are opened as that client.
        exposure: How tools are listed, whatever the configuration says.
        execute: Whether there are scripts, likewise.
        ready_views: Whether all servers get ready views; if not, those that the configuration says.
        opened: Called when a client has opened the gateway.
        changes: Whether clients are told that lists can change, for there may be another configuration.
    """

    def __init__(
        self,
        config: Config,
        *,
        serves_one: bool,
        exposure: Exposure | None = None,
        execute: bool | None = None,
        ready_views: bool = False,
        opened: Callable[[], None] = _nothing,
        changes: bool = False,
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
        # Also those that a change has taken out: they may come again, for those whom they have served.
        self._known: dict[str, Upstream] = {}
        self.server: Server[Any] = Server("louver", version=__version__, on_subscriptions_listen=self.listening)
        self._stack = Stack(self.server, opened, self._leave)
        self._learned: dict[Path, LearnedFields] = {}
        self._audit: Audit | None = None
        self._audited: Audited | None = None
        self._config = Config(())
        self._lay_out(config)

    async def open(self) -> list[State]:
        """Open all upstreams, as far as they are there, and tell what they are."""
        states = await asyncio.gather(*map(self._state, self._config.upstreams))
        if self._stack.scripts is not None:
            await self._stack.scripts.are_ready()
        return states

    def discovery(self) -> DiscoveryService:
        """What stands behind the gateway, for the gateway itself: not projected, and with nobody to be asked."""
        # Imported only now: it knows of scripts, of which most gateways need nothing.
        from louver.gateway.discovery.behind import Behind
        from louver.gateway.discovery.service import DiscoveryService

        itself = _itself()

        async def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
            return await self._routes.answer(itself, method, enveloped(params, GATEWAY.envelope))

        return DiscoveryService(Behind(self.upstreams, itself.client, ask))

    async def call(self, upstream: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What a tool of an upstream answers to the gateway itself, as it is, likewise.

        Args:
            upstream: The upstream's name.
            tool: The upstream's own name of the tool.
            arguments: Of the call.

        Raises:
            MCPError: It is an error.
            UpstreamError: The upstream does not answer as it should.
        """
        itself = _itself()
        said = {"name": tool, "arguments": dict(arguments)}
        return await self._calls.ask(self.upstreams[upstream], itself, "tools/call", enveloped(said, GATEWAY.envelope))

    async def change(self, config: Config) -> None:
        """Serve another configuration from now on; a server that is the same in it is left alone."""
        clients = {client for upstream in self._known.values() for client in upstream.clients}
        gone = self._lay_out(config)
        await self._ended(*gone)
        for change in sorted(CHANGES):
            await self._told(change, None)
            for client in clients:
                client.hear(change, None)

    async def end(self) -> None:
        """End all upstreams; calls are answered by none of them any more. A second time, wait for that."""
        self._parked.close()
        for upstream in self._known.values():
            upstream.give_up()
        await self._ended(*([] if self._stack.scripts is None else [self._stack.scripts]))

    async def close(self) -> None:
        """Likewise, and end what is written beside: calls are over."""
        await self.end()
        if self._audit is not None:
            self._audit.close()

    def views_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        """The names of a tool's views."""
        return sorted(self._files.views.entry(self._named(upstream, tool), None).views.named)

    def is_declared(self, upstream: str, tool: dict[str, Any]) -> bool:
        """Whether a tool's output is declared, by its server or by a file."""
        return tool.get("outputSchema") is not None or self._schema_file(upstream, tool) is not None

    def problems_of(self, state: State) -> list[str]:
        """What is wrong with what is said of an upstream's tools: views, schemas, descriptions, rules, a policy."""
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
        """Wait for the end of what upstreams have no more, and end scripts."""
        await asyncio.gather(*(each.ended() for each in self._known.values()), *(each.close() for each in gone))

    def _schema_file(self, upstream: str, tool: dict[str, Any]) -> SchemaFile | None:
        return self._files.schemas.find(self._named(upstream, tool)["name"])

    def _named(self, upstream: str, tool: dict[str, Any]) -> dict[str, Any]:
        """The tool as clients see it named."""
        return tool if len(self.upstreams) == 1 else {**tool, "name": f"{upstream}{SEPARATOR}{tool['name']}"}

    def _lay_out(self, config: Config) -> list[Scripts]:
        """Put everything in its place; the scripts that have none any more.

        Raises:
            InvalidView: A file of views is wrong; nothing has changed then.
            InvalidSchema: Likewise, one of an output schema.
            InvalidDescription: Likewise, one of descriptions.
            LouverError: Results cannot be kept, or audit records written, where they should be, or a key for grants is
                too short; likewise.
        """
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
        """Where records are written: the file that is open, if that is what a configuration wants.

        Raises:
            AuditFailed: It cannot be written.
        """
        if wanted != self._audited:
            audit = None if wanted is None else _audit(wanted)
            if self._audit is not None:
                self._audit.close()
            self._audit, self._audited = audit, wanted
        return self._audit

    def _chosen(self, config: Config) -> Config:
        """The configuration with what was chosen whatever it says.

        Raises:
            LouverError: There is no such listing or exposure, or no such way to run scripts.
        """
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
        """What an upstream says itself that it is called, once it was opened."""
        known = self.upstreams.get(upstream)
        return None if known is None else known.says

    def _take_up(self, config: Config) -> None:
        """Have the upstreams of a configuration from now on; sessions that it does not leave alone end."""
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
        """A client has gone, which may want to be told something by an upstream that is taken out."""
        await asyncio.gather(*(upstream.leave(client) for upstream in self._known.values()))

    async def _told(self, method: str, params: Params) -> None:
        """Tell clients of 2026-07-28 what has changed; those of the handshake era are told by the session."""
        event = event_from_wire(method, params)
        if event is not None:
            await self._bus.publish(event)

    async def _state(self, each: model.Upstream) -> State:
        version, has_tools = None, True
        # None of this name may be configured any more once it has answered.
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
            # A server may have no tools, and then no list of them. What else it says is not repeated.
            is_none = not has_tools and error.error.code == METHOD_NOT_FOUND
            problem = None if is_none else f"'tools/list' fails with {error.error.code}"
            return State(each.name, each.transport, version, [], problem)


def _itself() -> Itself:
    return Itself(Client(GATEWAY.version, GATEWAY))


def _link(each: model.Upstream, listener: Listener) -> Link:
    if each.policy is None or "logging" in each.policy.lets:
        told = logging.getLogger(f"{UPSTREAMS}{each.name}")
    else:
        # What it writes there is not looked into, so it may hold anything: nobody reads it, whatever changes later.
        told = logging.Logger(each.name)
        told.disabled = True
    # Each is imported only where a server is reached so.
    if each.transport == "http":
        from louver.gateway.transports.http import HttpLink

        return HttpLink(each.url, headers=each.headers, listener=listener, logger=told)
    from louver.gateway.transports.stdio import StdioLink

    return StdioLink(each.command, env=each.env, cwd=each.cwd, listener=listener, logger=told)


def _audit(wanted: Audited) -> Audit:
    # Imported only now: without an audit SQLite is not needed.
    from louver.server.audit.writer import Audit

    return Audit(wanted.file, wanted.retention_days)


def _guard(server: str, policy: Policy) -> Guard:
    # Likewise: without a policy nothing is guarded.
    from louver.gateway.upstream.policy_guard import Guard
    from louver.server.policy.enforcer import Policed

    return Guard(Policed(server, policy))
