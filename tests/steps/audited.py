"""Audit records for tests, and a process that writes some.

python audited.py FILE NAME COUNT     writes so many records, prints a line after each, then waits to be ended
"""

import asyncio
import sys
from pathlib import Path

from louver.policy.audit_record import Record
from louver.policy.principal import Principal
from louver.steps.audit.writer import AuditWriter

ANN, BOB = Principal("ann", "desk"), Principal("bob", "desk")
DAY_S = 86_400
NOW = 1_780_000_000.0


def record(**said):
    """A record of one call; what is said is so, the rest is as usual."""
    usual = {
        "time": NOW,
        "principal": "p",
        "server": "crm",
        "tool": "get_customer",
        "policy": "3",
        "mode": "include",
        "fields": ("name",),
        "kept": 1,
        "dropped": 4,
        "outcome": "answered",
        "duration_ms": 1.5,
        "correlation": "c",
    }
    return Record(**{**usual, **said})


async def _write(file, name, count):
    audit = AuditWriter(file, clock=lambda: NOW)
    for number in range(count):
        await audit.write(record(correlation=f"{name}-{number}"))
        print(number, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    asyncio.run(_write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
