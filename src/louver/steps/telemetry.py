"""Metrics and spans of OpenTelemetry, plugged in where a provider is set: without one nothing is measured or loaded."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Final, Literal, Protocol

from louver.seams import plugged_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.steps.request import Step
    from louver.steps.savings.database import SavingsKey
    from louver.steps.savings.size import ShownSize


class Upstream(Protocol):
    @property
    def state(self) -> Literal["up", "down", "unused"]: ...


class Metrics(Protocol):
    def request_metrics(self, owner_of: Callable[[str], tuple[str, str]]) -> Step:
        """The step; `owner_of` maps a listed tool to the name of its server, and its own there."""
        ...

    def count_answer(self, key: SavingsKey, whole: ShownSize | None, sent: ShownSize) -> None:
        """Count an answer of a tool; `whole` is `None` for a later part of a kept one."""
        ...

    def count_refusal(self, status: int) -> None: ...

    def observe_upstreams(self, upstreams: Callable[[], Mapping[str, Upstream]]) -> None:
        """Report which upstreams are there, whenever metrics are read."""
        ...


def metrics() -> Metrics | None:
    """The metrics of this process; `None` while its program has set no provider."""
    return plugged_in("team.metrics") if _may_be_set("metrics") and _has_meter() else None


def tracing() -> Step | None:
    """The step that makes spans; `None` without a provider: one set later counts from the next configuration on."""
    if not _may_be_set("trace"):
        return None
    # Lazy import: only a program that has loaded OpenTelemetry needs it.
    from louver.steps.tracing import is_traced, trace_request

    return trace_request if is_traced() else None


def _may_be_set(part: str) -> bool:
    """Whether the program has loaded this part of OpenTelemetry, or its environment names a provider."""
    return f"opentelemetry.{part}" in sys.modules or _IS_NAMED


def _has_meter() -> bool:
    # Lazy import, for the same reason.
    from opentelemetry.metrics import get_meter_provider

    # What stands for a provider until one is set is of the API.
    return not type(get_meter_provider()).__module__.startswith("opentelemetry.metrics")


_IS_NAMED: Final = not {"OTEL_PYTHON_METER_PROVIDER", "OTEL_PYTHON_TRACER_PROVIDER"}.isdisjoint(os.environ)
