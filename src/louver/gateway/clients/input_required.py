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

from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST

from louver.core.json import digest, is_object
from louver.limits import MAX_PARKED, MAX_ROUNDS, PARKED_S

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.gateway.clients.client import Caller
    from louver.jsonrpc.codec import Params

ANSWERS, STATE = "inputResponses", "requestState"
_FIRST_WAIT_S, _LAST_WAIT_S = 0.05, 0.25


async def answered(
    turn: Caller, params: dict[str, Any], call: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """The final result of a 2026-07-28 upstream, for a handshake client, which answers its questions meanwhile."""
    wait_s = _FIRST_WAIT_S
    said = params
    for _ in range(MAX_ROUNDS):
        result = await call(said)
        if result.get("resultType") != "input_required":
            return result
        asked: dict[str, Any] = result.get("inputRequests") or {}
        if asked:
            said = {**params, ANSWERS: await _all_asked(turn, asked)}
        else:
            # No questions: the upstream wants another call.
            await asyncio.sleep(wait_s)
            wait_s, said = min(2 * wait_s, _LAST_WAIT_S), params
        if STATE in result:
            said = {**said, STATE: result[STATE]}
    raise MCPError(code=INTERNAL_ERROR, message=f"the upstream has asked more than {MAX_ROUNDS} times in one call")


async def _all_asked(turn: Caller, questions: dict[str, Any]) -> dict[str, Any]:
    """The client's answers; if one is an error, the other requests are cancelled."""
    asking = {key: asyncio.ensure_future(_ask(turn, question)) for key, question in questions.items()}
    try:
        return dict(zip(asking, await asyncio.gather(*asking.values()), strict=True))
    finally:
        for each in asking.values():
            each.cancel()


async def _ask(turn: Caller, question: Any) -> dict[str, Any]:
    if not is_object(question) or not isinstance(question.get("method"), str):
        raise MCPError(code=INTERNAL_ERROR, message="the upstream asks something that is no question")
    return await turn.asked(question["method"], question.get("params"))


class Parked:
    """The calls that wait for answers of their clients."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}

    async def call(
        self,
        turn: Caller,
        method: str,
        params: dict[str, Any],
        owner: object,
        send: Callable[[Caller], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The result of a handshake upstream, or `input_required`; only the same `owner` can resume the call."""
        said = {key: value for key, value in params.items() if key not in (ANSWERS, STATE, "_meta")}
        state = params.get(STATE)
        if state is None:
            call = _Call(turn, owner)
            call.start(send)
        else:
            call = self._take(state, digest([method, said]), owner)
            call.resume(turn, params.get(ANSWERS) or {})
        result = await call.next()
        if result is None:
            # Only now, as few calls wait.
            call.subject = digest([method, said])
            return {"resultType": "input_required", "inputRequests": call.told(), STATE: self._park(call)}
        return result

    def close(self) -> None:
        for call in self._calls.values():
            call.stop()

    def _park(self, call: _Call) -> str:
        if len(self._calls) >= MAX_PARKED:
            # Evict the same owner's oldest call first, so one client cannot evict another's.
            own = (handle for handle, each in self._calls.items() if each.owner == call.owner)
            self._calls.pop(next(own, next(iter(self._calls)))).stop()
        handle = secrets.token_urlsafe(24)
        self._calls[handle] = call
        call.expire(PARKED_S, lambda: self._calls.pop(handle, None))
        return handle

    def _take(self, state: Any, subject: str, owner: object) -> _Call:
        call = self._calls.get(state) if isinstance(state, str) else None
        if call is None or (call.subject, call.owner) != (subject, owner):
            raise MCPError(code=INVALID_PARAMS, message="'requestState' is not that of a call which waits for answers")
        del self._calls[state]
        return call


class _Call:
    def __init__(self, turn: Caller, owner: object) -> None:
        self.subject = ""
        self.owner = owner
        self._questions: dict[str, dict[str, Any]] = {}
        self._told: list[str] = []
        self._turn: Caller | None = turn
        self.client, self.identity, self.record = turn.client, turn.identity, turn.record
        self._answers: dict[str, asyncio.Future[dict[str, Any]]] = {}
        self._asked = asyncio.Event()
        self._task: asyncio.Task[dict[str, Any]] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._count = 0

    def start(self, send: Callable[[Caller], Awaitable[dict[str, Any]]]) -> None:
        async def run() -> dict[str, Any]:
            try:
                return await send(self)
            finally:
                self._end_questions()

        self._task = asyncio.create_task(run())

    def resume(self, turn: Caller, answers: dict[str, Any]) -> None:
        """Continue with the client's answers; questions left out count as not answered."""
        if self._expiry is not None:
            self._expiry.cancel()
        self._turn = turn
        self.client, self.identity, self.record = turn.client, turn.identity, turn.record
        for key, answer in list(self._answers.items()):
            # Cancelled questions go; questions newer than `told` stay for the next round.
            if key not in self._told and not answer.done():
                continue
            del self._answers[key], self._questions[key]
            if answer.done():
                continue
            if is_object(answers.get(key)):
                answer.set_result(answers[key])
            else:
                answer.set_exception(MCPError(code=INVALID_REQUEST, message="the client has not answered"))
        if not self._questions:
            self._asked.clear()

    def told(self) -> dict[str, dict[str, Any]]:
        """The open questions, now sent to the client."""
        self._told = list(self._questions)
        return dict(self._questions)

    async def next(self) -> dict[str, Any] | None:
        """The result, or `None` if there are questions first. Cancelling it cancels the call."""
        assert self._task is not None, "a call is started before it is waited for"
        asked = asyncio.create_task(self._asked.wait())
        try:
            await asyncio.wait({self._task, asked}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self.stop()
            raise
        finally:
            asked.cancel()
        if self._task.done():
            return self._task.result()
        self._turn = None
        return None

    def expire(self, after_s: float, forget: Callable[[], object]) -> None:
        def give_up() -> None:
            forget()
            self.stop()

        self._expiry = asyncio.get_running_loop().call_later(after_s, give_up)

    def stop(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        if self._task is not None:
            # For a failed task too: asyncio then does not log that its error was never retrieved.
            self._task.cancel()

    async def heard(self, method: str, params: Params) -> None:
        if self._turn is not None:
            await self._turn.heard(method, params)

    async def paused(self) -> None:
        """Nothing: a 2026-07-28 client cannot resume a stream."""

    async def asked(self, method: str, params: Params) -> dict[str, Any]:
        """The client's answer, after it has resumed the call."""
        self.client.check_can(method, params)
        self._count += 1
        key = f"q{self._count}"
        self._questions[key] = {"method": method} if params is None else {"method": method, "params": params}
        self._answers[key] = asyncio.get_running_loop().create_future()
        self._asked.set()
        return await self._answers[key]

    def _end_questions(self) -> None:
        """Fail the open questions: the tasks that wait for them may not be cancelled with the call."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(MCPError(code=INVALID_REQUEST, message="the call is over"))
