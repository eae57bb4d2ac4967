"""The instruments of the gateway, of OpenTelemetry: they cost next to nothing without a provider.

mcp.server.operation.duration    seconds   by method, server and tool, and by the kind of an error
louver.answers                   answers   that projection could have trimmed, and those that it has not
louver.answer.size               bytes     whole, as the server behind gave it, and sent
louver.answer.tokens             tokens    the same, estimated
louver.upstream.up               1 or 0    by server, once it was needed
louver.requests.refused          requests  over HTTP, by the status: budgets and rates

No value, no name of a principal, no argument. Source: OpenTelemetry's semantic conventions for MCP; TEAM.md.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.metrics import Observation, get_meter

from louver.limits import CHARACTERS_A_TOKEN, MAX_SAVINGS_KEYS
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.requests import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opentelemetry.metrics import CallbackOptions

    from louver.steps.request import Next, Request, Step
    from louver.steps.savings.database import SavingsKey
    from louver.steps.savings.size import ShownSize
    from louver.steps.telemetry import Upstream

_METER: Final = get_meter("louver")
_SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_DURATION: Final = _METER.create_histogram(
    "mcp.server.operation.duration",
    unit="s",
    description="How long requests of clients take.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
_ANSWERS: Final = _METER.create_counter("louver.answers", description="Answers of tools, by whether they were trimmed.")
_SIZE: Final = _METER.create_counter("louver.answer.size", unit="By", description="Bytes of answers, whole and sent.")
_TOKENS: Final = _METER.create_counter(
    "louver.answer.tokens", unit="{token}", description="Estimated tokens of answers, whole and sent."
)
_REFUSED: Final = _METER.create_counter(
    "louver.requests.refused", description="HTTP requests over a budget or a rate, by status."
)

_OTHERS: Final = "*"
"""Stands for tools that have not answered yet, those after the first `MAX_SAVINGS_KEYS`, and what a peer invents."""

_ERROR_CODES: Final = range(-32768, -31999)  # JSON-RPC 2.0, 5.1


class _RequestMetrics:
    def __init__(self, owner_of: Callable[[str], tuple[str, str]]) -> None:
        self._owner_of = owner_of
        self._tools: set[tuple[str, str]] = set()

    async def __call__(self, request: Request, call_next: Next) -> dict[str, Any]:
        began = time.perf_counter()
        error = ""
        try:
            result = await call_next(request)
            error = _error_of(request, result)
        except JsonRpcError as raised:
            error = str(raised.code) if raised.code in _ERROR_CODES else _OTHERS
            raise
        except BaseException as raised:  # a cancelled request counts too
            error = type(raised).__name__
            raise
        finally:
            # A subscription lasts as long as its client wants.
            if request.method != "subscriptions/listen" and not request.is_extra:
                _DURATION.record(time.perf_counter() - began, self._attributes(request, error))
        return result

    def _attributes(self, request: Request, error: str) -> dict[str, str]:
        method = request.method if request.method in METHODS else _OTHERS
        found = {"mcp.method.name": method, **({"error.type": error} if error else {})}
        name: object = request.params.get("name")
        if request.method == "tools/call" and isinstance(name, str):
            server, tool = self._known(name, has_failed=bool(error))
            found |= {"louver.server": server, "gen_ai.tool.name": tool}
        return found

    def _known(self, name: str, *, has_failed: bool) -> tuple[str, str]:
        """The server and the tool; only an answer shows that a name is no invention of the client."""
        owned = self._owner_of(name)
        if owned not in self._tools:
            if has_failed or len(self._tools) >= MAX_SAVINGS_KEYS:
                return _OTHERS, _OTHERS
            self._tools.add(owned)
        return owned


def request_metrics(owner_of: Callable[[str], tuple[str, str]]) -> Step:
    """The step; `owner_of` maps a listed tool to the name of its server, and its own there."""
    return _RequestMetrics(owner_of)


def _error_of(request: Request, result: dict[str, Any]) -> str:
    if request.record.is_withheld:
        return "withheld"
    return "tool_error" if request.method == "tools/call" and result.get("isError") else ""


def count_answer(key: SavingsKey, whole: ShownSize | None, sent: ShownSize) -> None:
    """Count an answer of a tool; `whole` is `None` for a later part of a kept one."""
    of_tool = {"louver.server": key.server, "gen_ai.tool.name": key.tool}
    if whole is not None:
        _ANSWERS.add(1, {**of_tool, "louver.trimmed": sent.bytes < whole.bytes})
        _SIZE.add(whole.bytes, {**of_tool, "louver.form": "whole"})
        _TOKENS.add(round(whole.characters / CHARACTERS_A_TOKEN), {**of_tool, "louver.form": "whole"})
    _SIZE.add(sent.bytes, {**of_tool, "louver.form": "sent"})
    _TOKENS.add(round(sent.characters / CHARACTERS_A_TOKEN), {**of_tool, "louver.form": "sent"})


def count_refusal(status: int) -> None:
    _REFUSED.add(1, {"http.response.status_code": status})


def observe_upstreams(upstreams: Callable[[], Mapping[str, Upstream]]) -> None:
    """Report which upstreams are there, whenever metrics are read."""

    def observe(_: CallbackOptions) -> Iterable[Observation]:
        states = {name: upstream.state for name, upstream in upstreams().items()}
        return [Observation(int(at == "up"), {"louver.server": name}) for name, at in states.items() if at != "unused"]

    _METER.create_observable_gauge("louver.upstream.up", [observe], description="1 if a server behind is there.")
