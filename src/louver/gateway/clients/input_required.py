"""Requests of a 2025-11-25 upstream to a 2026-07-28 client: the answer asks for input, and the client resumes the call.

    tools/call {...}                                                             -> upstream: elicitation/create
    <- {"resultType": "input_required", "inputRequests": {"q1": {...}}, "requestState": "<handle>"}
    tools/call {..., "requestState": "<handle>", "inputResponses": {"q1": ...}}  -> the upstream's call goes on

In the other direction the gateway asks the client, and calls the upstream again with its answers.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any

from louver.core.json import digest, is_object
from louver.limits import MAX_ROUNDS, PARKED_S
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JsonRpcError
from louver.wire.mcp import INPUT_REQUEST_METHODS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients.client import Caller
    from louver.wire.jsonrpc.codec import Params

MAX_PARKED = 100
"""Calls that wait for answers of a 2026-07-28 client. Over it the oldest go, those of the same owner first."""


INPUT_RESPONSES, REQUEST_STATE = "inputResponses", "requestState"
_TAG_END = ":"
_FIRST_WAIT_S, _LAST_WAIT_S = 0.05, 0.25


async def resolve_input_required(
    caller: Caller, params: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """The final result of a 2026-07-28 upstream, for a handshake client, which answers its questions meanwhile."""
    wait_s = _FIRST_WAIT_S
    next_params = params
    for _ in range(MAX_ROUNDS):
        result = await call(next_params)
        if result.get("resultType") != "input_required":
            return result
        input_requests: dict[str, Any] = result.get("inputRequests") or {}
        if input_requests:
            next_params = {**params, INPUT_RESPONSES: await _ask_all(caller, input_requests)}
        else:
            # No questions: the upstream wants another call.
            await asyncio.sleep(wait_s)
            wait_s, next_params = min(2 * wait_s, _LAST_WAIT_S), params
        if REQUEST_STATE in result:
            next_params = {**next_params, REQUEST_STATE: result[REQUEST_STATE]}
    raise JsonRpcError(code=INTERNAL_ERROR, message=f"the upstream has asked more than {MAX_ROUNDS} times in one call")


async def _ask_all(caller: Caller, input_requests: dict[str, Any]) -> dict[str, Any]:
    """The client's answers; if one is an error, the other requests are cancelled."""
    tasks = {key: asyncio.ensure_future(_ask(caller, input_request)) for key, input_request in input_requests.items()}
    try:
        return dict(zip(tasks, await asyncio.gather(*tasks.values()), strict=True))
    finally:
        for each in tasks.values():
            each.cancel()


async def _ask(caller: Caller, input_request: Any) -> dict[str, Any]:
    if not is_object(input_request) or input_request.get("method") not in INPUT_REQUEST_METHODS:
        raise JsonRpcError(code=INTERNAL_ERROR, message="the upstream asks something that is no question")
    return await caller.ask(input_request["method"], input_request.get("params"))


class PendingCalls:
    """The calls that wait for answers of their clients."""

    def __init__(self) -> None:
        self._calls: dict[str, _PendingCall] = {}
        self.tag: Callable[[], str] = str  # begins the states of calls, by which other replicas find them

    async def call(
        self,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        owner: object,
        send: Callable[[Caller], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The result of a handshake upstream, or `input_required`; only the same `owner` can resume the call."""
        original_params = {
            key: value for key, value in params.items() if key not in (INPUT_RESPONSES, REQUEST_STATE, "_meta")
        }
        state = params.get(REQUEST_STATE)
        if state is None:
            call = _PendingCall(caller, owner)
            call.start(send)
        else:
            call = self._pop(state, digest([method, original_params]), owner)
            call.resume(caller, params.get(INPUT_RESPONSES) or {})
        result = await call.next()
        if result is None:
            # Only now, as few calls wait.
            call.request_digest = digest([method, original_params])
            return {
                "resultType": "input_required",
                "inputRequests": call.take_input_requests(),
                REQUEST_STATE: self._store(call),
            }
        return result

    def close(self) -> None:
        for call in self._calls.values():
            call.stop()

    def _store(self, call: _PendingCall) -> str:
        if len(self._calls) >= MAX_PARKED:
            # Evict the same owner's oldest call first, so one client cannot evict another's.
            same_owner = (handle for handle, each in self._calls.items() if each.owner == call.owner)
            self._calls.pop(next(same_owner, next(iter(self._calls)))).stop()
        handle = secrets.token_urlsafe(24)
        self._calls[handle] = call
        call.expire_after(PARKED_S, lambda: self._calls.pop(handle, None))
        return f"{self.tag()}{handle}"

    def _pop(self, state: Any, request_digest: str, owner: object) -> _PendingCall:
        handle = state.rpartition(_TAG_END)[2] if isinstance(state, str) else ""
        call = self._calls.get(handle)
        if call is None or (call.request_digest, call.owner) != (request_digest, owner):
            raise JsonRpcError(
                code=INVALID_PARAMS, message="'requestState' is not that of a call which waits for answers"
            )
        del self._calls[handle]
        return call


class _PendingCall:
    def __init__(self, caller: Caller, owner: object) -> None:
        self.request_digest = ""
        self.owner = owner
        self._input_requests: dict[str, dict[str, Any]] = {}
        self._sent_keys: list[str] = []
        self._caller: Caller | None = caller
        self.client, self.identity, self.record = caller.client, caller.identity, caller.record
        self.is_live = caller.is_live
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._request_added = asyncio.Event()
        self._task: asyncio.Task[dict[str, Any]] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._request_count = 0

    def start(self, send: Callable[[Caller], Awaitable[dict[str, Any]]]) -> None:
        async def run() -> dict[str, Any]:
            try:
                return await send(self)
            finally:
                self._fail_open_requests()

        self._task = asyncio.create_task(run())

    def resume(self, caller: Caller, answers: dict[str, Any]) -> None:
        """Continue with the client's answers; questions left out count as not answered."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._caller = caller
        self.client, self.identity, self.record = caller.client, caller.identity, caller.record
        for key, answer in list(self._answers.items()):
            # Cancelled questions go; questions newer than `told` stay for the next round.
            if key not in self._sent_keys and not answer.done():
                continue
            del self._answers[key], self._input_requests[key]
            if answer.done():
                continue
            if is_object(answers.get(key)):
                answer.set_result(answers[key])
            else:
                answer.set_exception(JsonRpcError(code=INVALID_REQUEST, message="the client has not answered"))
        if not self._input_requests:
            self._request_added.clear()

    def take_input_requests(self) -> dict[str, dict[str, Any]]:
        """The open questions, now sent to the client."""
        self._sent_keys = list(self._input_requests)
        return dict(self._input_requests)

    async def next(self) -> dict[str, Any] | None:
        """The result, or `None` if there are questions first. Cancelling it cancels the call."""
        assert self._task is not None, "a call is started before it is waited for"
        request_task = asyncio.create_task(self._request_added.wait())
        try:
            await asyncio.wait({self._task, request_task}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.stop()
            raise
        finally:
            request_task.cancel()
        if self._task.done():
            return self._task.result()
        self._caller = None
        return None

    def expire_after(self, after_s: float, forget: Callable[[], object]) -> None:
        def cancel() -> None:
            forget()
            self.stop()

        self._expiry = asyncio.get_running_loop().call_later(after_s, cancel)

    def stop(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if self._task is not None:
            # For a failed task too: asyncio then does not log that its error was never retrieved.
            self._task.cancel()

    async def notify(self, method: str, params: Params) -> None:
        if self._caller is not None:
            await self._caller.notify(method, params)

    async def pause(self) -> None:
        """Nothing: a 2026-07-28 client cannot resume a stream."""

    async def ask(self, method: str, params: Params) -> dict[str, Any]:
        """The client's answer, after it has resumed the call."""
        if method not in INPUT_REQUEST_METHODS:
            raise JsonRpcError(code=METHOD_NOT_FOUND, message="Method not found")
        self.client.check_capability(method, params)
        self._request_count += 1
        key = f"q{self._request_count}"
        self._input_requests[key] = {"method": method} if params is None else {"method": method, "params": params}
        self._answers[key] = asyncio.get_running_loop().create_future()
        self._request_added.set()
        return await self._answers[key]

    def _fail_open_requests(self) -> None:
        """Fail the open questions: the tasks that wait for them may not be cancelled with the call."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(JsonRpcError(code=INVALID_REQUEST, message="the call is over"))
