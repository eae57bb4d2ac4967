"""Count what the layers behind this one save: the answer that a client gets, against the answers of upstreams.

tools/call                                      whole: the answers of upstreams; sent: the answer
tools/call of `read_result`, resources/read     whole: nothing, since it counts with the call; sent: the part

Errors do not count, nor do answers that no upstream has part in.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from louver.catalogue.hosts import UNKNOWN, host_of
from louver.server.call_record import UpstreamAnswer, UpstreamAnswers
from louver.server.calls.call import skip_reason
from louver.server.recipient import client_name
from louver.server.results.results import is_kept_result
from louver.server.savings.counter import Whole

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from louver.catalogue.hosts import Host
    from louver.server.request import Next, Request
    from louver.server.savings.counter import SavingsCounter


class SavingsMiddleware:
    """The middleware; `owner_of` maps a listed tool to the name of its server, and its own there."""

    def __init__(
        self, counter: SavingsCounter, owner_of: Callable[[str], tuple[str, str]], hosts: Mapping[str, Host]
    ) -> None:
        self._counter = counter
        self._owner_of = owner_of
        self._hosts = hosts

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        if request.method == "tools/call" or is_kept_result(request):
            return self._count(request, call_next)
        return call_next(request)

    async def _count(self, request: Request, call_next: Next) -> dict[str, Any]:
        host = host_of(client_name(request), self._hosts)
        # Most hosts show one form of an answer: of one that is not known, the shorter form counts.
        shown = "structured" if host is UNKNOWN else host.shown
        record = request.record
        answers = record.answers = UpstreamAnswers(partial(self._counter.measure, shown=shown))
        result = await call_next(request)
        if skip_reason(result) is not None:
            return result
        found = answers.found
        if not found and record.tool:
            found = [UpstreamAnswer(record.tool, None, "kept")]
        if found:
            self._counter.add([Whole(*self._owner_of(each.tool), each) for each in found], result, shown)
        return result
