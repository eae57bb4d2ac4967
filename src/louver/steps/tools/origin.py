"""Where tools come from: the server of each, and whether its tools are still those that were listed.

An attached server is one server, which is always there. The gateway has several, which open, restart and change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.steps.request import Request


class ToolPlace(NamedTuple):
    server: str | None  # the server to list for a tool; `None`: there is but one
    session: int  # number of the session that the caller has with it


class ToolOrigin(NamedTuple):
    server: str | None  # as in the place; `None` too if the name of the tool is of no server
    place: ToolPlace | None  # `None`: no session is open for the caller, so nothing is known of the tool
    generation: int = 0  # another one once the tools in this place may have changed


class ToolOrigins(Protocol):
    def of(self, request: Request, tool: str) -> ToolOrigin:
        """The origin of a tool by its listed name, now."""
        ...

    def generations(self, request: Request) -> Mapping[ToolPlace, int]:
        """The places that are open for the caller now, each with its generation."""
        ...


class _AttachedServer:
    """The origins of an attached server's tools: always one place."""

    def of(self, request: Request, tool: str) -> ToolOrigin:
        return ToolOrigin(None, _PLACE)

    def generations(self, request: Request) -> Mapping[ToolPlace, int]:
        return {_PLACE: 0}


_PLACE: Final = ToolPlace(None, 0)
ATTACHED_SERVER: Final = _AttachedServer()
