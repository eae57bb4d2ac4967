"""Record every answer to a call, or to a read of a kept result, before it is sent: no record, no answer.

It runs outside projection, so a record holds what the client gets. A call that a built-in tool of the gateway makes is
recorded as that call. Source: PRIVACY.md, "Audit".
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from mcp import MCPError
from mcp_types import INTERNAL_ERROR

from louver.catalogue.policy.audit_record import Record
from louver.concurrency.offload import aside
from louver.core.json import is_object, members
from louver.core.paths.find import fields_of
from louver.core.wrapper import text_wrapper_in
from louver.errors import AuditFailed
from louver.protocol.names import PROJECTION, PROJECTION_LITERAL
from louver.protocol.output import find_output
from louver.server.refusals import error_result
from louver.server.results.results import is_kept_result
from louver.server.wire import envelope_of

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from louver.catalogue.policy.audit_record import Mode, Outcome
    from louver.catalogue.policy.principal import Principal
    from louver.core.json import Json
    from louver.server.call_record import CallRecord
    from louver.server.request import Next, Request


UNKNOWN: Final = "*"  # recorded as the name of a tool that does not exist


class Writer(Protocol):
    """Writes records (`louver.server.audit.writer.Audit`)."""

    def who(self, principal: Principal) -> str: ...

    async def write(self, record: Record) -> None:
        """Write a record and wait until it is durable; raise AuditFailed if it is not."""
        ...


@dataclass(frozen=True, slots=True)
class Owned:
    server: str
    tool: str  # the tool's name at the server
    policy: str  # version of the server's policy
    names: Set[str] = frozenset()  # names in the tool's output schema


class Auditing:
    """The middleware; `whose` maps a tool's public name to its owner, or to `None` if its calls are not recorded."""

    def __init__(self, audit: Writer, whose: Callable[[str, Principal], Owned | None]) -> None:
        self._audit = audit
        self._whose = whose

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method != "tools/call" and not is_kept_result(request):
            return await call_next(request)
        began = time.monotonic()
        request.record.is_wanted = True
        try:
            result = await call_next(request)
        except MCPError:
            await self._written(request, None, began)
            raise
        return await self._written(request, result, began)

    async def _written(self, request: Request, result: dict[str, Any] | None, began: float) -> dict[str, Any]:
        call, principal = request.record, request.identity.principal
        name: object = request.params.get("name") if call.tool is None else call.tool
        owned = self._whose(name, principal) if isinstance(name, str) else None
        if owned is not None:
            told = () if result is None else await aside(result, partial(_told, result, owned.names))
            record = Record(
                time=time.time(),
                principal=self._audit.who(principal),
                server=owned.server,
                tool=owned.tool,
                policy=owned.policy,
                mode=_mode(result),
                fields=told,
                kept=len(told),
                dropped=max(0, call.fields - len(told)),
                outcome=_outcome(call, result),
                duration_ms=round((time.monotonic() - began) * 1000, 3),
                correlation=call.correlation or secrets.token_hex(8),
            )
            try:
                await self._audit.write(record)
            except AuditFailed as error:
                if result is None or request.method != "tools/call":
                    raise MCPError(code=INTERNAL_ERROR, message=error.message) from None
                return error_result(error, envelope_of({**result, "_meta": {}}))
        return {} if result is None else result


def _told(result: dict[str, Any], names: Set[str]) -> tuple[str, ...]:
    shown = _shown(result)
    return () if shown is None else fields_of(shown, names)


def _shown(result: dict[str, Any]) -> Json:
    if result.get("isError"):
        return None
    contents: Any = result.get("contents")
    if contents and is_object(contents[0]) and isinstance(contents[0].get("text"), str):
        return json.loads(contents[0]["text"])
    output = find_output(result, text_wrapper_in(result.get("structuredContent")))
    return None if output is None else output.value


def _mode(result: dict[str, Any] | None) -> Mode:
    meta = members((result or {}).get("_meta"))
    said = members(meta.get(PROJECTION_LITERAL) or meta.get(PROJECTION))
    modes: dict[object, Mode] = {"include": "include", "exclude": "exclude", "view": "view"}
    return modes.get(said.get("mode"), "none") if said.get("applied") else "none"


def _outcome(call: CallRecord, result: dict[str, Any] | None) -> Outcome:
    if call.is_withheld:
        return "withheld"
    if result is not None and not result.get("isError"):
        return "answered"
    return "error" if call.has_run else "refused"
