"""Scripts of clients, plugged in where they can run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from louver.seams import plugged_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.gateway.back.upstream import Upstream
    from louver.gateway.builtin.step import BuiltInTool

Level = Literal["strict", "process"]


class ToolNames(Protocol):
    def clear(self) -> None:
        """Forget all names, after the servers behind the gateway have changed."""
        ...


class ScriptRunner(Protocol):
    level: Level

    @property
    def names(self) -> ToolNames: ...

    async def is_ready(self) -> bool:
        """Whether scripts can run."""
        ...

    async def close(self) -> None: ...


async def execute_tools(upstreams: Mapping[str, Upstream], scripts: ScriptRunner | None) -> list[BuiltInTool]:
    """Return the tool `execute` if scripts can run, else nothing."""
    if scripts is None or not await scripts.is_ready():
        return []
    return [plugged_in("lua.execute:Execute")(upstreams, scripts)]
