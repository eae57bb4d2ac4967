"""Bindings of tasks to the clients that made them: others can neither read, cancel nor list them, nor hear of them.

Source: MCP 2025-11-25, "Tasks": receivers bind tasks to the authorization context of their request.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, members
from louver.wire.jsonrpc.errors import INVALID_PARAMS, JsonRpcError

if TYPE_CHECKING:
    from collections.abc import Hashable

MAX_PEER_TASKS = 1000
"""Tasks at one upstream that are bound to one client, and that it may read: hosts have a few at a time."""

MAX_TASK_PEERS = 1000
"""Clients of one upstream with bound tasks; of more, those that made one last."""


TASK_STATUS: Final = "notifications/tasks/status"
TASK_LIST: Final = "tasks/list"
TASK_METHODS: Final = ("tasks/get", "tasks/result", "tasks/cancel")


def task_id_of(result: dict[str, Any]) -> str | None:
    """The id of the task that a call has made, if any."""
    task_id = members(result["task"]).get("taskId") if "task" in result else None
    return task_id if isinstance(task_id, str) else None


class TaskBindings:
    """The last tasks of each peer; the one client over stdio, `None`, has all."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[Hashable, OrderedDict[str, None]] = OrderedDict()

    def check(self, peer: Hashable, params: dict[str, Any]) -> None:
        """Refuse a request about a task of another peer, as one about a task that does not exist."""
        if not self.is_of(peer, params.get("taskId")):
            raise JsonRpcError(code=INVALID_PARAMS, message="Unknown task")

    def bind(self, peer: Hashable, method: str, result: dict[str, Any]) -> dict[str, Any]:
        """The result, after its task was bound; a list holds the tasks of the peer alone."""
        if peer is None:
            return result
        if method == TASK_LIST and is_array(listed := result.get("tasks")):
            return {**result, "tasks": [each for each in listed if self.is_of(peer, members(each).get("taskId"))]}
        if (task_id := task_id_of(result)) is not None:
            self._add(peer, task_id)
        return result

    def is_of(self, peer: Hashable, task_id: object) -> bool:
        return peer is None or task_id in self._tasks.get(peer, ())

    def _add(self, peer: Hashable, task_id: str) -> None:
        tasks = self._tasks.setdefault(peer, OrderedDict())
        self._tasks.move_to_end(peer)
        tasks[task_id] = None
        if len(tasks) > MAX_PEER_TASKS:
            tasks.popitem(last=False)
        if len(self._tasks) > MAX_TASK_PEERS:
            self._tasks.popitem(last=False)
