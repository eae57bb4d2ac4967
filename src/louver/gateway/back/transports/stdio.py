"""The transport over the pipes of a process, one message a line; all clients share the one pipe (`multiplexed.py`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from louver.errors import UpstreamError
from louver.gateway.back.transports.multiplexed import MultiplexedTransport
from louver.gateway.back.transports.process import Process
from louver.wire.jsonrpc import codec

if TYPE_CHECKING:
    import logging
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from louver.gateway.back.processes import ProcessBudget
    from louver.gateway.back.transports.budgets import UpstreamBudgets
    from louver.gateway.back.transports.transport import Listener


class StdioTransport(MultiplexedTransport[Process]):
    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,  # besides `HOME`, `PATH` and the like; no others are inherited
        cwd: str | PathLike[str] | None = None,
        listener: Listener,
        budgets: UpstreamBudgets | None = None,
        processes: ProcessBudget | None = None,  # shared by all upstreams
        logger: logging.Logger | None = None,  # gets the standard error
    ) -> None:
        super().__init__(listener, budgets, logger)
        self._command = command
        self._env = env or {}
        self._cwd = cwd
        self._processes = processes
        self._has_place = False

    async def _connect(self) -> Process:
        if self._processes is not None:
            await self._processes.take()
            self._has_place = True
        env = {**inherited_environment(), **self._env}
        return await Process.start(self._command, env, self._cwd, self._logger)

    async def _write(self, message: bytes) -> None:
        self._running.write(message)

    def _cancel(self, request_id: int) -> None:
        try:
            self._running.write(codec.notification("notifications/cancelled", {"requestId": request_id}))
        except UpstreamError as error:
            self._unsent.add(f"a cancellation: {error}")

    async def _disconnect(self) -> None:
        try:
            await super()._disconnect()
        finally:
            if self._processes is not None and self._has_place:
                self._processes.give_back()


# As in the SDK: others may hold secrets.
_INHERITED = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


def inherited_environment() -> dict[str, str]:
    """The variables that every command gets."""
    # What begins with "()" is a function of the shell.
    return {name: os.environ[name] for name in _INHERITED if not os.environ.get(name, "()").startswith("()")}
