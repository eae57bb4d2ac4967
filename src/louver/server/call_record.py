"""The record of a call: facts known only while it is answered, collected for the audit.

audit ── projection ── ... ── policy
  └──────── record ─────────────┘       the tool has run; 3 of its fields are not visible; id 5d1c...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class CallRecord:
    is_wanted: bool = False  # by an audit
    received: dict[str, Any] | None = None  # the result as an upstream sent it
    tool: str | None = None  # owner of the output, if the request does not name it
    has_run: bool = False
    is_withheld: bool = False
    fields: int = 0  # fields of the unpruned output
    correlation: str | None = None  # id of an error in the log
