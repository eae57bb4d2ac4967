"""Record every answer with the output of a tool before it is sent, also a kept or late one: no record, no answer.

Nor does a tool run while no record can be written. A call that is cancelled or fails is recorded too. It runs outside
projection, so a record holds what the client gets. A call that a built-in tool of the gateway makes is recorded as that
call. Source: PRIVACY.md, "Audit".
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from anyio import CancelScope

from louver.concurrency.offload import in_thread
from louver.core.json import is_object, members
from louver.core.paths.find import fields_of
from louver.core.wrapper import text_wrapper_in
from louver.errors import AuditFailed
from louver.limits import MAX_READ_ON_LOOP
from louver.policy.audit_record import Record
from louver.steps.pages import envelope_of
from louver.steps.refusals import error_result
from louver.steps.results.results import is_kept_result
from louver.wire.jsonrpc.errors import INTERNAL_ERROR, JsonRpcError
from louver.wire.names import PROJECTION, PROJECTION_LITERAL
from louver.wire.output import find_output, weight_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable, Set

    from louver.catalogue.entry import Entry
    from louver.core.json import Json
    from louver.policy.audit_record import Mode, Outcome
    from louver.policy.principal import Principal
    from louver.steps.call_record import CallRecord
    from louver.steps.policy.enforcer import PolicyEnforcer
    from louver.steps.request import Identity, Next, Request

MAX_AUDITED_TASKS = 10_000
"""Tasks that are known by the tool that made them. An older one is recorded without its tool."""


UNKNOWN_TOOL: Final = "*"  # recorded as the name of a tool that does not exist


class RecordWriter(Protocol):
    """Writes records (`louver.steps.audit.writer.AuditWriter`)."""

    def principal_digest(self, principal: Principal) -> str: ...

    async def check_room(self) -> None:
        """Raise AuditFailed if it is known that no record can be written."""
        ...

    async def write(self, record: Record, *, has_run: bool) -> None:
        """Write a record and wait until it is durable; raise AuditFailed if it is not.

        If the call `has_run`, its record is then written later, as of one that got no answer.
        """
        ...


@dataclass(frozen=True, slots=True)
class ToolOwner:
    server: str
    tool: str  # the tool's name at the server
    policy: str | None = None  # version of the server's policy
    names: Set[str] | None = None  # names in the tool's output schema; `None`: it names no field

    @classmethod
    def under_policy(cls, enforcer: PolicyEnforcer, tool: str, principal: Principal) -> ToolOwner:
        # The name of an unknown tool is the client's input: it is not recorded.
        recorded_name = tool if enforcer.is_served(tool) else UNKNOWN_TOOL
        return cls(enforcer.server, recorded_name, enforcer.policy.version, enforcer.names_of(tool, principal))

    @classmethod
    def as_listed(cls, server: str, tool: str, entry: Entry | None) -> ToolOwner:
        """The owner without a policy; `entry` is the tool as it was listed to the caller."""
        return cls(server, UNKNOWN_TOOL) if entry is None else cls(server, tool, names=entry.output_names)


class AuditStep:
    """The middleware; `owner_of` maps a tool's public name to its owner, or to `None` if its calls are not recorded."""

    methods: Final = ("tools/call", "resources/read", "tasks/result")

    def __init__(
        self,
        writer: RecordWriter,
        owner_of: Callable[[str, Identity], ToolOwner | None],
        # lets `owner_of` know a tool that a policy does not look up
        look_up: Callable[[str, Request], Awaitable[None]] | None = None,
    ) -> None:
        self._writer = writer
        self._owner_of = owner_of
        self._look_up = look_up
        self._tasks: OrderedDict[tuple[Hashable, object], str] = OrderedDict()  # by peer and id -> the tool

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "resources/read" and not is_kept_result(request):
            return await call_next(request)
        started = time.monotonic()
        request.record.is_wanted = True
        if request.method == "tasks/result":
            request.record.tool = self._tasks.get(_task_key(request, request.params), UNKNOWN_TOOL)
        await self._check_room(request)
        try:
            # Before it runs: a call that is cancelled, or fails, is recorded without waiting for a list.
            if self._look_up is not None and isinstance(name := request.params.get("name"), str):
                await self._look_up(name, request)
            result = await call_next(request)
        except JsonRpcError:
            await self._record_call(request, None, started)
            raise
        except (Exception, asyncio.CancelledError):
            request.record.is_withheld = request.record.has_run
            with CancelScope(shield=True), suppress(JsonRpcError):
                await self._record_call(request, None, started)
            raise
        return await self._record_call(request, result, started)

    async def _check_room(self, request: Request) -> None:
        """Refuse a call that would be recorded, if it is known that it cannot be."""
        try:
            await self._writer.check_room()
        except AuditFailed as error:
            name: object = request.params.get("name")
            # Looked up only now: most calls find room.
            if isinstance(name, str) and self._owner_of(name, request.identity) is not None:
                raise JsonRpcError(code=INTERNAL_ERROR, message=error.message) from None

    async def _record_call(self, request: Request, result: dict[str, Any] | None, began: float) -> dict[str, Any]:
        call, principal = request.record, request.identity.principal
        name: object = request.params.get("name") if call.tool is None else call.tool
        owned = self._owner_of(name, request.identity) if isinstance(name, str) else None
        if owned is None and request.method == "tasks/result":
            # Nobody knows which of several servers has made it.
            owned = ToolOwner(UNKNOWN_TOOL, UNKNOWN_TOOL)
        if owned is not None:
            if result is not None and "task" in result and isinstance(name, str):
                self._remember_task(_task_key(request, members(result["task"])), name)
            call.correlation = call.correlation or secrets.token_hex(8)
            sent = result if call.recorded is None or members(result).get("isError") else call.recorded
            # A policy has counted what it does not show, too, and of what is kept the whole is not here.
            has_whole = owned.policy is None and call.tool is None and call.received is not None
            whole = call.received if has_whole else sent
            name_fields = partial(_sent_fields, sent or {}, whole or {}, owned.names)
            fields, of_whole = await in_thread(name_fields) if weight_of(whole) > MAX_READ_ON_LOOP else name_fields()
            record = Record(
                time=time.time(),
                principal=self._writer.principal_digest(principal),
                server=owned.server,
                tool=owned.tool,
                policy=owned.policy,
                mode=_mode(result),
                fields=fields,
                kept=len(fields),
                dropped=max(0, (call.fields or of_whole) - len(fields)),
                outcome=_outcome(call, result),
                duration_ms=round((time.monotonic() - began) * 1000, 3),
                correlation=call.correlation,
            )
            try:
                await self._writer.write(record, has_run=call.has_run and request.method == "tools/call")
            except AuditFailed as error:
                if result is None or request.method != "tools/call":
                    raise JsonRpcError(code=INTERNAL_ERROR, message=error.message) from None
                return error_result(error, envelope_of({**result, "_meta": {}}))
        return {} if result is None else result

    def _remember_task(self, key: tuple[Hashable, object], tool: str) -> None:
        self._tasks[key] = tool
        if len(self._tasks) > MAX_AUDITED_TASKS:
            self._tasks.popitem(last=False)


def _task_key(request: Request, task: dict[str, Any]) -> tuple[Hashable, object]:
    task_id: object = task.get("taskId")
    return request.peer, task_id if isinstance(task_id, str) else None


def _sent_fields(sent: dict[str, Any], whole: dict[str, Any], names: Set[str] | None) -> tuple[tuple[str, ...], int]:
    """The fields of what is sent, and how many the whole has."""
    fields = _fields_in(sent, names)
    return fields, len(fields if whole is sent else _fields_in(whole, names))


def _fields_in(result: dict[str, Any], names: Set[str] | None) -> tuple[str, ...]:
    value = _sent_value(result)
    return () if value is None else fields_of(value, names)


def _sent_value(result: dict[str, Any]) -> Json:
    if result.get("isError"):
        return None
    contents: Any = result.get("contents")
    if contents and is_object(contents[0]) and isinstance(contents[0].get("text"), str):
        return json.loads(contents[0]["text"])
    output = find_output(result, text_wrapper_in(result.get("structuredContent")))
    return None if output is None else output.value


def _mode(result: dict[str, Any] | None) -> Mode:
    meta = members((result or {}).get("_meta"))
    receipt = members(meta.get(PROJECTION_LITERAL) or meta.get(PROJECTION))
    modes: dict[object, Mode] = {"include": "include", "exclude": "exclude", "view": "view"}
    return modes.get(receipt.get("mode"), "none") if receipt.get("applied") else "none"


def _outcome(call: CallRecord, result: dict[str, Any] | None) -> Outcome:
    if call.is_withheld:
        return "withheld"
    if result is not None and not result.get("isError"):
        return "answered"
    return "error" if call.has_run else "refused"
