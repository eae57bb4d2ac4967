"""Every answer to a call is written down before it is sent; without a record there is no answer.

::

    tools/call                        -> a record, then the answer
    resources/read  louver://results/ -> likewise: fields of a kept result go to whoever reads them

It stands before projection, so what is written down is what the client gets. A call that one of the gateway's own
tools makes is written down as that call. Source: PRIVACY.md, "Audit".
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
from louver.server.call_record import Account, accounted
from louver.server.identity import principal_of
from louver.server.refusals import error_result
from louver.server.results.results import is_kept_result
from louver.server.wire import envelope_of, result_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.policy.audit_record import Mode, Outcome
    from louver.catalogue.policy.principal import Principal
    from louver.core.json import Json


UNKNOWN: Final = "*"
"""Instead of the name of a tool that is not there."""


class Writer(Protocol):
    """Where records are written (`louver.server.audit.writer.Audit`)."""

    def who(self, principal: Principal) -> str:
        """The name of a principal."""
        ...

    async def write(self, record: Record) -> None:
        """Write a record, and wait until it is durable.

        Raises:
            AuditFailed: It is not written.
        """
        ...


@dataclass(frozen=True, slots=True)
class Owned:
    """Whose a tool is.

    Args:
        server: The server's name.
        tool: The tool's name there.
        policy: The version of the server's policy.
        names: Those that the schema of the tool's output speaks of.
    """

    server: str
    tool: str
    policy: str
    names: Set[str] = frozenset()


class Auditing:
    """The middleware.

    Args:
        audit: Where records are written.
        whose: Whose a tool is, by the name that clients know; `None` where nothing is written down of it.
    """

    def __init__(self, audit: Writer, whose: Callable[[str], Owned | None]) -> None:
        self._audit = audit
        self._whose = whose

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer to one message."""
        is_read = is_kept_result(ctx)
        if ctx.method != "tools/call" and not is_read:
            return await call_next(ctx)
        began = time.monotonic()
        with accounted() as account:
            try:
                result = result_dict(await call_next(ctx))
            except MCPError:
                await self._written(ctx, account, None, began)
                raise
            return await self._written(ctx, account, result, began)

    async def _written(
        self, ctx: ServerRequestContext[Any, Any], account: Account, result: dict[str, Any] | None, began: float
    ) -> dict[str, Any]:
        """The answer, once it is written down."""
        name: object = (ctx.params or {}).get("name") if account.tool is None else account.tool
        owned = self._whose(name) if isinstance(name, str) else None
        if owned is not None:
            told = () if result is None else await aside(result, partial(_told, result, owned.names))
            record = Record(
                time=time.time(),
                principal=self._audit.who(principal_of()),
                server=owned.server,
                tool=owned.tool,
                policy=owned.policy,
                mode=_mode(result),
                fields=told,
                kept=len(told),
                dropped=max(0, account.fields - len(told)),
                outcome=_outcome(account, result),
                duration_ms=round((time.monotonic() - began) * 1000, 3),
                correlation=account.correlation or secrets.token_hex(8),
            )
            try:
                await self._audit.write(record)
            except AuditFailed as error:
                if result is None or ctx.method != "tools/call":
                    raise MCPError(code=INTERNAL_ERROR, message=error.message) from None
                return error_result(error, envelope_of({**result, "_meta": {}}))
        return {} if result is None else result


def _told(result: dict[str, Any], names: Set[str]) -> tuple[str, ...]:
    """The fields of the value that a client gets."""
    shown = _shown(result)
    return () if shown is None else fields_of(shown, names)


def _shown(result: dict[str, Any]) -> Json:
    """The value that a client gets; `None` if there is none."""
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


def _outcome(account: Account, result: dict[str, Any] | None) -> Outcome:
    if account.is_withheld:
        return "withheld"
    if result is not None and not result.get("isError"):
        return "answered"
    return "error" if account.has_run else "refused"
