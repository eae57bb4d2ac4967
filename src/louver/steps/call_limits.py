"""Limits on calls: of one caller, and of each tool that has a limit of its own.

They count what reaches a tool, by the name that `tools/list` shows: calls of scripts too, refused ones not.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from louver.errors import RateLimited
from louver.steps.pages import envelope
from louver.steps.rate_limit import RateLimiter, rate_limit_key
from louver.steps.refusals import error_result

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.steps.request import Next, Request
    from louver.steps.shared_state import SharedState


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """Calls of one caller in a minute; `None`: any number."""

    calls_per_minute: int | None = None
    # tool, by the name that clients see -> the same for it alone
    tools_per_minute: Mapping[str, int] = field(default_factory=dict[str, int])


class CallLimits:
    methods: Final = ("tools/call",)

    def __init__(self, settings: LimitSettings, server_info: dict[str, Any], state: SharedState | None) -> None:
        self.settings = settings
        self._server_info = server_info
        per_minute = settings.calls_per_minute
        self._calls = None if per_minute is None else RateLimiter("calls", per_minute, state=state)
        self._by_tool = {
            tool: RateLimiter(f"calls of {tool!r}", limit, state=state)
            for tool, limit in settings.tools_per_minute.items()
        }

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        # A call may look its tool up first.
        if request.method != "tools/call" or request.is_extra:
            return await call_next(request)
        name: object = request.params.get("name")
        of_tool = self._by_tool.get(name) if isinstance(name, str) else None
        try:
            for limiter in (of_tool, self._calls):
                if limiter is not None:
                    await limiter.admit(rate_limit_key(request))
        except RateLimited as error:
            return error_result(error, envelope(self._server_info, request))
        return await call_next(request)
