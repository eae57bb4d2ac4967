"""Worker processes of `louver serve --http --workers N`: forks of one process, which starts those again that die.

Each has a socket of its own at the common address, among which the kernel spreads connections, and a private one on
loopback, over which the workers pass on requests that belong to one of them.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from louver.cli import terminal
from louver.core.secret_key import MIN_KEY_BYTES
from louver.errors import LouverError
from louver.gateway.front.endpoint import PATH
from louver.gateway.front.http import bind_socket
from louver.gateway.gateway import Replica
from louver.limits import WORKER_RESTART_S

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Generator

logger = logging.getLogger(__name__)

_LOOPBACK: Final = "127.0.0.1"
_CANNOT_SERVE: Final = 2  # as for the command without workers
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class ServingWorker:
    """One of the processes, seen by itself."""

    number: int  # from 0
    socket: socket.socket  # for the other workers
    replica: Replica
    parent: int  # a pipe that ends with the process which starts workers

    def end_with_parent(self, end: Callable[[], None]) -> None:
        """Call `end` if the process that starts workers dies."""
        loop = asyncio.get_running_loop()

        def on_end() -> None:
            loop.remove_reader(self.parent)
            end()

        loop.add_reader(self.parent, on_end)


class Workers:
    """The workers; `serve` runs in each of them."""

    def __init__(self, count: int, serve: Callable[[ServingWorker], None]) -> None:
        self._serve = serve
        self._parent, self._held = os.pipe()
        key = secrets.token_hex(MIN_KEY_BYTES)
        sockets = [bind_socket(_LOOPBACK, 0) for _ in range(count)]
        urls = [f"http://{_LOOPBACK}:{each.getsockname()[1]}{PATH}" for each in sockets]
        self._workers = [
            ServingWorker(number, sockets[number], Replica((key,), urls[number], frozenset(urls)), self._parent)
            for number in range(count)
        ]
        self._running: dict[int, ServingWorker] = {}  # by process id
        self._is_ending = False

    def run(self) -> int:
        """Start the workers, and wait until a signal has ended them, or one cannot serve; return the exit status."""
        restarted: set[int] = set()
        status = 0
        for each in _SIGNALS:
            if each != signal.SIGHUP or signal.getsignal(each) is not signal.SIG_IGN:
                signal.signal(each, self._end)
        for worker in self._workers:
            self._start(worker)
        while self._running:
            pid, ended = os.wait()
            # As process 1 of a container it gets the children of others, too.
            worker = self._running.pop(pid, None)
            if worker is None or self._is_ending:
                continue
            code = os.waitstatus_to_exitcode(ended)
            if code == _CANNOT_SERVE and worker.number not in restarted:
                # Another start would fail alike, and the clients at its socket would wait.
                status = _CANNOT_SERVE
                self._end()
                continue
            terminal.print_stderr(f"worker {worker.number} has ended with status {code}, and is started again")
            restarted.add(worker.number)
            time.sleep(WORKER_RESTART_S)
            self._start(worker)
        return status

    def _start(self, worker: ServingWorker) -> None:
        with _signals_blocked():
            if self._is_ending:
                return
            sys.stderr.flush()
            if (pid := os.fork()) != 0:
                self._running[pid] = worker
                return
            for each in _SIGNALS:
                if signal.getsignal(each) is not signal.SIG_IGN:
                    signal.signal(each, signal.SIG_DFL)
        self._work(worker)

    def _work(self, worker: ServingWorker) -> None:
        status = 1
        try:
            os.close(self._held)
            self._serve(worker)
            status = 0
        except LouverError as error:
            terminal.print_stderr(error.message)
            status = _CANNOT_SERVE
        except Exception:  # the other workers go on
            logger.exception("worker %d has failed", worker.number)
        finally:
            sys.stderr.flush()
            # The rest of the command is for the parent alone.
            os._exit(status)

    def _end(self, *_: object) -> None:
        self._is_ending = True
        for pid in self._running:
            # One may have been waited for just now.
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


@contextmanager
def _signals_blocked() -> Generator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
