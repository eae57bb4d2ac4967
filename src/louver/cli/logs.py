"""Logs of the commands on standard error, as text or as JSON lines.

    text    louver: memory: a line that the server 'memory' has written to its own standard error
    json    {"time": "2026-01-01T12:00:00.000Z", "level": "ERROR", "logger": "louver.gateway", "message": ...}

No line holds a value of a tool's output. Libraries that would log what they read are silenced.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final, Literal

from louver.core.json import compact
from louver.core.moment import moment
from louver.gateway.upstreams import LOGGER_PREFIX
from louver.limits import LAST_WORDS

LogFormat = Literal["text", "json"]

# The SDK's errors quote messages, and httpx2 logs every URL, which may hold a secret.
_LIBRARY_LEVELS: Final = {"mcp": logging.CRITICAL, "httpx2": logging.WARNING, "uvicorn": logging.WARNING}


def configure(log_format: LogFormat, level: int = logging.INFO) -> None:
    """Log to standard error from now on, at this level and above."""
    handler = logging.StreamHandler()
    handler.setLevel(level)
    handler.setFormatter(_Json() if log_format == "json" else _Text("louver: %(message)s"))
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
    """Formats one line; lines of a server begin with its name."""

    def format(self, record: logging.LogRecord) -> str:
        line = super().format(record)
        if not record.name.startswith(LOGGER_PREFIX):
            return line
        return f"louver: {record.name.removeprefix(LOGGER_PREFIX)}: {record.getMessage()}"


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        time = moment(record.created)
        fields = {"time": time, "level": record.levelname, "logger": record.name, "message": record.getMessage()}
        return compact(fields)
