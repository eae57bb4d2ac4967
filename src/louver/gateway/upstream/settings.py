"""The settings of an upstream that its sessions need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.transports.transport import Link, Listener
    from louver.gateway.upstream.policy_guard import Guard
    from louver.gateway.upstream.tool_pins import OnChange


@dataclass(frozen=True, slots=True)
class Terms:
    link: Callable[[Listener], Link]  # makes a transport
    timeout_s: float  # longest silence during a call
    isolated: bool  # each handshake client has its own session
    per_era: bool  # sessions in both kinds of revisions at once; a single process speaks only one
    guard: Guard | None = None  # `None` without a policy
    on_change: OnChange = "warn"  # what happens to a tool that changed
