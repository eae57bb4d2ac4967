"""What a command does with its process: how signals end it, how many files it may open, and its places for state.

SIGTERM and SIGHUP end a command as Ctrl-C does: its work is cancelled, then SystemExit(128 + number) is raised. By
default Python would exit at once, and started servers that do not read their input would go on. `louver serve` has its
own handling, which waits for calls to finish.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from louver.catalogue.learned import state_folder
from louver.concurrency.places import remember_raised

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

MAX_OPEN_FILES = 65_536
"""Files to which a process raises its limit: three for each of `MAX_CLIENT_CONNECTIONS`."""


SAVINGS: Final = "savings.db"
LOGINS: Final = "logins"
CATALOGUES: Final = "catalogue"

_T = TypeVar("_T")


def state(name: str) -> Path | None:
    """A file or folder in the folder for state, if there is one."""
    try:
        return state_folder(os.environ) / name
    except RuntimeError:
        # The user has no home folder.
        return None


def raise_open_files() -> None:
    """Let the process open as many files as it may: clients get half of them, and the soft limit is often 1,024."""
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    # One less than the hard limit: a child that has raised its own to that differs from one that has inherited this.
    most = MAX_OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard_limit - 1)
    if soft_limit == resource.RLIM_INFINITY or soft_limit >= most:
        return
    # macOS has a lower bound of its own.
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard_limit))
        remember_raised(soft_limit)


def by_signal(end: Callable[[], None]) -> None:
    """Have SIGTERM, SIGINT and SIGHUP end what is served."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # A closing terminal sends SIGHUP to the gateway alone; `nohup` ignores it.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, end)


def run(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on a new event loop; raise SystemExit after a signal."""
    received: list[int] = []

    async def run_until_signal() -> _T:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None, "it is run as a task"

        def on_signal(number: int) -> None:
            received.append(number)
            task.cancel()

        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGHUP):
                # A signal that is ignored, as by `nohup`, stays ignored.
                if signal.getsignal(number) is signal.SIG_DFL:
                    loop.add_signal_handler(number, on_signal, number)
        return await work

    try:
        return asyncio.run(run_until_signal())
    except asyncio.CancelledError:
        if not received:
            raise
        raise SystemExit(128 + received[0]) from None
