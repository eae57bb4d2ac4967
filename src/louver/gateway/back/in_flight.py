"""The open calls of a session: how long the upstream may be silent, and whose its messages that name no call are.

    open: A                  A's
    open: A and B            unknown
    open: B, abandoned: A    unknown, as the upstream may still work for A; B's if one party is behind both

Abandoned: cancelled, timed out or cut off. It counts until its answer comes late, or for `ABANDONED_S`.

Every message about a call resets its deadline. A request to the client suspends it: a person may have to answer.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from louver.concurrency.deadlines import Interruptible
from louver.errors import UpstreamError, UpstreamTimeout

if TYPE_CHECKING:
    from collections.abc import Generator

    from louver.gateway.back.transports.transport import Call
    from louver.gateway.clients.client import Caller, GatewayClient
    from louver.wire.jsonrpc.codec import Params

ABANDONED_S = 60.0
"""How long a cancelled call without an answer can be the cause of an upstream's request, in seconds."""

MAX_ABANDONED = 1000
"""Cancelled calls of one connection that are remembered. Over it the oldest go, those of the same client first."""


@dataclass(frozen=True, slots=True)
class _Abandoned:
    client: GatewayClient
    since: float
    late_answer: asyncio.Event  # set when the answer comes after all

    @property
    def is_pending(self) -> bool:
        return not self.late_answer.is_set() and monotonic() - self.since < ABANDONED_S


class InFlightCall(Interruptible):
    """A block that waits for the answer to `call`, and raises `UpstreamTimeout` after too long a silence."""

    def __init__(self, in_flight: InFlight, call: Call, caller: Caller | None) -> None:
        self.caller = caller  # `None`: the session, not for a client
        self.last_message_at = 0.0  # when the upstream was last heard of, in the loop's time
        self.questions = 0  # of the upstream that clients have not answered: the deadline is suspended
        self.late_answer = asyncio.Event()
        self._given = call
        self._in_flight = in_flight

    @property
    def call(self) -> Call:
        """The call as the transport gets it. It is not held here: each would hold the other, and what was sent."""
        return self._given._replace(
            on_notification=self._on_notification, on_request=self._on_request, on_late=self.late_answer, block=self
        )

    def __enter__(self) -> Self:
        if self.caller is not None:
            self.caller.client.open_calls += 1
        self._in_flight.open[self] = None
        self.restart()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, raised: BaseException | None, traceback: object) -> None:
        del self._in_flight.open[self]
        try:
            super().__exit__(kind, raised, traceback)
        except UpstreamError as interrupted:
            raised = interrupted
            raise
        finally:
            if self.caller is not None:
                client = self.caller.client
                client.open_calls -= 1
                client.last_used = self._in_flight.last_used = monotonic()
                if isinstance(raised, asyncio.CancelledError) or (isinstance(raised, UpstreamError) and raised.goes_on):
                    self._in_flight.abandon(client, self.late_answer)

    @contextmanager
    def suspended(self) -> Generator[None]:
        """Suspend the deadline meanwhile; afterwards it starts over."""
        self.questions += 1
        try:
            yield
        finally:
            self.questions -= 1
            self.restart()

    def restart(self) -> None:
        """The upstream was heard of, or waits no more for a client. A question may outlive its call."""
        self.last_message_at = self._in_flight.loop.time()
        if self._in_flight.timer is None and not self.questions and self in self._in_flight.open:
            self._in_flight.schedule(self.last_message_at)

    async def _on_notification(self, method: str, params: Params) -> None:
        self.restart()
        await self._given.on_notification(method, params)

    async def _on_request(self, method: str, params: Params) -> dict[str, Any]:
        with self.suspended():
            return await self._given.on_request(method, params)


class InFlight:
    def __init__(self, timeout_s: float) -> None:
        self.open: dict[InFlightCall, None] = {}
        self.last_used = monotonic()
        self.loop = asyncio.get_running_loop()
        self.timer: asyncio.TimerHandle | None = None  # one for all: a call sets none, as a rule
        self._timeout_s = timeout_s
        self._abandoned: list[_Abandoned] = []

    @property
    def idle_s(self) -> float:
        """Seconds since the last call of a client; 0 while one is open."""
        return 0.0 if self._callers else monotonic() - self.last_used

    @property
    def clients(self) -> set[GatewayClient]:
        self._drop_stale()
        return {caller.client for caller in self._callers} | {each.client for each in self._abandoned}

    @property
    def only_caller(self) -> Caller | None:
        """The open request that an unattributed message belongs to, if only one client can be meant."""
        self._drop_stale()
        callers = self._callers
        if len({caller.client for caller in callers}) != 1:
            return None
        caller = callers[-1]
        return caller if all(each.client.owner == caller.client.owner for each in self._abandoned) else None

    @property
    def _callers(self) -> list[Caller]:
        return [each.caller for each in self.open if each.caller is not None]

    def abandon(self, client: GatewayClient, late_answer: asyncio.Event) -> None:
        """Remember a call that may go on; the event is set if it is answered late."""
        self._drop_stale()
        if len(self._abandoned) >= MAX_ABANDONED:
            # Evict the same party's oldest request first, so one client cannot evict another's.
            same_owner = (each for each in self._abandoned if each.client.owner == client.owner)
            oldest = next(same_owner, self._abandoned[0])
            self._abandoned.remove(oldest)
        self._abandoned.append(_Abandoned(client, monotonic(), late_answer))

    def schedule(self, last_message_at: float) -> None:
        """Look again when a call that was last heard of then may have to end."""
        # In an empty context: the timer serves several requests.
        self.timer = self.loop.call_at(last_message_at + self._timeout_s, self._end_silent, context=Context())

    def _end_silent(self) -> None:
        self.timer = None
        silent_since = self.loop.time() - self._timeout_s
        waiting = [each for each in self.open if not each.questions]
        for each in waiting:
            if each.last_message_at <= silent_since:
                each.interrupt(UpstreamTimeout(f"the upstream has not been heard of for {self._timeout_s:g} s"))
        later = [each.last_message_at for each in waiting if each.last_message_at > silent_since]
        if later:
            self.schedule(min(later))

    def _drop_stale(self) -> None:
        self._abandoned = [each for each in self._abandoned if each.is_pending]
