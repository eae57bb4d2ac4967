"""The gateway: a server of the SDK that has nothing of its own, and upstreams behind it.

::

    client ── disclosure ── projection ── spans ── forward ── routes ── calls ── session ── link ── upstream
                     louver.server         SDK     `Forward`  `One`, `Many`
"""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import event_from_wire
from mcp_types import METHOD_NOT_FOUND

from louver import __version__
from louver.catalogue.descriptions import DescriptionFiles
from louver.catalogue.grants import Grants
from louver.errors import InvalidView, LouverError
from louver.gateway.calls import Calls
from louver.gateway.config import Config
from louver.gateway.forward import Forward
from louver.gateway.http import HttpLink
from louver.gateway.lists import CHANGES
from louver.gateway.many import SEPARATOR, Many, named
from louver.gateway.routes import One
from louver.gateway.stdio import StdioLink
from louver.gateway.upstream import GATEWAY, Upstream
from louver.limits import MAX_INTEGER_DIGITS
from louver.server.asked import Asking
from louver.server.attach import install
from louver.server.disclosure import Disclosure
from louver.server.reads import Reads
from louver.server.views import ToolViews

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway import config
    from louver.gateway.link import Link, Listener, Params
    from louver.server.search import Search

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
    """

    name: str
    transport: str
    version: str | None
    tools: list[dict[str, Any]]
    problem: str | None = None


def _nothing() -> None:
    pass


class Gateway:
    """Upstreams, and the server that stands before them.

    Args:
        config: The configuration.
        serves_one: Whether there is one client, over stdio: then upstreams are opened as that client.
        exposure: How tools are listed, whatever the configuration says.
        opened: Called when a client has opened the gateway.
    """

    def __init__(
        self,
        config: Config,
        *,
        serves_one: bool,
        exposure: config.Exposure | None = None,
        opened: Callable[[], None] = _nothing,
    ) -> None:
        # Integers are sent on whatever their size, and Python writes none of more than 4,300 digits by itself.
        sys.set_int_max_str_digits(MAX_INTEGER_DIGITS)
        self._serves_one = serves_one
        self._exposure = exposure
        self._opened = opened
        self._calls = Calls()
        self._bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self._bus)
        self.upstreams: dict[str, Upstream] = {}
        self.server: Server[Any] = Server("louver", version=__version__, on_subscriptions_listen=self.listening)
        self._tracing = list(self.server.middleware)
        self._config = Config(())
        self._grants = Grants(audience="louver")
        self._disclosure: Disclosure | None = None
        self._lay_out(config)

    async def open(self) -> list[State]:
        """Open all upstreams, as far as they are there, and tell what they are."""
        return await asyncio.gather(*map(self._state, self._config.upstreams))

    async def change(self, config: Config) -> None:
        """Serve another configuration from now on; a server that is the same in it is left alone."""
        clients = {client for upstream in self.upstreams.values() for client in upstream.clients}
        gone = self._lay_out(config)
        await asyncio.gather(*(upstream.close() for upstream in gone))
        for change in sorted(CHANGES):
            await self._told(change, None)
            for client in clients:
                client.hear(change, None)

    async def close(self) -> None:
        """End all upstreams."""
        self._calls.close()
        await asyncio.gather(*(upstream.close() for upstream in self.upstreams.values()))

    def views_of(self, upstream: str, tool: dict[str, Any]) -> list[str]:
        """The names of a tool's views."""
        return sorted(self._views.entry(self._named(upstream, tool), None).views.named)

    def problems_of(self, state: State) -> list[str]:
        """What is wrong with the views of an upstream's tools."""
        problems: list[str] = []
        for tool in state.tools:
            try:
                self._views.check(self._named(state.name, tool))
            except InvalidView as error:
                problems.append(f"{state.name}: {error.message}")
        return problems

    def _named(self, upstream: str, tool: dict[str, Any]) -> dict[str, Any]:
        """The tool as clients see it named."""
        return tool if len(self.upstreams) == 1 else {**tool, "name": f"{upstream}{SEPARATOR}{tool['name']}"}

    def _lay_out(self, config: Config) -> list[Upstream]:
        """Put everything in its place; the upstreams that have none any more.

        Raises:
            InvalidView: A file of views is wrong; nothing has changed then.
            InvalidDescription: Likewise, one of descriptions.
        """
        alone = len(config.upstreams) == 1
        prefixes = {each.name: "" if alone else f"{each.name}{SEPARATOR}" for each in config.upstreams}
        defaults = {
            f"{prefixes[each.name]}{tool}": view
            for each in config.upstreams
            for tool, view in each.default_views.items()
        }
        folders = {prefixes[each.name]: each.views for each in config.upstreams if each.views is not None}
        described = {
            prefixes[each.name]: each.descriptions for each in config.upstreams if each.descriptions is not None
        }
        views, files = ToolViews(None, defaults, folders), DescriptionFiles(described)
        gone = self._take_up(config)
        self._views = views
        routes = One(next(iter(self.upstreams.values())), self._calls) if alone else Many(self.upstreams, self._calls)
        forward = Forward(routes, self._opened, argument=config.argument != "off")
        self.server.middleware[:] = [*self._tracing, forward]
        # Made anew from what is listed.
        self.server.get_tool_input_schema = None
        asking = Asking(config.argument, defaults)
        if self._disclosure is not None:
            self._disclosure.close()
            self._disclosure = None
        if (self._exposure or config.exposure) == "minimal":
            install(self.server, views, asking, config.listing, exact=True, search=_search(alone=alone))
            self._disclosure = Disclosure(self.server, files, self._grants, Reads())
            self.server.middleware.insert(0, self._disclosure)
        else:
            install(self.server, views, asking, config.listing)
        return gone

    def _take_up(self, config: Config) -> list[Upstream]:
        """Have the upstreams and keys of a configuration from now on; the upstreams that are no more in it."""
        if config.grant_keys != self._config.grant_keys:
            self._grants = Grants(config.grant_keys, audience="louver")
        before = {each.name: each for each in self._config.upstreams}
        known, self._config = self.upstreams, config
        self.upstreams = {
            each.name: known[each.name] if before.get(each.name) == each else self._upstream(each)
            for each in config.upstreams
        }
        return [upstream for upstream in known.values() if upstream not in self.upstreams.values()]

    def _upstream(self, each: config.Upstream) -> Upstream:
        isolated = each.isolation == "session" if each.isolation is not None else not self._serves_one
        return Upstream(
            each.name,
            partial(_link, each),
            timeout_s=each.timeout_seconds,
            isolated=isolated,
            per_era=each.transport == "http",
            hello=None if self._serves_one else GATEWAY,
            told=self._told,
        )

    async def _told(self, method: str, params: Params) -> None:
        """Tell clients of 2026-07-28 what has changed; those of the handshake era are told by the session."""
        event = event_from_wire(method, params)
        if event is not None:
            await self._bus.publish(event)

    async def _state(self, each: config.Upstream) -> State:
        version = None
        try:
            session = await self.upstreams[each.name].session()
            version = session.opened.version
            return State(each.name, each.transport, version, await session.tools())
        except LouverError as error:
            return State(each.name, each.transport, version, [], self.upstreams[each.name].problem or error.message)
        except MCPError as error:
            # A server may have no tools, and then no list of them. What else it says is not repeated.
            problem = None if error.error.code == METHOD_NOT_FOUND else f"'tools/list' fails with {error.error.code}"
            return State(each.name, each.transport, version, [], problem)


def _search(*, alone: bool) -> Search:
    # Imported only now: without search SQLite is not needed.
    from louver.server.search import Search

    return Search() if alone else Search(named)


def _link(each: config.Upstream, listener: Listener) -> Link:
    told = logging.getLogger(f"{UPSTREAMS}{each.name}")
    if each.transport == "http":
        return HttpLink(each.url, headers=each.headers, listener=listener, logger=told)
    return StdioLink(each.command, env=each.env, cwd=each.cwd, listener=listener, logger=told)
