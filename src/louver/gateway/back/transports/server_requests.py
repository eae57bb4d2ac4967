"""Requests of an upstream to its client, each answered by its own task: a person may take minutes, and nothing waits.

    <- {"id": 0, "method": "elicitation/create", "params": {...}}
    -> {"id": 0, "result": {"action": "accept", ...}}           or {"id": 0, "error": {...}}

The upstream can cancel a request by `notifications/cancelled`. A `ping` is answered here, for every client, and a
method that no client has is refused. A request counts against the upstream's budget until its answer is sent.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from louver.errors import UpstreamError
from louver.wire.jsonrpc.codec import error_response, response
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import CLIENT_METHODS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable

    from louver.concurrency.background import BackgroundTasks
    from louver.concurrency.budget import PeerBudget, Tally
    from louver.wire.jsonrpc.codec import Message, Params, RequestId


logger = logging.getLogger(__name__)


class ServerRequests:
    def __init__(
        self,
        on_request: Callable[[str, Params], Awaitable[dict[str, Any]]],
        send: Callable[[bytes], Awaitable[object]],
        tasks: BackgroundTasks,
        budget: PeerBudget,
        unsent: Tally,
    ) -> None:
        self._on_request = on_request
        self._send = send
        self._tasks = tasks
        self._budget = budget
        self._unsent = unsent
        self._open: dict[RequestId, asyncio.Task[None]] = {}

    def start(self, request: Message) -> bool:
        """Answer a request in the background; `False` if its id is in use, or too many are open."""
        request_id = request.id
        if request_id is None or request_id in self._open or not self._budget.take():
            return False
        task = self._open[request_id] = self._tasks.start(self._serve(request_id, request))
        task.add_done_callback(self._give_back)
        return True

    def _give_back(self, _: object) -> None:
        self._budget.give_back()

    def cancel(self, params: Params) -> None:
        """Cancel the request that a `notifications/cancelled` names."""
        request_id = (params or {}).get("requestId")
        if isinstance(request_id, int | str) and (task := self._open.pop(request_id, None)) is not None:
            task.cancel()

    def cancel_all(self) -> None:
        """Cancel all open requests; finished answers are still sent."""
        for task in self._open.values():
            task.cancel()
        self._open.clear()

    async def _serve(self, request_id: RequestId, request: Message) -> None:
        response = await self._answer(request_id, request)
        # Cancelled meanwhile; the task may have ended normally all the same.
        if self._open.pop(request_id, None) is None:
            return
        try:
            await self._send(response)
        except UpstreamError as error:
            self._unsent.add(f"an answer: {error}")

    async def _answer(self, request_id: RequestId, request: Message) -> bytes:
        method = request.method or ""
        try:
            if method == "ping":
                return response(request_id, {})
            if method not in CLIENT_METHODS:
                raise JsonRpcError(METHOD_NOT_FOUND, "Method not found")
            return response(request_id, await self._on_request(method, request.params))
        except JsonRpcError as error:
            return error_response(request_id, error)
        except Exception as error:  # noqa: BLE001 - the upstream waits for an answer
            logger.error("a question of the upstream could not be answered: %s", type(error).__name__)
            return error_response(request_id, JsonRpcError(INTERNAL_ERROR, "Internal error"))
