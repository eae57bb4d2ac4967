r"""The gate before a tool: it runs only for callers who have read how it is described, or who call it rightly.

::

    tools/call get_issue {"number": 7}
    -> {"isError": true, "content": [{"type": "text", "text":
        "{\"error\": {\"code\": \"TOOL_DESCRIPTION_REQUIRED\", \"message\": ..., \"resource_uri\": ...}}"}]}

In the mode `on-error` nothing has to be read before: a call whose arguments fit runs, and any other is answered by the
tool's description, once.

It leads the way and guards nothing (000 section 10.1): whoever may call a tool may read its description, and a tool
that its caller does not see is left to the server, which says itself that there is none.
A grant is taken off a call before anybody else sees it, wherever it stands.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_object
from louver.errors import ToolDescriptionRequired
from louver.protocol.descriptions import uri_of
from louver.protocol.names import GRANT, GRANT_ARGUMENT
from louver.server.identity import principal_key, read_before
from louver.server.refusals import error_result

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.files.descriptions import Described
    from louver.catalogue.grants import Grants


class Gate:
    """Lets calls pass.

    Args:
        grants: Looks at grants; `None` lets every call pass that was not read for.
        envelope: What every result to this client has.
        on_error: Whether calls pass whose arguments fit, and no others.
    """

    def __init__(
        self,
        grants: Grants | None,
        envelope: Callable[[ServerRequestContext[Any, Any]], dict[str, Any]],
        *,
        on_error: bool = False,
    ) -> None:
        self._grants = grants
        self._envelope = envelope
        self._on_error = on_error

    async def call(
        self, described: Described | None, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> HandlerResult:
        """The tool's answer; or, if its description was not read, the error that says where it is read."""
        grants, inner = _taken_off(ctx, as_argument=described is None or described.takes_grant)
        if described is not None and not self._admits(described, grants, ctx):
            refused = ToolDescriptionRequired(described.name, uri_of(described.name))
            return error_result(refused, self._envelope(ctx))
        if self._on_error and described is not None:
            arguments = (inner.params or {}).get("arguments")
            if not described.takes({} if arguments is None else arguments):
                text = f"The arguments do not fit. {described.name} is described so: {compact(described.full)}"
                return {**self._envelope(ctx), "content": [{"type": "text", "text": text}], "isError": True}
        return await call_next(inner)

    def _admits(self, described: Described, given: list[str], ctx: ServerRequestContext[Any, Any]) -> bool:
        if self._grants is None:
            return True
        if (read := read_before(ctx, self._grants)) is not None:
            return read.get(described.name) == described.version
        grants, who = self._grants, principal_key()
        return any(grants.admits(grant, who, described.name, described.version) for grant in given)


def _taken_off(
    ctx: ServerRequestContext[Any, Any], *, as_argument: bool
) -> tuple[list[str], ServerRequestContext[Any, Any]]:
    """The grants that a call carries, and the call without them.

    Args:
        ctx: The call.
        as_argument: Whether the argument is ours.
    """
    params = dict(ctx.params or {})
    found: list[Any] = []
    meta: Any = params.get("_meta")
    if is_object(meta) and GRANT in meta:
        found.append(meta[GRANT])
        params["_meta"] = {key: value for key, value in meta.items() if key != GRANT}
    arguments: Any = params.get("arguments")
    if as_argument and is_object(arguments) and GRANT_ARGUMENT in arguments:
        found.append(arguments[GRANT_ARGUMENT])
        params["arguments"] = {name: value for name, value in arguments.items() if name != GRANT_ARGUMENT}
    if not found:
        return [], ctx
    said: Any = ctx.meta if ctx.meta is None else {key: value for key, value in ctx.meta.items() if key != GRANT}
    return [grant for grant in found if isinstance(grant, str)], replace(ctx, params=params, meta=said)
