r"""The process that makes processes: small, of one thread, without environment, files and rights to lose.

    -> {"give": true}        <- {"given": 4711}, with the child's socket
    -> {"kill": 4711}        <- {"ended": 4711, "signal": 9}
                             <- {"ended": 4711, "status": 0}
                             <- {"ready": true}, first

It is started anew by exec, so that nothing of the gateway's memory is in it, and forks for each script: in a thread
of the gateway a fork would take the gateway's locks and secrets along. Two children are kept ready. Since only their
parent can wait for them, and it is the one that kills them, no number is ever another process's by then.

What a child does is a parameter, `body`: a script (`child.py`), the self-test (`selftest.py`), whatever a test likes.
A child that has ended lets go of a pipe, by which that is seen. When the gateway ends, however that comes, the
control socket is at its end, and so is all of this.
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
    """A process, the socket to it until it is given away, and the pipe that tells of its end."""

    pid: int
    socket: socket.socket
    pipe: int


class Zygote:
    """One that serves a gateway.

    Args:
        control: The socket to the gateway.
        body: What a child does, given the descriptor of its socket.
        strict: How children are confined.
    """

    def __init__(self, control: socket.socket, body: Callable[[int], None], *, strict: bool) -> None:
        self._control = control
        self._body = body
        self._strict = strict
        self._children: dict[int, _Child] = {}
        self._spares: list[_Child] = []
        self._unread = b""

    def serve(self) -> None:
        """Do what the gateway asks until it is gone; then end all children."""
        self._tell({"ready": True})
        self._fill()
        try:
            while self._turn():
                pass
        finally:
            for child in list(self._children.values()):
                self._end(child)

    def _turn(self) -> bool:
        """Look after what there is to do. Whether the gateway is still there."""
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
        """Kill a child, or what is left of one."""
        os.kill(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        os.close(child.pipe)
        child.socket.close()
        del self._children[child.pid]
        if child in self._spares:
            # Not made anew before one is asked for: what ends at once would be made without end.
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
        """From here on this is the child, and it does not come back."""
        status = 1
        try:
            # Numbers 0 and 1 are free or of nobody: these two are moved there, and all others closed.
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
            # The gateway is gone, which the next turn sees.
            return


def main(control: int, body: str, level: str) -> None:
    """Serve on a descriptor.

    Args:
        control: The descriptor's number.
        body: What children do, as `package.module:function`.
        level: `strict` or `process`.
    """
    module, _, name = body.partition(":")
    with socket.socket(fileno=control) as channel:
        try:
            does = getattr(import_module(module), name)
        except (ImportError, OSError) as error:
            channel.sendall(json.dumps({"unavailable": type(error).__name__}).encode() + b"\n")
            sys.exit(1)
        # What is there now is never collected, and so not copied for each child.
        gc.collect()
        gc.freeze()
        # Scripts take what others leave.
        os.nice(NICENESS)
        Zygote(channel, does, strict=level == "strict").serve()
