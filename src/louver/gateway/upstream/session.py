"""A session: one connection to an upstream that has agreed on a protocol revision.

It knows who is served over it, so that what the upstream says unasked reaches them::

    call        the request, with who asks put in where the era wants that, and a deadline
    heard       a list has changed: what was kept is forgotten, and every client is told
    asked       a question that no call tells for whom it is: to the one client that it can be for

A deadline counts from the last that was heard of the upstream, and stands still while a client is asked: that of the
call which the question belongs to, or, where none tells that, of all that are open. What clients want to be told is
asked for in `subscriptions.py`.
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
    """One connection.

    Args:
        name: The upstream's name.
        link: Makes the link, given who hears what is said over it.
        hello: What the upstream is told of who connects.
        timeout_s: How long the upstream may be silent while it is called.
        audience: Who is served over it.
        told: Gets every notification that no call belongs to, beside who is served.
        ended: Called when the connection ends by itself, with the reason.
        changed: Is told of each notification that a list has changed: other sessions may have heard none.
        definitions: What the upstream's tools are.
        guard: Says what of what it says reaches clients, if it is under a policy.
    """

    def __init__(
        self,
        name: str,
        link: Callable[[Listener], Link],
        hello: Hello,
        timeout_s: float,
        audience: Audience,
        told: Callable[[str, Params], Awaitable[None]],
        ended: Callable[[Session, str], None],
        changed: Callable[[str], None],
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
        # Who is asked, and by which token progress with the answer is told.
        self._questions: list[tuple[Client, object]] = []
        self._opened: Opened | None = None
        self.is_modern = False
        """Whether it is of the stateless era, once it is open."""
        self._opened_at = monotonic()
        self._has_answered = False
        self._gone_for: str | None = None
        self._listens = False
        self._changes: Changes | None = None
        self._subscriptions: Subscriptions | None = None
        self._parameters = Parameters(self.tools)
        # Lists that are looked at in turns are learnt in the order in which they came.
        self._in_order = asyncio.Lock()
        self._tasks = Tasks(logger)

    @property
    def opened(self) -> Opened:
        """What was agreed when it was opened."""
        assert self._opened is not None, "a session is used once it is open"
        return self._opened

    @property
    def subscriptions(self) -> Subscriptions:
        """What clients want to be told, once it is open."""
        assert self._subscriptions is not None, "a session is used once it is open"
        return self._subscriptions

    @property
    def has_stayed(self) -> bool:
        """Whether it has been of use: it has answered a client, or been there for `STAYED_S`."""
        return self._has_answered or monotonic() - self._opened_at >= STAYED_S

    @property
    def idle_s(self) -> float:
        """For how long no client has waited for it, in seconds."""
        return self._turns.idle_s

    def joined(self) -> None:
        """Another client is served over it, which has asked for no log level."""
        self._tasks.start(self.subscriptions.settle_level())

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
            self._link, self._gone_for = self._make_link(self), None
            other = LATEST_HANDSHAKE_VERSION if is_modern(self._hello.version) else LATEST_MODERN_VERSION
            self._opened = await self._negotiated(replace(self._hello, version=other))
        if self._gone_for is not None:
            # It ended before anybody could know of this session.
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
        except BaseException:  # whoever is cancelled leaves no link open either
            await _to_its_end(self._link.close())
            raise

    async def close(self) -> None:
        """End the connection."""
        if self._changes is not None:
            self._changes.stop()
        await self._telling.close()
        await self._tasks.close()
        await self._link.close()

    async def call(self, turn: Caller, method: str, params: Params) -> dict[str, Any]:
        """The upstream's answer to a request of a client, in the session's era.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
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
        """All tools, of all pages, as the gateway itself sees them.

        Raises:
            MCPError: The upstream answers with an error.
            UpstreamError: It does not answer as it should.
        """
        return [tool async for page in pages(self._tools_page) for tool in page["tools"]]

    async def notify(self, method: str, params: Params) -> None:
        """Send a client's notification.

        Raises:
            UpstreamUnavailable: The connection has ended.
        """
        await self._link.notify(method, params)

    def has_asked(self, client: Client, token: object) -> bool:
        """Whether a client is asked something, of which it tells progress by this token."""
        return token is not None and (client, token) in self._questions

    async def heard(self, method: str, params: Params) -> None:
        """What the upstream says that no call belongs to."""
        await self._telling.heard(method, params)

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """What the upstream asks, though no call tells whom.

        Raises:
            MCPError: The client answers with an error, or there is not just one that can be meant.
        """
        if method == "ping":
            return {}
        clients = self._audience.clients
        if (turn := self._turns.meant) is not None:
            client, ask = turn.client, turn.asked
        elif len(clients) == 1 and self._turns.clients <= clients and self._telling.may_say(method, params):
            (client,) = clients
            ask, params = client.ask, self._telling.said(method, params)
        else:
            # Servers ask for roots when they start, whoever is there.
            level = logging.DEBUG if method == "roots/list" else logging.WARNING
            logger.log(
                level,
                "upstream %r: its question %r is refused: several clients could be meant, or none",
                self._name,
                method[:MAX_LOG_LINE],
            )
            raise MCPError(code=INVALID_REQUEST, message="the gateway cannot tell which client is asked")
        with ExitStack() as standing:
            # Nothing tells for which of the calls the upstream waits.
            for patience in self._patiences:
                standing.enter_context(patience.held())
            return await self._asked(client, ask, method, params)

    def forget(self, change: str) -> None:
        """Forget what a notification says has changed."""
        self.lists.forget(change)
        if change == TOOLS_CHANGED:
            self._parameters.forget()

    def listens(self, is_open: bool) -> None:
        """Whether the upstream can tell of changes from now on: no list is kept that it cannot."""
        self._listens = is_open
        for change in CHANGES:
            self.forget(change)
        if self._opened is not None:
            self._settle_lists()

    def gone(self, reason: str) -> None:
        """The connection has ended by itself."""
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
        """Of which lists changes are told, in the handshake era."""
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
        """What a client answers, remembered as asked meanwhile."""
        question = client, members((params or {}).get("_meta")).get("progressToken")
        self._questions.append(question)
        try:
            # While one of several is asked, it cannot be told whom other questions are for.
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
        """The answer to a request of the gateway itself, as this era has it."""
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
        # Refused before anything ran: the tool has changed since it was listed.
        self.forget(TOOLS_CHANGED)
        return await self._answer(call._replace(headers=await self._parameters.headers(said["name"], arguments)))

    async def _kept(self, method: str, params: Params, result: dict[str, Any], state: int) -> dict[str, Any]:
        """The answer to a request, kept if it is a list that may be."""
        if method == "tools/list":
            async with self._in_order:
                result = await self._without_blocked(await without_bad_tools(result))
                self._parameters.learn(await wanted_by(result["tools"]))
        self.lists.keep(method, params, result, state)
        return result

    async def _without_blocked(self, result: dict[str, Any]) -> dict[str, Any]:
        """A list of tools without those that are blocked, which are remembered for calls."""
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
        """What the upstream says in the stream that it keeps open for changes."""
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
    """Do something to its end, however often whoever waits for it is cancelled meanwhile."""
    task, cancelled = asyncio.create_task(work), False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
