"""The header `Authorization` of a principal's requests, by tokens that are exchanged for those of the caller.

    first request           exchanged, once for all requests with that token at the same time
    due, or after a 401     exchanged again
    the caller's expires    forgotten, with what it was exchanged for

Everything is in memory alone: the next request brings the caller's token again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from typing import TYPE_CHECKING

from louver.concurrency.background import BackgroundTasks
from louver.concurrency.backoff import Backoff
from louver.errors import LoginFailed
from louver.gateway.front.auth.caller_token import CALLER_TOKEN
from louver.limits import LOGIN_FRESH_S

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.catalogue.grants import PrincipalKey
    from louver.gateway.front.auth.caller_token import CallerToken
    from louver.team.login.exchange import IssuedToken, TokenExchange

MAX_EXCHANGED_TOKENS = 8
"""Tokens of one principal that are exchanged for one upstream at the same time: some windows of its program, and the
token that comes after each."""


logger = logging.getLogger(__name__)


class ExchangedCredentials:
    """The exchanged tokens of one principal at one server; `None` is the gateway itself, which has none."""

    is_off = False

    def __init__(self, principal: PrincipalKey | None, exchange: TokenExchange) -> None:
        self._principal = principal
        self._exchange = exchange
        self._by_token: OrderedDict[CallerToken, _Exchanged] = OrderedDict()  # the last that was used is the last
        self._tasks = BackgroundTasks(logger)

    async def headers(self) -> Mapping[str, str]:
        return {"authorization": (await self._exchanged().token()).authorization}

    async def on_refused(self, sent: Mapping[str, str], status: int, _challenge: str | None) -> bool:
        """Whether a refused request can be sent again; LoginFailed if the server refuses a new token."""
        return status == 401 and self._exchanged().replace(sent.get("authorization"))

    async def close(self) -> None:
        self._by_token.clear()
        await self._tasks.close()

    def _exchanged(self) -> _Exchanged:
        """For the token of the request; for what no request brings about, for the last one that counts."""
        now, token = self._exchange.clock(), CALLER_TOKEN.get()
        for expired in [each for each in self._by_token if each.has_expired(now)]:
            del self._by_token[expired]
        if token is not None and token.principal == self._principal and not token.has_expired(now):
            if token not in self._by_token:
                if len(self._by_token) >= MAX_EXCHANGED_TOKENS:
                    self._by_token.popitem(last=False)
                self._by_token[token] = _Exchanged(token, self._exchange, self._tasks)
            self._by_token.move_to_end(token)
        if not self._by_token:
            raise LoginFailed("the server gets a token for the caller's own, and this caller has none that counts")
        return next(reversed(self._by_token.values()))


class _Exchanged:
    """What one token of the caller is exchanged for."""

    def __init__(self, caller: CallerToken, exchange: TokenExchange, tasks: BackgroundTasks) -> None:
        self._caller = caller
        self._exchange = exchange
        self._tasks = tasks
        self._issued: IssuedToken | None = None
        self._asking: asyncio.Task[None] | None = None
        self._backoff = Backoff()

    async def token(self) -> IssuedToken:
        now = self._exchange.clock()
        if self._issued is not None and self._issued.has_expired(now):
            self._issued = None
        if self._backoff.wait_s == 0 and (self._issued is None or self._issued.is_due(now)):
            await self._ask()
        # One that is due counts for a while.
        if self._issued is None:
            raise LoginFailed(f"{self._backoff.problem}; it is tried again in {self._backoff.wait_s:.1f} s")
        return self._issued

    def replace(self, refused: str | None) -> bool:
        """Whether there can be another token than a refused one."""
        issued = self._issued
        if issued is not None and issued.authorization == refused:
            now = self._exchange.clock()
            # Below 0 the clock was put back since.
            if 0 <= now - issued.obtained_at < LOGIN_FRESH_S and not issued.is_due(now):
                raise LoginFailed("the server refuses the token for which the caller's was exchanged")
            self._issued = None
        return True

    async def _ask(self) -> None:
        """Exchange it: one attempt for all requests that wait, cancelled by none of them."""
        if self._asking is None or self._asking.done():
            self._asking = self._tasks.start(self._exchange_once())
        await asyncio.shield(self._asking)

    async def _exchange_once(self) -> None:
        try:
            self._issued = await self._exchange.exchange(self._caller.text)
            self._backoff.reset()
        except LoginFailed as error:
            self._backoff.record_failure(error.message)
            logger.warning("server %r: %s", self._exchange.server, error.message)
