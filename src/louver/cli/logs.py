"""Logs of the commands on standard error, as text or as JSON lines, and the access log on standard output.

    text     2026-01-01T12:00:00Z louver: memory: a line that the server 'memory' has written to its own standard error
    plain    the same without the time, for commands that somebody waits for
    json     {"time": "2026-01-01T12:00:00.000Z", "level": "ERROR", "logger": "louver.gateway", "message": ...}

No line holds a value of a tool's output. Libraries that would log what they read are silenced.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from contextlib import suppress
from queue import Full, Queue
from threading import Thread
from time import gmtime
from typing import TYPE_CHECKING, Final, Literal

from louver.concurrency.budget import Tally
from louver.core.json import compact
from louver.core.moment import moment
from louver.gateway.back.upstreams import LOGGER_PREFIX

if TYPE_CHECKING:
    from typing import TextIO

LAST_WORDS = 10
"""Last lines of a server's standard error that are shown if the server is unavailable."""


MAX_UNWRITTEN_LINES = 10_000
LINES_CLOSING_S = 1.0
"""Lines of the access log that wait for their reader, some 3 MB, and how long a process that ends waits for it, in
seconds; further ones are dropped."""

logger = logging.getLogger(__name__)

LogFormat = Literal["text", "plain", "json"]

# The SDK's errors quote messages, and httpx2 logs every URL, which may hold a secret. Warnings of OpenTelemetry quote
# the headers of its variables and of clients, and each retry is one.
_LIBRARY_LEVELS: Final = {
    "mcp": logging.CRITICAL,
    "httpx2": logging.WARNING,
    "uvicorn": logging.WARNING,
    "opentelemetry.exporter": logging.ERROR,
    "opentelemetry.trace": logging.ERROR,
    "opentelemetry.util": logging.ERROR,
}


def configure(log_format: LogFormat, level: int = logging.INFO) -> None:
    """Log to standard error from now on, at this level and above."""
    handler = logging.StreamHandler()
    handler.setLevel(level)
    line = "louver: %(server)s%(message)s"
    text = _Text(line if log_format == "plain" else f"%(asctime)s {line}", "%Y-%m-%dT%H:%M:%SZ")
    handler.setFormatter(_Json() if log_format == "json" else text)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    silence_libraries()


class StderrTail(logging.Handler):
    """Keeps the last lines of each server's standard error, which explain why it is unavailable."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[str, deque[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.startswith(LOGGER_PREFIX):
            lines = self._lines.setdefault(record.name.removeprefix(LOGGER_PREFIX), deque(maxlen=LAST_WORDS))
            lines.append(record.getMessage())

    def lines_of(self, upstream: str) -> list[str]:
        return list(self._lines.get(upstream, ()))


def is_json() -> bool:
    """Whether logs are written as JSON lines."""
    return any(isinstance(handler.formatter, _Json) for handler in logging.getLogger().handlers)


def silence_libraries() -> None:
    """Silence libraries that log what they read."""
    for name, level in _LIBRARY_LEVELS.items():
        logging.getLogger(name).setLevel(level)


class _Text(logging.Formatter):
    """Formats one line; the lines of a server have its name."""

    converter = gmtime

    def format(self, record: logging.LogRecord) -> str:
        is_of_server = record.name.startswith(LOGGER_PREFIX)
        vars(record)["server"] = f"{record.name.removeprefix(LOGGER_PREFIX)}: " if is_of_server else ""
        return super().format(record)


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = moment(record.created)
        fields = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return compact(fields)


class LineOutput:
    """Lines to a standard stream, by a thread: a reader that stops delays nobody; what it does not read is dropped."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lines = Queue[bytes | None](MAX_UNWRITTEN_LINES)
        self._dropped = Tally(logger, "lines of output that are dropped")
        # A daemon: a process ends, also if nobody reads.
        self._thread = Thread(target=self._write, daemon=True)
        self._thread.start()

    def write(self, line: bytes) -> None:
        try:
            self._lines.put_nowait(line)
        except Full:
            self._dropped.add("its reader is too slow")

    def close(self) -> None:
        """Write what is left, if that is soon done."""
        with suppress(Full):
            self._lines.put(None, timeout=LINES_CLOSING_S)
            self._thread.join(LINES_CLOSING_S)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            # The reader may have ended; clients are served all the same.
            with suppress(OSError):
                os.write(self._stream.fileno(), line)
