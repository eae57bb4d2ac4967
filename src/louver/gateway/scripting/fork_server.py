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

from louver.gateway.scripting.confine import confine
from louver.limits import NICENESS, SPARE_CHILDREN

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class _Child:
    pid: int
    socket: socket.socket  # until it is handed to the gateway
    pipe: int  # becomes readable when the worker has ended


class Zygote:
    """The fork server; `body` runs in each worker and gets the file descriptor of the worker's socket."""

    def __init__(self, control: socket.socket, body: Callable[[int], None], *, strict: bool) -> None:
        self._control = control
        self._body = body
        self._strict = strict
        self._children: dict[int, _Child] = {}
        self._spares: list[_Child] = []
        self._unread = b""

    def serve(self) -> None:
        """Follow the gateway's orders until it closes the control socket; then kill all workers."""
        self._tell({"ready": True})
        self._fill()
        try:
            while self._turn():
                pass
        finally:
            for child in list(self._children.values()):
                self._end(child)

    def _turn(self) -> bool:
        """Wait for events and handle them; return whether the gateway is still connected."""
        pipes = {child.pipe: child for child in self._children.values()}
        ready, _, _ = select.select([self._control, *pipes], [], [])
        for pipe in pipes.keys() & {one for one in ready if isinstance(one, int)}:
            self._end(pipes[pipe])
        if self._control not in ready:
            return True
        data = self._control.recv(4096)
        *lines, self._unread = (self._unread + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
        return bool(data)

    def _obey(self, order: dict[str, Any]) -> None:
        if "give" in order:
            self._give()
        elif (child := self._children.get(order["kill"])) is not None:
            self._end(child)

    def _give(self) -> None:
        child = self._spares.pop(0) if self._spares else self._fork()
        self._tell({"given": child.pid}, child.socket)
        child.socket.close()
        self._fill()

    def _fill(self) -> None:
        while len(self._spares) < SPARE_CHILDREN:
            self._spares.append(self._fork())

    def _end(self, child: _Child) -> None:
        """Kill a worker, if it still runs, and reap it."""
        os.kill(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        os.close(child.pipe)
        child.socket.close()
        del self._children[child.pid]
        if child in self._spares:
            # Not replaced before the next request: workers that die at once would be forked forever.
            self._spares.remove(child)
        how = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {"status": os.WEXITSTATUS(status)}
        self._tell({"ended": child.pid, **how})

    def _fork(self) -> _Child:
        ours, theirs = socket.socketpair()
        pipe, held = os.pipe()
        zygote = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_child(zygote, theirs.fileno(), held)
        theirs.close()
        os.close(held)
        child = self._children[pid] = _Child(pid, ours, pipe)
        return child

    def _become_child(self, zygote: int, channel: int, held: int) -> None:
        """Run as the worker; never returns."""
        status = 1
        try:
            # Move the socket and the pipe to descriptors 0 and 1, which are not in use, and close all others.
            channel, held = os.dup(channel), os.dup(held)
            os.dup2(channel, 0)
            os.dup2(held, 1)
            os.closerange(2, os.sysconf("SC_OPEN_MAX"))
            confine(zygote, strict=self._strict)
            self._body(0)
            status = 0
        finally:
            os._exit(status)

    def _tell(self, what: dict[str, Any], given: socket.socket | None = None) -> None:
        line = json.dumps(what).encode() + b"\n"
        try:
            if given is None:
                self._control.sendall(line)
            else:
                socket.send_fds(self._control, [line], [given.fileno()])
        except OSError:
            # The gateway has gone; the next `_turn` notices it.
            return


def main(control: int, body: str, level: str) -> None:
    """Serve on the descriptor `control`; `body` is `package.module:function`, `level` is `strict` or `process`."""
    module, _, name = body.partition(":")
    with socket.socket(fileno=control) as channel:
        try:
            does = getattr(import_module(module), name)
        except (ImportError, OSError) as error:
            channel.sendall(json.dumps({"unavailable": type(error).__name__}).encode() + b"\n")
            sys.exit(1)
        # Frozen objects are never traversed by the collector, so their memory pages stay shared with the workers.
        gc.collect()
        gc.freeze()
        # Scripts get a lower CPU priority than the rest of the machine.
        os.nice(NICENESS)
        Zygote(channel, does, strict=level == "strict").serve()
