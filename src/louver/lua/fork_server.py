"""Fork server: a small single-threaded process that forks a worker for each script.

    -> {"give": true}    <- {"given": 4711}, with the worker's socket     (first: {"ready": true})
    -> {"kill": 4711}    <- {"ended": 4711, "signal": 9} or {"ended": 4711, "status": 0}

It starts by exec, because a fork of the gateway would copy the gateway's locks and secrets. It both kills and reaps its
workers, so a pid is never another process's. When the gateway ends, the control socket closes and all workers die.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from louver.lua.confine import confine

if TYPE_CHECKING:
    from collections.abc import Callable

NICENESS = 10
"""The `nice` value of scripts: an endless loop gets a tenth of a busy core."""

SPARE_CHILDREN = 2
"""Processes ready for the next scripts: a fork takes longer than most scripts."""


@dataclass(frozen=True, slots=True)
class _Worker:
    pid: int
    socket: socket.socket  # until it is handed to the gateway
    pipe: int  # becomes readable when the worker has ended


class ForkServer:
    """The fork server; `body` runs in each worker and gets the file descriptor of the worker's socket."""

    def __init__(self, control: socket.socket, body: Callable[[int], None], *, strict: bool) -> None:
        self._control = control
        self._body = body
        self._strict = strict
        self._workers: dict[int, _Worker] = {}
        self._spares: list[_Worker] = []
        self._unread = b""

    def serve(self) -> None:
        """Follow the gateway's orders until it closes the control socket; then kill all workers."""
        self._send({"ready": True})
        self._fork_spares()
        try:
            while self._handle_events():
                pass
        finally:
            for worker in list(self._workers.values()):
                self._end(worker)

    def _handle_events(self) -> bool:
        """Wait for events and handle them; return whether the gateway is still connected."""
        pipes = {worker.pipe: worker for worker in self._workers.values()}
        ready, _, _ = select.select([self._control, *pipes], [], [])
        for pipe in pipes.keys() & {descriptor for descriptor in ready if isinstance(descriptor, int)}:
            self._end(pipes[pipe])
        if self._control not in ready:
            return True
        data = self._control.recv(4096)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._handle_order(json.loads(line))
        return bool(data)

    def _handle_order(self, order: dict[str, Any]) -> None:
        if "give" in order:
            self._hand_over()
        elif (worker := self._workers.get(order["kill"])) is not None:
            self._end(worker)

    def _hand_over(self) -> None:
        worker = self._spares.pop(0) if self._spares else self._fork()
        self._send({"given": worker.pid}, worker.socket)
        worker.socket.close()
        self._fork_spares()

    def _fork_spares(self) -> None:
        while len(self._spares) < SPARE_CHILDREN:
            self._spares.append(self._fork())

    def _end(self, worker: _Worker) -> None:
        """Kill a worker, if it still runs, and reap it."""
        os.kill(worker.pid, signal.SIGKILL)
        _, status = os.waitpid(worker.pid, 0)
        os.close(worker.pipe)
        worker.socket.close()
        del self._workers[worker.pid]
        if worker in self._spares:
            # Not replaced before the next request: workers that die at once would be forked forever.
            self._spares.remove(worker)
        outcome = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"status": os.WEXITSTATUS(status)}
        self._send({"ended": worker.pid, **outcome})

    def _fork(self) -> _Worker:
        gateway_end, worker_end = socket.socketpair()
        pipe, pipe_end = os.pipe()
        server_pid = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._run_worker(server_pid, worker_end.fileno(), pipe_end)
        worker_end.close()
        os.close(pipe_end)
        worker = self._workers[pid] = _Worker(pid, gateway_end, pipe)
        return worker

    def _run_worker(self, server_pid: int, channel: int, pipe_end: int) -> None:
        """Run as the worker; never returns."""
        status = 1
        try:
            # Move the socket and the pipe to descriptors 0 and 1, which are not in use, and close all others.
            channel, pipe_end = os.dup(channel), os.dup(pipe_end)
            os.dup2(channel, 0)
            os.dup2(pipe_end, 1)
            os.closerange(2, os.sysconf("SC_OPEN_MAX"))
            confine(server_pid, strict=self._strict)
            self._body(0)
            status = 0
        finally:
            os._exit(status)

    def _send(self, message: dict[str, Any], passed_socket: socket.socket | None = None) -> None:
        line = json.dumps(message).encode() + b"\n"
        try:
            if passed_socket is None:
                self._control.sendall(line)
            else:
                socket.send_fds(self._control, [line], [passed_socket.fileno()])
        except OSError:
            # The gateway has gone; the next `_turn` notices it.
            return


def main(control: int, body: str, level: str) -> None:
    """Serve on the descriptor `control`; `body` is `package.module:function`, `level` is `strict` or `process`."""
    module, _, name = body.partition(":")
    with socket.socket(fileno=control) as channel:
        try:
            function = getattr(import_module(module), name)
        except (ImportError, OSError) as error:
            channel.sendall(json.dumps({"unavailable": type(error).__name__}).encode() + b"\n")
            sys.exit(1)
        # Frozen objects are never traversed by the collector, so their memory pages stay shared with the workers.
        gc.collect()
        gc.freeze()
        # Scripts get a lower CPU priority than the rest of the machine.
        os.nice(NICENESS)
        ForkServer(channel, function, strict=level == "strict").serve()
