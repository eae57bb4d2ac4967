"""The answers of one server as its callers may see them; each large answer and each list is filtered in a thread."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from louver.concurrency.offload import in_thread, run_cancellable
from louver.steps.policy.raw import Raw
from louver.wire.jsonrpc.errors import JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.policy.principal import Principal
    from louver.steps.call_record import CallRecord
    from louver.steps.policy.enforcer import PolicyEnforcer

_LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")


class VisibleAnswers:
    def __init__(self, enforcer: PolicyEnforcer) -> None:
        self.enforcer = enforcer
        # One tool list at a time: the first derives the tools' schemas for all, and lists keep their order.
        self._list_lock = anyio.Lock(fast_acquire=True)

    async def raw(self, record: CallRecord, send: Callable[[], Awaitable[dict[str, Any]]]) -> Raw[dict[str, Any]]:
        """What `send` gets from the server; a policy decides what of an error is passed on."""
        try:
            return Raw(await send())
        except JsonRpcError as error:
            raise self.enforcer.refusal(error, record) from None

    async def visible(
        self,
        method: str,
        tool: dict[str, Any] | None,  # the definition of a called tool, from the server's list
        principal: Principal,
        record: CallRecord,
        send: Callable[[], Awaitable[dict[str, Any]]],
    ) -> dict[str, Any]:
        """The visible part of what `send` gets from the server."""
        if tool is not None:
            # Not only once it answers: a call that is cancelled, or fails, may have run.
            record.has_run = True
        raw = await self.raw(record, send)
        if method in _LISTS:
            lock = self._list_lock if method == "tools/list" else nullcontext()
            async with lock:
                return (await run_cancellable(partial(self.enforcer.visible_list, method, raw, principal))).value
        if tool is not None:
            filter_result = partial(self.enforcer.visible_call_result, raw, tool, principal, record)
        else:
            filter_result = partial(self.enforcer.visible_result, raw, record)
        return (await in_thread(filter_result) if raw.is_large else filter_result()).value
