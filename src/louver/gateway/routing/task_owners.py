"""Task owners: which of several upstreams a task id belongs to. Ids pass unchanged.

    tools/call {"name": "b__job", "task": {}}  <-  {"task": {"taskId": "786512e2"}}    786512e2 is b's
    tasks/get {"taskId": "786512e2"}           ->  b

Source: MCP 2025-11-25, "Tasks": an id is unique among the tasks of its server.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from louver.gateway.back.upstream import Upstream

MAX_TASKS = 10_000
"""Tasks of several servers with a known owner. For an older task the servers are asked."""


class TaskOwners:
    """The last `MAX_TASKS` tasks, by caller and id."""

    def __init__(self) -> None:
        self._owners: OrderedDict[tuple[Hashable, str], Upstream] = OrderedDict()

    def record(self, caller_key: Hashable, task_id: str, upstream: Upstream) -> None:
        """Record a task's owner; of two tasks with one id the later counts."""
        self._owners[caller_key, task_id] = upstream
        self._owners.move_to_end((caller_key, task_id))
        if len(self._owners) > MAX_TASKS:
            self._owners.popitem(last=False)

    def owner_of(self, caller_key: Hashable, task_id: str) -> Upstream | None:
        return self._owners.get((caller_key, task_id))
