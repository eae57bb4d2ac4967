"""The gate before a tool: a call runs only after its caller has read the tool's description.

It guides and protects nothing (000 section 10.1): every caller of a tool may read its description.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_object
from louver.errors import ToolDescriptionRequired
from louver.steps.disclosure.describe import as_text
from louver.steps.refusals import error_result
from louver.wire.descriptions import uri_of
from louver.wire.names import GRANT, GRANT_ARGUMENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.catalogue.files.descriptions import Described
    from louver.catalogue.grants import Grants
    from louver.steps.request import Next, Request


class Gate:
    """Admits calls by grants; without any, those with arguments that fit the description."""

    def __init__(self, grants: Grants | None, envelope: Callable[[Request], dict[str, Any]]) -> None:
        self._grants = grants
        self._envelope = envelope

    async def call(
        self, described: Described | None, request: Request, call_next: Next, *, is_for_model: bool
    ) -> dict[str, Any]:
        """The answer, or the error on the description; what a server does not list now is the server's to refuse."""
        grants, inner = _split_grants(request, as_argument=described is None or described.takes_grant)
        if described is not None and not self._admits(described, grants, request):
            error = ToolDescriptionRequired(described.name, uri_of(described.name))
            return error_result(error, self._envelope(request))
        if self._grants is None and described is not None:
            arguments = inner.params.get("arguments")
            problem = described.mismatch({} if arguments is None else arguments)
            if problem is not None:
                definition = as_text(described.full) if is_for_model else compact(described.full)
                text = f"The arguments do not fit: {problem}. {described.name} is described so:\n{definition}"
                return {**self._envelope(request), "content": [{"type": "text", "text": text}], "isError": True}
        return await call_next(inner)

    def _admits(self, described: Described, presented: list[str], request: Request) -> bool:
        if self._grants is None:
            return True
        if (read := request.read_before()) is not None:
            return read.get(described.name) == described.version
        grants, principal = self._grants, request.identity.key
        return any(grants.admits(grant, principal, described.name, described.version) for grant in presented)


def _split_grants(request: Request, *, as_argument: bool) -> tuple[list[str], Request]:
    """The grants of a call, and the call without them; with `as_argument` one may be among the arguments."""
    params = dict(request.params)
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
        return [], request
    return [grant for grant in found if isinstance(grant, str)], replace(request, params=params)
