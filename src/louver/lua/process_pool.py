"""Process pool: the gateway's side of the fork server (`fork_server.py`, which shows the lines on the wire).

    child = await nursery.child()      a worker process that waits for a script, and a socket to it
    child.kill()                       at once
    await child.ended                  End(signal=24), End(status=0)

The gateway never kills a worker by its pid, which another process may already have: the fork server does it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from louver.errors import SandboxUnavailable
from louver.limits import SANDBOX_ENDING_S, SANDBOX_GIVING_S, SANDBOX_STARTING_S

_PACKAGES: Final = {"louver": Path(__file__).parents[1], "louver.lua": Path(__file__).parent}

# The packages are bare modules, so that the fork server does not run their `__init__.py` and all its imports.
_BOOT: Final = """\
import sys, types, json
given = json.loads(sys.argv[1])
sys.path[:] = given["path"]
for name, folder in given["packages"].items():
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [folder]
from louver.lua.fork_server import main
main(given["control"], given["body"], given["level"])
"""


def _absolute(path: list[str]) -> list[str]:
    return [os.path.abspath(folder) for folder in path]


def _not_started(error: OSError) -> SandboxUnavailable:
    return SandboxUnavailable(f"the sandbox's process cannot be started: {error.strerror}")


@dataclass(frozen=True, slots=True)
class ExitStatus:
    """How a worker ended: by a signal or with a status; neither if the fork server was lost."""

    signal: int | None = None
    status: int | None = None


@dataclass(eq=False)
class Worker:
    """A worker process that the fork server has handed over."""

    pid: int
    socket: socket.socket
    pool: ProcessPool
    is_killed: bool = False
    ended: asyncio.Future[ExitStatus] = field(init=False)

    def __post_init__(self) -> None:
        self.ended = asyncio.get_running_loop().create_future()

    def kill(self) -> None:
        self.pool.kill(self)


class ProcessPool:
    """One fork server and its workers; created by `start`."""

    def __init__(self, control: socket.socket, process: asyncio.subprocess.Process) -> None:
        self._loop = asyncio.get_running_loop()
        self._control = control
        self._process = process
        self._unread = b""
        self._sockets: deque[int] = deque()
        self._waiting: deque[asyncio.Future[Worker]] = deque()
        self._workers: dict[int, Worker] = {}
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self.is_alive = True
        control.setblocking(False)
        self._loop.add_reader(control.fileno(), self._read)

    @classmethod
    async def start(cls, body: str, level: str) -> ProcessPool:
        """Start a fork server and wait until it is ready; `body` is `package.module:function`, run by each worker."""
        try:
            control, server_end = socket.socketpair()
        except OSError as error:
            raise _not_started(error) from None
        boot_arguments = {
            "path": _absolute(sys.path),
            "packages": {name: str(folder) for name, folder in _PACKAGES.items()},
            "control": server_end.fileno(),
            "body": body,
            "level": level,
        }
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-S", "-c", _BOOT, json.dumps(boot_arguments)),
                pass_fds=(server_end.fileno(),),
                env={},
                cwd="/",
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            control.close()
            raise _not_started(error) from None
        except BaseException:  # after a cancellation, too, the socket must be closed
            control.close()
            raise
        finally:
            server_end.close()
        pool = cls(control, process)
        try:
            async with asyncio.timeout(SANDBOX_STARTING_S):
                await pool._ready
        except BaseException as error:  # and the process must end
            await pool.close()
            if isinstance(error, TimeoutError):
                raise SandboxUnavailable("the sandbox's process does not get ready", limit=SANDBOX_STARTING_S) from None
            raise
        return pool

    async def worker(self) -> Worker:
        """Return a worker that waits for its first frame."""
        if not self.is_alive:
            raise SandboxUnavailable("the sandbox's process has ended")
        future: asyncio.Future[Worker] = self._loop.create_future()
        self._waiting.append(future)
        self._send_order({"give": True})
        try:
            async with asyncio.timeout(SANDBOX_GIVING_S):
                return await future
        except TimeoutError:
            self.kill_server()
            raise SandboxUnavailable("the sandbox's process does not answer", limit=SANDBOX_GIVING_S) from None
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                future.result().kill()
            raise

    def kill(self, worker: Worker) -> None:
        worker.socket.close()
        if not worker.is_killed and not worker.ended.done():
            worker.is_killed = True
            self._send_order({"kill": worker.pid})

    def kill_server(self) -> None:
        """Kill a fork server that does not answer; the kernel then kills its workers."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
        self._mark_lost()

    async def close(self) -> None:
        """End the fork server and all its workers."""
        self._mark_lost()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(SANDBOX_ENDING_S):
                    await self._process.wait()
        finally:
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()

    def _send_order(self, order: dict[str, Any]) -> None:
        if not self.is_alive:
            return
        try:
            self._control.send(json.dumps(order).encode() + b"\n")
        except OSError:
            self._mark_lost()

    def _read(self) -> None:
        try:
            data, sockets, flags, _ = socket.recv_fds(self._control, 4096, 8)
        except BlockingIOError:
            return
        except OSError:
            data, sockets, flags = b"", [], 0
        self._sockets += sockets
        if flags & socket.MSG_CTRUNC:
            # The process ran out of descriptors and a socket was lost, so sockets no longer match the messages.
            self._mark_lost()
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            if self.is_alive:
                self._handle(json.loads(line))
        if not data:
            self._mark_lost()

    def _handle(self, message: dict[str, Any]) -> None:
        if "given" in message:
            worker = Worker(message["given"], socket.socket(fileno=self._sockets.popleft()), self)
            self._workers[worker.pid] = worker
            future = self._waiting.popleft()
            if future.done():
                worker.kill()
            else:
                future.set_result(worker)
        elif "ended" in message:
            if (worker := self._workers.pop(message["ended"], None)) is not None:
                worker.ended.set_result(ExitStatus(message.get("signal"), message.get("status")))
        elif "unavailable" in message:
            reason = f"the sandbox's process cannot load what it needs: {message['unavailable']}"
            self._ready.set_exception(SandboxUnavailable(reason))
        elif not self._ready.done():
            self._ready.set_result(None)

    def _mark_lost(self) -> None:
        """Mark the fork server and all its workers as ended."""
        if not self.is_alive:
            return
        self.is_alive = False
        self._loop.remove_reader(self._control.fileno())
        self._control.close()
        error = SandboxUnavailable("the sandbox's process has ended")
        for future in [self._ready, *self._waiting]:
            if not future.done():
                future.set_exception(error)
        if not self._ready.cancelled():
            # Mark the exception as retrieved, even if nothing awaits the future any more.
            self._ready.exception()
        for worker in self._workers.values():
            worker.ended.set_result(ExitStatus())
        for descriptor in self._sockets:
            os.close(descriptor)
        self._workers.clear()
        self._sockets.clear()
        self._waiting.clear()
