"""Count what the layers behind this one save: what a client gets, against what upstreams answer and list.

tools/call                                      whole: the answers of upstreams; sent: the answer
tools/call of `read_result`, resources/read     whole: nothing, since it counts with the call; sent: the part
tools/call of a built-in tool that finds tools  whole: nothing; sent: the answer
tools/list, once a connection                   whole: the tools of upstreams; sent: the list

Errors do not count, nor do lists of hosts that load tools on demand.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.hosts import UNKNOWN, host_of
from louver.core.json import members
from louver.steps.call_record import ServerAnswer, ServerAnswers
from louver.steps.calls.call import skip_reason
from louver.steps.recipient import client_name
from louver.steps.results.results import is_kept_result
from louver.steps.savings.counter import Whole
from louver.steps.savings.database import LOUVER
from louver.steps.savings.size import list_size
from louver.steps.tools.registry import all_tools
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.names import PREFIX, QUERY, SERVER

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver.catalogue.hosts import Shown
    from louver.steps.request import Next, Request
    from louver.steps.savings.counter import SavingsCounter


_LISTED: Final = f"{PREFIX}listed"  # of a connection: its list is counted


class SavingsStep:
    """The middleware; `owner_of` maps a listed tool to the name of its server, and its own there."""

    methods: Final = ("tools/call", "resources/read", "tools/list")

    def __init__(
        self,
        counter: SavingsCounter,
        owner_of: Callable[[str], tuple[str, str]],
        list_upstreams: Next,
    ) -> None:
        self._counter = counter
        self._list_upstreams = list_upstreams
        self._owner_of = owner_of

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        if request.method == "tools/call" or is_kept_result(request):
            return self._count(request, call_next)
        if request.method == "tools/list" and self._is_first_list(request):
            return self._count_list(request, call_next)
        return call_next(request)

    def _is_first_list(self, request: Request) -> bool:
        """Whether a model reads this list, and its connection has not been listed any."""
        params = request.params
        if request.is_extra or params.get("cursor") or params.get(QUERY) or SERVER in members(params.get("_meta")):
            return False
        if host_of(client_name(request)).defers:
            return False
        return not request.lasts or not request.connection.state.get(_LISTED)

    async def _count_list(self, request: Request, call_next: Next) -> dict[str, Any]:
        result = await call_next(request)
        if not result.get("nextCursor"):
            if request.lasts:
                request.connection.state[_LISTED] = True
            self._counter.in_background(self._add_list(request, result.get("tools") or []))
        return result

    async def _add_list(self, request: Request, sent: list[dict[str, Any]]) -> None:
        try:
            own = [tool async for tool in all_tools(request, self._list_upstreams)]
        except JsonRpcError:
            # It is gone meanwhile: nothing can be set against the list.
            return
        # Without Louver no name has that of its server before it.
        own = [{**tool, "name": self._owner_of(tool["name"])[1]} for tool in own]
        whole, shown = await asyncio.to_thread(lambda: (list_size(own), list_size(sent)))
        self._counter.add_list(whole, shown)

    async def _count(self, request: Request, call_next: Next) -> dict[str, Any]:
        answers = request.record.answers = ServerAnswers(partial(self._measure, request))
        try:
            result = await call_next(request)
        finally:
            # Each would hold the other, and all that was sent, until the garbage is collected.
            request.record.answers = None
        # Once the answer is on its way: measuring it takes as long as a turn of the event loop.
        asyncio.get_running_loop().call_soon(self._add, request, answers.found, result)
        return result

    def _measure(self, request: Request, answer: ServerAnswer) -> None:
        if _counts(answer):
            self._counter.measure(answer, self._shown(request))

    def _add(self, request: Request, found: list[ServerAnswer], result: dict[str, Any]) -> None:
        if skip_reason(result) is not None:
            return
        wholes = [Whole(*self._owner_of(each.tool), each) for each in found if _counts(each)]
        name: object = request.params.get("name")
        if not wholes and (tool := request.record.tool):
            wholes = [Whole(*self._owner_of(tool), ServerAnswer(tool, None, "kept"))]
        elif not wholes and request.method == "tools/call" and isinstance(name, str):
            wholes = [Whole(LOUVER, name, ServerAnswer(name, None))]
        if wholes:
            self._counter.add(wholes, result, self._shown(request))

    def _shown(self, request: Request) -> Shown:
        # Most hosts show one form of an answer: of one that is not known, the shorter form counts.
        host = host_of(client_name(request))
        return "structured" if host is UNKNOWN else host.shown


def _counts(answer: ServerAnswer) -> bool:
    return answer.result is None or skip_reason(answer.result) is None
