"""Audit records: which fields of which tool went to whom, and never what stood in them.

    {"time": "2026-01-01T12:00:00.000Z", "principal": "9f2c...", "server": "crm", "tool": "get_customer", "policy": "3",
     "mode": "include", "fields": ["address.city", "name"], "kept": 2, "dropped": 5, "outcome": "answered",
     "durationMs": 12.5, "correlation": "5d1c..."}

Fields are named as the schema names them (`orders.*.total`), so that a key which is data stands in no record. Where
records are kept says `louver.server.audit.writer`. Source: PRIVACY.md, "Audit".
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from louver.core.json import Json

Mode = Literal["none", "include", "exclude", "view"]
"""How the client asked for a part; `none` is a call that did not."""

Outcome = Literal["answered", "refused", "error", "withheld"]
"""What came of the call: an answer; a refusal before the tool ran; a tool's error; an answer that is held back."""


@dataclass(frozen=True, slots=True)
class Record:
    """One call.

    Args:
        time: When it was answered, in seconds since the epoch.
        principal: Who has called, as `Audit.who` names a principal.
        server: The upstream's name, or that of the server itself.
        tool: The tool's name, as the server has it.
        policy: The version of the policy that it was under, if it was under one.
        mode: How a part was asked for.
        fields: The paths that were matched, by the names of the schema.
        kept: Fields that went out.
        dropped: Fields that did not.
        outcome: What came of it.
        duration_ms: How long it took, in milliseconds.
        correlation: The id by which an error text and a log line name the call.
    """

    time: float
    principal: str
    server: str
    tool: str
    policy: str | None
    mode: Mode
    fields: tuple[str, ...]
    kept: int
    dropped: int
    outcome: Outcome
    duration_ms: float
    correlation: str

    def to_json(self) -> dict[str, Json]:
        """The record as one JSON object."""
        return {
            "time": moment(self.time),
            "principal": self.principal,
            "server": self.server,
            "tool": self.tool,
            "policy": self.policy,
            "mode": self.mode,
            "fields": list(self.fields),
            "kept": self.kept,
            "dropped": self.dropped,
            "outcome": self.outcome,
            "durationMs": self.duration_ms,
            "correlation": self.correlation,
        }


def moment(seconds: float) -> str:
    """A time in seconds since the epoch, as RFC 3339 writes it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
