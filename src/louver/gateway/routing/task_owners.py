"""Whose a task of several servers is, by its id, which stays as the server has made it.

    tools/call {"name": "b__job", "task": {}}  <-  {"task": {"taskId": "786512e2"}}    786512e2 is of b
    tasks/get {"taskId": "786512e2"}           ->  b

Notifications of its state, and what is related to it, so pass as they are. The last `MAX_TASKS` are known. It is not
`tasks.py`, which are tasks of ours.

Source: MCP 2025-11-25, "Tasks"; an id is unique among the tasks of its server.
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
    """The id of the task that a call was answered with, if it was."""
    number = members(result["task"]).get("taskId") if "task" in result else None
    return number if isinstance(number, str) else None


class Jobs:
    """The tasks that are known, each by who has it made."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[Hashable, str], Upstream] = OrderedDict()

    def note(self, who: Hashable, number: str, upstream: Upstream) -> None:
        """Note whose a task is; of two of one id the later counts."""
        self._made[who, number] = upstream
        self._made.move_to_end((who, number))
        if len(self._made) > MAX_TASKS:
            self._made.popitem(last=False)

    def whose(self, who: Hashable, number: str) -> Upstream | None:
        """Whose it is, as far as is known."""
        return self._made.get((who, number))
