"""What a command that reaches servers writes of itself: lines on standard error, for a reader or for a program.

    text    louver: upstream 'memory' is not there: its process has ended
            louver: memory: what the server itself has written to its standard error
    json    {"time": "2026-01-01T12:00:00.000Z", "level": "ERROR", "logger": "louver.gateway", "message": ...}

No line holds a value of a tool's output. Libraries that would quote what they read are kept quiet.
"""

from __future__ import annotations

import logging
from collections import deque
from datetime import UTC, datetime
from typing import Final, Literal

from louver.core.json import compact
from louver.gateway.gateway import UPSTREAMS
from louver.limits import LAST_WORDS

Form = Literal["text", "json"]

_QUIET: Final = {"mcp": logging.CRITICAL, "httpx2": logging.WARNING, "uvicorn": logging.WARNING}
"""The SDK's errors quote messages, and httpx2 tells every URL, which may hold a secret."""


def configure(form: Form, level: int = logging.INFO) -> None:
    """Write logs from here on, of this level and above."""
    handler = logging.StreamHandler()
    handler.setLevel(level)
    handler.setFormatter(_Json() if form == "json" else _Text("louver: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    quieten()


class LastWords(logging.Handler):
    """Keeps what servers have written last to their standard error: it tells why one is not there."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[str, deque[str]] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line, if it is a server's."""
        if record.name.startswith(UPSTREAMS):
            lines = self._lines.setdefault(record.name.removeprefix(UPSTREAMS), deque(maxlen=LAST_WORDS))
            lines.append(record.getMessage())

    def of(self, upstream: str) -> list[str]:
        """The lines of one server."""
        return list(self._lines.get(upstream, ()))


def is_json() -> bool:
    """Whether a program reads what is written."""
    return any(isinstance(handler.formatter, _Json) for handler in logging.getLogger().handlers)


def quieten() -> None:
    """Let libraries write nothing that they have read."""
    for name, level in _QUIET.items():
        logging.getLogger(name).setLevel(level)


class _Text(logging.Formatter):
    """A line; what a server has written itself begins with its name."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if not record.name.startswith(UPSTREAMS):
            return line
        return f"louver: {record.name.removeprefix(UPSTREAMS)}: {record.getMessage()}"


class _Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        told = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return compact(told)
