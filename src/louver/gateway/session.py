"""A session: one connection to an upstream that has agreed on a protocol revision.

It knows who is served over it, so that what the upstream says unasked reaches them::

    call        the request, with who asks put in where the era wants that, and a deadline
    heard       a list has changed: what was kept is forgotten, and every client is told
    asked       a question that no call tells for whom it is: to the one client that it can be for

A deadline counts from the last that was heard of the upstream, and stands still while a client is asked.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp_types import INVALID_REQUEST, LOG_LEVEL_META_KEY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from louver.core.json import members
from louver.errors import UpstreamError
from louver.gateway.changes import ACKNOWLEDGED, ENDED, Changes
from louver.gateway.eras import enveloped, is_modern, without_envelope
from louver.gateway.link import Call, unasked, unheard
from louver.gateway.lists import CHANGES, Lists, without_bad_tools
from louver.gateway.negotiation import Hello, Opened, negotiate
from louver.gateway.patience import Patience
from louver.gateway.storms import Storms
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients import Caller, Client
    from louver.gateway.link import Link, Listener, Params

logger = logging.getLogger(__name__)


class Session:
    """One connection.

    Args:
        link: Makes the link, given who hears what is said over it.
        hello: What the upstream is told of who connects.
        timeout_s: How long the upstream may be silent while it is called.
        told: Gets every notification that no call belongs to.
        ended: Called when the connection ends by itself, with the reason.
        listed: Gets the tools that were listed.
    """

    def __init__(
        self,
        link: Callable[[Listener], Link],
        hello: Hello,
        timeout_s: float,
        told: Callable[[str, Params], Awaitable[None]],
        ended: Callable[[Session, str], None],
        listed: Callable[[list[dict[str, Any]]], None],
    ) -> None:
        self.audience: set[Client] = set()
        self.lists = Lists()
        self._make_link = link
        self._link = link(self)
        self._hello = hello
        self._timeout_s = timeout_s
        self._told = told
        self._ended = ended
        self._listed = listed
        self._turns: list[Caller] = []
        self._opened: Opened | None = None
        self._changes: Changes | None = None
        self._watchers: dict[str, set[Client]] = {}
        self._storms = Storms(self._tell, logger)

    @property
    def opened(self) -> Opened:
        """What was agreed when it was opened."""
        assert self._opened is not None, "a session is used once it is open"
        return self._opened

    @property
    def is_modern(self) -> bool:
        """Whether it is of the stateless era."""
        return is_modern(self.opened.version)

    async def open(self) -> None:
        """Connect and agree.

        Raises:
            MCPError: The upstream speaks no revision that we do.
            UpstreamError: It is not there, or does not answer.
        """
        try:
            self._opened = await self._negotiated(self._hello)
        except MCPError as refused:
            if refused.error.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # Some servers settle on the era of the first request that they get, for the whole connection.
            self._link = self._make_link(self)
            other = LATEST_HANDSHAKE_VERSION if is_modern(self._hello.version) else LATEST_MODERN_VERSION
            self._opened = await self._negotiated(replace(self._hello, version=other))
        if self.is_modern:
            self._changes = Changes(self._link, self._hello.envelope, self._changes_told(), self._changed)
        else:
            self.lists.told_of = self._changes_told()

    async def _negotiated(self, hello: Hello) -> Opened:
        try:
            await self._link.open()
            return await negotiate(self._link, hello)
        except BaseException:
            await self._link.close()
            raise

    async def close(self) -> None:
        """End the connection."""
        if self._changes is not None:
            self._changes.stop()
        await self._storms.close()
        await self._link.close()

    async def call(self, turn: Caller, method: str, params: Params) -> dict[str, Any]:
        """The upstream's answer to a request of a client, in the session's era.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        if (kept := self.lists.find(method, params)) is not None:
            return kept
        state = self.lists.state
        if not self.is_modern:
            params = without_envelope(params)
        elif not turn.client.is_modern:
            params = enveloped(params, self._envelope(turn.client))
        headers = await self._parameter_headers(method, params)
        self._turns.append(turn)
        try:
            result = await self._answer(Call(method, params, turn.heard, turn.asked, headers, turn.paused))
        finally:
            self._turns.remove(turn)
        return self._kept(method, params, result, state)

    async def tools(self) -> list[dict[str, Any]]:
        """All tools, of all pages, as the gateway itself sees them.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        return [tool async for page in pages(self._tools_page) for tool in page["tools"]]

    async def watch(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        """Subscribe a client to a resource.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        uri = params["uri"]
        result: dict[str, Any] = {}
        if self._changes is not None:
            self._changes.watch({*self._watchers, uri})
        elif uri not in self._watchers:
            result = await self.call(turn, "resources/subscribe", params)
        self._watchers.setdefault(uri, set()).add(turn.client)
        turn.client.watched.add(uri)
        return result

    async def unwatch(self, turn: Caller, params: dict[str, Any]) -> dict[str, Any]:
        """Likewise, subscribe it no more.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        uri = params["uri"]
        turn.client.watched.discard(uri)
        if not self._is_left(turn.client, uri):
            return {}
        if self._changes is None:
            return await self.call(turn, "resources/unsubscribe", params)
        self._changes.watch(set(self._watchers))
        return {}

    async def leave(self, client: Client) -> None:
        """A client has gone: the upstream need not tell what it alone has watched."""
        self.audience.discard(client)
        left = [uri for uri in client.watched if self._is_left(client, uri)]
        if left and self._changes is not None:
            self._changes.watch(set(self._watchers))
            return
        for uri in left:
            with suppress(MCPError, UpstreamError):
                await self._answer(Call("resources/unsubscribe", {"uri": uri}, unheard, unasked))

    async def notify(self, method: str, params: Params) -> None:
        """Send a client's notification.

        Raises:
            UpstreamUnavailable: The connection has ended.
        """
        await self._link.notify(method, params)

    async def heard(self, method: str, params: Params) -> None:
        """What the upstream says that no call belongs to."""
        if method in CHANGES:
            self.lists.forget(method)
            await self._storms.put(method, params)
        else:
            await self._tell(method, params)

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """What the upstream asks, though no call tells whom.

        Raises:
            MCPError: The client answers with an error, or there is not just one that can be meant.
        """
        if method == "ping":
            return {}
        if (turn := self._turn()) is not None:
            return await turn.asked(method, params)
        if len(self.audience) == 1 and not self._turns:
            return await next(iter(self.audience)).ask(method, params)
        logger.warning("a question of the upstream is refused: several clients could be meant, or none")
        raise MCPError(code=INVALID_REQUEST, message="the gateway cannot tell which client is asked")

    def gone(self, reason: str) -> None:
        """The connection has ended by itself."""
        self._ended(self, reason)

    async def _tell(self, method: str, params: Params) -> None:
        await self._told(method, params)
        if method == "notifications/message" and (turn := self._turn()) is not None:
            await turn.heard(method, params)
            return
        for client in list(self.audience):
            if client.takes(method, params):
                await client.hear(method, params)

    def _turn(self) -> Caller | None:
        """The request that something unattributed belongs to, if all that are open are of one client."""
        clients = {id(turn.client) for turn in self._turns}
        return self._turns[-1] if len(clients) == 1 else None

    def _is_left(self, client: Client, uri: str) -> bool:
        """Whether nobody watches a resource any more, now that this client does not."""
        watchers = self._watchers.get(uri, set())
        watchers.discard(client)
        if not watchers:
            self._watchers.pop(uri, None)
        return not watchers

    def _envelope(self, client: Client) -> dict[str, Any]:
        level = {} if client.log_level is None else {LOG_LEVEL_META_KEY: client.log_level}
        return {**client.hello.envelope, **level}

    async def _answer(self, call: Call) -> dict[str, Any]:
        return await Patience(self._timeout_s).wait(call, self._link.call)

    async def _parameter_headers(self, method: str, params: Params) -> dict[str, str]:
        """What 2026-07-28 repeats of a call's arguments in headers, as the tool's schema says."""
        arguments = (params or {}).get("arguments")
        if method != "tools/call" or not self.is_modern or not arguments or not self._link.wants_headers:
            return {}
        name = (params or {}).get("name")
        tool = next((tool for tool in await self._known_tools() if tool["name"] == name), None)
        if tool is None or find_invalid_x_mcp_header(tool["inputSchema"]) is not None:
            return {}
        return mcp_param_headers(x_mcp_header_map(tool["inputSchema"]), arguments)

    def _kept(self, method: str, params: Params, result: dict[str, Any], state: int) -> dict[str, Any]:
        """The answer to a request, kept if it is a list that may be."""
        if method == "tools/list":
            result = without_bad_tools(result)
            self._listed(result["tools"])
        self.lists.keep(method, params, result, state)
        return result

    async def _tools_page(self, place: dict[str, Any]) -> dict[str, Any]:
        if (page := self.lists.find("tools/list", place)) is not None:
            return page
        state = self.lists.state
        said = enveloped(place, self._hello.envelope) if self.is_modern else place
        return self._kept("tools/list", place, await self._answer(Call("tools/list", said, unheard, unasked)), state)

    async def _known_tools(self) -> list[dict[str, Any]]:
        try:
            return await self.tools()
        except (MCPError, UpstreamError):
            return []

    async def _changed(self, method: str, params: Params) -> None:
        """What the upstream says in the stream that it keeps open for changes."""
        if method == ACKNOWLEDGED:
            said = members((params or {}).get("notifications"))
            self.lists.told_of = frozenset(name for name in self._changes_told() if said.get(f"{name}ListChanged"))
        elif method == ENDED:
            self.lists.told_of = frozenset()
            for change in CHANGES:
                self.lists.forget(change)
        else:
            await self.heard(method, params)

    def _changes_told(self) -> frozenset[str]:
        said = members(self.opened.opening.get("capabilities"))
        return frozenset(name for name, what in said.items() if members(what).get("listChanged") is True)
