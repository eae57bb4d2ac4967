"""A session: one connection to an upstream with an agreed protocol revision.

    call        send a client's request, with the identity that the revision needs and a timeout
    heard       a list has changed: drop it from the cache and notify the clients
    asked       a request that names no call: pass it to the only client that can be meant

Subscriptions and log levels are in `subscriptions.py`.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import HEADER_MISMATCH, INVALID_REQUEST, LOG_LEVEL_META_KEY, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION

from louver.concurrency.background import Tasks
from louver.core.json import members
from louver.errors import ToolChanged, UpstreamUnavailable
from louver.gateway.clients.revisions import enveloped, is_modern, without_envelope
from louver.gateway.transports.transport import Call, unasked, unheard
from louver.gateway.upstream.change_stream import ACKNOWLEDGED, ENDED, Changes
from louver.gateway.upstream.header_params import Parameters, wanted_by
from louver.gateway.upstream.in_flight import Turns
from louver.gateway.upstream.list_cache import CHANGES, TOOLS_CHANGED, Lists, without_bad_tools
from louver.gateway.upstream.negotiation import Hello, Opened, negotiate
from louver.gateway.upstream.notifications import Telling
from louver.gateway.upstream.result_checks import checked
from louver.gateway.upstream.subscriptions import Subscriptions
from louver.gateway.upstream.timeouts import Patience, deadlines_of
from louver.limits import MAX_LOG_LINE, OPENING_TIMEOUT_S, PARKED_S, STAYED_S
from louver.server.wire import pages

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from louver.gateway.clients.client import Caller, Client
    from louver.gateway.transports.transport import Link, Listener
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.subscribers import Audience
    from louver.gateway.upstream.tool_pins import Definitions
    from louver.jsonrpc.codec import Params

logger = logging.getLogger(__name__)


class Session:
    def __init__(
        self,
        name: str,
        link: Callable[[Listener], Link],  # makes the transport
        hello: Hello,
        timeout_s: float,
        audience: Audience,
        told: Callable[[str, Params], Awaitable[None]],  # gets notifications for 2026-07-28 clients
        ended: Callable[[Session, str], None],  # the connection ended on its own, with the reason
        changed: Callable[[str], None],  # called for each `list_changed`: other sessions may get none
        definitions: Definitions,
        guard: Guard | None = None,
    ) -> None:
        self.lists = Lists()
        self._turns = Turns()
        self._guard = guard
        self._name = name
        self._audience = audience
        self._make_link = link
        self._link = link(self)
        self._hello = hello
        self._timeout_s = timeout_s
        self._ended = ended
        self._list_changed = changed
        self._telling = Telling(name, audience, self._turns, told, self._changed_list, self._default_level, guard)
        self._definitions = definitions
        self._blocked: set[str] = set()
        self._deadlines = deadlines_of(timeout_s)
        self._patiences: set[Patience] = set()
        # Open requests to clients: the client, and the progress token.
        self._questions: list[tuple[Client, object]] = []
        self._opened: Opened | None = None
        self.is_modern = False  # speaks 2026-07-28; valid once open
        self._opened_at = monotonic()
        self._has_answered = False
        self._gone_for: str | None = None
        self._listens = False
        self._changes: Changes | None = None
        self._subscriptions: Subscriptions | None = None
        self._parameters = Parameters(self.tools)
        # Checking a list yields to other tasks; the lock keeps lists in order.
        self._in_order = asyncio.Lock()
        self._tasks = Tasks(logger)

    @property
    def opened(self) -> Opened:
        assert self._opened is not None, "a session is used once it is open"
        return self._opened

    @property
    def subscriptions(self) -> Subscriptions:
        assert self._subscriptions is not None, "a session is used once it is open"
        return self._subscriptions

    @property
    def has_stayed(self) -> bool:
        """Whether the session was useful: it answered a client, or lasted `STAYED_S`."""
        return self._has_answered or monotonic() - self._opened_at >= STAYED_S

    @property
    def idle_s(self) -> float:
        return self._turns.idle_s

    def joined(self) -> None:
        """A client without a log level has joined: adjust the upstream's."""
        self._tasks.start(self.subscriptions.settle_level())

    async def open(self) -> None:
        try:
            self._opened = await self._negotiated(self._hello)
        except MCPError as refused:
            if refused.error.code != UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # Some servers fix the revision of the whole connection by its first request.
            self._link, self._gone_for = self._make_link(self), None
            other = LATEST_HANDSHAKE_VERSION if is_modern(self._hello.version) else LATEST_MODERN_VERSION
            self._opened = await self._negotiated(replace(self._hello, version=other))
        if self._gone_for is not None:
            # The connection ended before the session was registered.
            await self._link.close()
            raise UpstreamUnavailable(self._gone_for)
        self._opened_at = monotonic()
        self.is_modern = is_modern(self.opened.version)
        if self.is_modern:
            told_of = self._changes_told()
            self._changes = Changes(self._name, self._link, self._hello.envelope, told_of, self._changed)
        else:
            self._settle_lists()
        self._subscriptions = Subscriptions(
            self._name, self._audience, self._changes, self.call, self._ask, self._telling.may_say, self._timeout_s
        )
        self._tasks.start(self._subscriptions.resume())

    async def _negotiated(self, hello: Hello) -> Opened:
        try:
            await self._link.open()
            return await negotiate(self._link, hello, max(self._timeout_s, OPENING_TIMEOUT_S))
        except BaseException:  # cancellation must close the transport too
            await _to_its_end(self._link.close())
            raise

    async def close(self) -> None:
        if self._changes is not None:
            self._changes.stop()
        await self._telling.close()
        await self._tasks.close()
        await self._link.close()

    async def call(self, turn: Caller, method: str, params: Params) -> dict[str, Any]:
        """The upstream's result for a client's request, in the session's revision."""
        if (kept := self.lists.find(method, params)) is not None:
            return kept
        if self._blocked and method == "tools/call" and (params or {}).get("name") in self._blocked:
            raise ToolChanged(f"upstream {self._name!r}: the tool is not what it was when it was first listed: blocked")
        state = self.lists.state
        if self._guard is not None:
            turn = self._guard.quiet(turn)
        if not self.is_modern:
            params = without_envelope(params)
        elif not turn.client.is_modern:
            params = enveloped(params, self._envelope(turn.client))
        with self._turns.taken(turn) as late:
            result = await self._result(turn, method, params, late)
        self._has_answered = True
        return await self._kept(method, params, result, state)

    async def tools(self) -> list[dict[str, Any]]:
        """All tools of all pages, for the gateway itself."""
        return [tool async for page in pages(self._tools_page) for tool in page["tools"]]

    async def notify(self, method: str, params: Params) -> None:
        await self._link.notify(method, params)

    def has_asked(self, client: Client, token: object) -> bool:
        """Whether a request to this client with this progress token is open."""
        return token is not None and (client, token) in self._questions

    async def heard(self, method: str, params: Params) -> None:
        await self._telling.heard(method, params)

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """Answer an upstream's request that names no call: only one client can be meant, or it is refused."""
        if method == "ping":
            return {}
        clients = self._audience.clients
        if (turn := self._turns.meant) is not None:
            client, ask = turn.client, turn.asked
        elif len(clients) == 1 and self._turns.clients <= clients and self._telling.may_say(method, params):
            (client,) = clients
            ask, params = client.ask, self._telling.said(method, params)
        else:
            # Servers request roots when they start, with any number of clients.
            level = logging.DEBUG if method == "roots/list" else logging.WARNING
            logger.log(
                level,
                "upstream %r: its question %r is refused: several clients could be meant, or none",
                self._name,
                method[:MAX_LOG_LINE],
            )
            raise MCPError(code=INVALID_REQUEST, message="the gateway cannot tell which client is asked")
        with ExitStack() as standing:
            # Any of the open calls may be waiting for this answer.
            for patience in self._patiences:
                standing.enter_context(patience.held())
            return await self._asked(client, ask, method, params)

    def forget(self, change: str) -> None:
        self.lists.forget(change)
        if change == TOOLS_CHANGED:
            self._parameters.forget()

    def listens(self, is_open: bool) -> None:
        """The channel for notifications has opened or closed: without it, no list is cached."""
        self._listens = is_open
        for change in CHANGES:
            self.forget(change)
        if self._opened is not None:
            self._settle_lists()

    def gone(self, reason: str) -> None:
        self._gone_for = reason
        if self._changes is not None:
            self._changes.stop()
        self._ended(self, reason)

    def _changed_list(self, change: str) -> None:
        self.forget(change)
        self._list_changed(change)

    def _default_level(self) -> str | None:
        return None if self._subscriptions is None else self._subscriptions.default_level

    def _settle_lists(self) -> None:
        """Set which lists can be cached, for a handshake session."""
        self.lists.told_of = self._changes_told() if self._listens else frozenset()

    def _envelope(self, client: Client) -> dict[str, Any]:
        level = {} if client.log_level is None else {LOG_LEVEL_META_KEY: client.log_level}
        return {**client.hello.envelope, **level}

    async def _asked(
        self,
        client: Client,
        ask: Callable[[str, Params], Awaitable[dict[str, Any]]],
        method: str,
        params: Params,
    ) -> dict[str, Any]:
        """The answer of a client; its request counts as open meanwhile."""
        question = client, members((params or {}).get("_meta")).get("progressToken")
        self._questions.append(question)
        try:
            # While one of several clients is asked, other requests of the upstream cannot be attributed.
            async with asyncio.timeout(PARKED_S if len(self._audience.clients) > 1 else None):
                return await ask(method, params)
        except TimeoutError:
            raise MCPError(code=INVALID_REQUEST, message=f"the client has not answered in {PARKED_S:g} s") from None
        finally:
            self._questions.remove(question)

    async def _answer(self, call: Call) -> dict[str, Any]:
        patience = Patience(self._deadlines)
        self._patiences.add(patience)
        try:
            return checked(call.method, await patience.wait(call, self._link.call))
        finally:
            self._patiences.remove(patience)

    async def _ask(self, method: str, params: Params) -> dict[str, Any]:
        return await self._answer(Call(method, params, unheard, unasked))

    async def _result(self, turn: Caller, method: str, params: Params, late: asyncio.Event) -> dict[str, Any]:
        asked = partial(self._asked, turn.client, turn.asked)
        call = Call(method, params, partial(self._telling.heard_by, turn), asked, paused=turn.paused, late=late)
        said = params or {}
        arguments = said.get("arguments")
        if method != "tools/call" or not self.is_modern or not arguments or not self._link.wants_headers:
            return await self._answer(call)
        try:
            return await self._answer(call._replace(headers=await self._parameters.headers(said["name"], arguments)))
        except MCPError as refused:
            if refused.error.code != HEADER_MISMATCH:
                raise
        # Refused before it ran: the tool has changed since it was listed.
        self.forget(TOOLS_CHANGED)
        return await self._answer(call._replace(headers=await self._parameters.headers(said["name"], arguments)))

    async def _kept(self, method: str, params: Params, result: dict[str, Any], state: int) -> dict[str, Any]:
        """The result, cached if it is a list that can be."""
        if method == "tools/list":
            async with self._in_order:
                result = await self._without_blocked(await without_bad_tools(result))
                self._parameters.learn(await wanted_by(result["tools"]))
        self.lists.keep(method, params, result, state)
        return result

    async def _without_blocked(self, result: dict[str, Any]) -> dict[str, Any]:
        """A tool list without blocked tools, which are remembered to refuse their calls."""
        tools: list[dict[str, Any]] = result["tools"]
        blocked = await self._definitions.learn(tools)
        self._blocked = self._blocked.difference(tool["name"] for tool in tools) | blocked
        return {**result, "tools": [tool for tool in tools if tool["name"] not in blocked]} if blocked else result

    async def _tools_page(self, place: dict[str, Any]) -> dict[str, Any]:
        if (page := self.lists.find("tools/list", place)) is not None:
            return page
        state = self.lists.state
        said = enveloped(place, self._hello.envelope) if self.is_modern else place
        return await self._kept("tools/list", place, await self._ask("tools/list", said), state)

    async def _changed(self, method: str, params: Params) -> None:
        """Handle a message of the `subscriptions/listen` stream."""
        if method == ACKNOWLEDGED:
            said = members((params or {}).get("notifications"))
            self.lists.told_of = frozenset(name for name in self._changes_told() if said.get(f"{name}ListChanged"))
        elif method == ENDED:
            self.lists.told_of = frozenset()
            for change in CHANGES:
                self.forget(change)
        else:
            await self.heard(method, params)

    def _changes_told(self) -> frozenset[str]:
        said = members(self.opened.opening.get("capabilities"))
        return frozenset(name for name, what in said.items() if members(what).get("listChanged") is True)


async def _to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Finish the work even if the waiting task is cancelled, then raise the cancellation."""
    task, cancelled = asyncio.create_task(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
