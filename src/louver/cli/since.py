"""The option `--since` of reports."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Final

from louver.errors import InvalidInput

_UNITS: Final = {"d": 86_400, "h": 3600, "m": 60}


def read_since(text: str | None) -> float:
    """Seconds since the epoch, from an age such as `7d` or an ISO 8601 time (UTC if it names no zone); 0 without."""
    if text is None:
        return 0.0
    if match := re.fullmatch(r"(?P<number>[0-9]{1,6})(?P<unit>[dhm])", text):
        return max(0.0, time.time() - int(match["number"]) * _UNITS[match["unit"]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"--since takes 7d, 12h or 30m, or a time like 2026-01-31T12:00, not {text!r}") from None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
