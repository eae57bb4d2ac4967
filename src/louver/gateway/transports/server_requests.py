"""Requests of an upstream to its client, each answered by its own task: a person may take minutes, and nothing waits.

    <- {"id": 0, "method": "elicitation/create", "params": {...}}
    -> {"id": 0, "result": {"action": "accept", ...}}           or {"id": 0, "error": {...}}

The upstream can cancel a request by `notifications/cancelled`.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import INTERNAL_ERROR

from louver.errors import UpstreamError
from louver.jsonrpc.codec import answer, refusal
from louver.limits import MAX_UPSTREAM_QUESTIONS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from logging import Logger

    from louver.concurrency.background import Tasks
    from louver.jsonrpc.codec import Message, Params, RequestId


logger = logging.getLogger(__name__)


class Questions:
    def __init__(
        self,
        asked: Callable[[str, Params], Awaitable[dict[str, Any]]],
        send: Callable[[bytes], Awaitable[None]],
        tasks: Tasks,
    ) -> None:
        self._ask = asked
        self._send = send
        self._tasks = tasks
        self._open: dict[RequestId, asyncio.Task[None]] = {}

    def put(self, question: Message) -> bool:
        """Answer a request in the background; `False` if its id is in use, or too many are open."""
        number = question.id
        if number is None or number in self._open or len(self._open) >= MAX_UPSTREAM_QUESTIONS:
            return False
        self._open[number] = self._tasks.start(self._serve(number, question))
        return True

    def take_back(self, params: Params) -> None:
        """Cancel the request that a `notifications/cancelled` names."""
        number = (params or {}).get("requestId")
        if isinstance(number, int | str) and (task := self._open.pop(number, None)) is not None:
            task.cancel()

    def drop(self) -> None:
        """Cancel all open requests; finished answers are still sent."""
        for task in self._open.values():
            task.cancel()
        self._open.clear()

    async def _serve(self, number: RequestId, question: Message) -> None:
        said = await self._answer(number, question)
        # Cancelled meanwhile; the task may have ended normally all the same.
        if self._open.pop(number, None) is None:
            return
        try:
            await self._send(said)
        except UpstreamError as error:
            logger.info("an answer has not reached the upstream: %s", error)

    async def _answer(self, number: RequestId, question: Message) -> bytes:
        try:
            return answer(number, await self._ask(question.method or "", question.params))
        except MCPError as error:
            return refusal(number, error)
        except Exception as error:  # noqa: BLE001 - the upstream waits for an answer
            logger.error("a question of the upstream could not be answered: %s", type(error).__name__)
            return refusal(number, MCPError(INTERNAL_ERROR, "Internal error"))


class Strays:
    def __init__(self, logger: Logger) -> None:
        self.count = 0
        self._logger = logger

    def add(self, kind: str) -> None:
        """Count one; the 1st, 2nd, 4th, 8th, ... is logged. `kind` is never the upstream's text."""
        self.count += 1
        if self.count & (self.count - 1) == 0:
            self._logger.warning("messages of the upstream that were for nobody: %d, the last: %s", self.count, kind)
