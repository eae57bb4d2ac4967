"""Task owners: which of several upstreams a task id belongs to. Ids pass unchanged.

    tools/call {"name": "b__job", "task": {}}  <-  {"task": {"taskId": "786512e2"}}    786512e2 is b's
    tasks/get {"taskId": "786512e2"}           ->  b

Source: MCP 2025-11-25, "Tasks": an id is unique among the tasks of its server.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from louver.core.json import members
from louver.limits import MAX_TASKS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from louver.gateway.upstream.upstream import Upstream


def made_by(result: dict[str, Any]) -> str | None:
    """The id of the task that a call has made, if any."""
    number = members(result["task"]).get("taskId") if "task" in result else None
    return number if isinstance(number, str) else None


class Jobs:
    """The last `MAX_TASKS` tasks, by caller and id."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Hashable, str], Upstream] = OrderedDict()

    def note(self, who: Hashable, number: str, upstream: Upstream) -> None:
        """Record a task's owner; of two tasks with one id the later counts."""
        self._made[who, number] = upstream
        self._made.move_to_end((who, number))
        if len(self._made) > MAX_TASKS:
            self._made.popitem(last=False)

    def whose(self, who: Hashable, number: str) -> Upstream | None:
        return self._made.get((who, number))
