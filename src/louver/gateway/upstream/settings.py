"""What a configuration says of one upstream, as far as its sessions care."""

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
    """What a configuration says of an upstream.

    Args:
        link: Makes a link to it.
        timeout_s: How long it may be silent while it is called.
        isolated: Whether each client of the handshake era has a session of its own.
        per_era: Whether it can be spoken to in both eras at once: over HTTP, but not one process.
        guard: Stands before it, if it is under a policy.
        on_change: What becomes of a tool that is defined otherwise than before.
    """

    link: Callable[[Listener], Link]
    timeout_s: float
    isolated: bool
    per_era: bool
    guard: Guard | None = None
    on_change: OnChange = "warn"
