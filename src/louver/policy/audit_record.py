"""Audit records: the fields of a tool that were sent to a principal, never their values.

    {"time": "2026-01-01T12:00:00.000Z", "principal": "9f2c...", "server": "crm", "tool": "get_customer", "policy": "3",
     "mode": "include", "fields": ["address.city", "name"], "kept": 2, "dropped": 5, "outcome": "answered",
     "durationMs": 12.5, "correlation": "5d1c..."}

Fields are paths of the schema (`orders.*.total`), so no record holds a key that is data. Without a schema they are of
names that look like those of fields. Source: PRIVACY.md, "Audit".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from louver.core.moment import moment

if TYPE_CHECKING:
    from louver.core.json import Json

# How the client requested a part; `none`: it did not.
Mode = Literal["none", "include", "exclude", "view"]

# A result; a refusal before the tool ran; an error of the tool; a result that was held back.
Outcome = Literal["answered", "refused", "error", "withheld"]


@dataclass(frozen=True, slots=True)
class Record:
    time: float  # of the answer, in seconds since the epoch
    principal: str  # as `Audit.who` names it
    server: str
    tool: str  # as the server names it
    policy: str | None  # version of the policy, if any applied
    mode: Mode
    fields: tuple[str, ...]
    kept: int  # number of fields sent
    dropped: int  # number of fields not sent
    outcome: Outcome
    duration_ms: float
    correlation: str  # also in the error text and the log line of the call

    def to_json(self) -> dict[str, Json]:
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
