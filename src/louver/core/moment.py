"""A moment as logs and records write it: RFC 3339, in UTC, to the millisecond."""

from __future__ import annotations

from datetime import UTC, datetime


def moment(seconds: float) -> str:
    """`2026-01-01T12:00:00.000Z` for seconds since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
