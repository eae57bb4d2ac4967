"""The client for synchronous code. An event loop runs in a thread within the block; several threads may call.

with louver.SyncClient("http://127.0.0.1:8000/mcp") as client:
    client.call_tool("get_user_profile", {"user_id": 7}, into=UserCard).data.name
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from anyio.from_thread import start_blocking_portal

from louver.client.client import Client

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType
    from typing import Self, Unpack

    from anyio.from_thread import BlockingPortal

    from louver.client.options import ClientOptions
    from louver.client.result import DryRun, ProjectedResult, Stats
    from louver.client.target import Target
    from louver.core.json import Json

T = TypeVar("T")


class SyncClient:
    """A connection to one server, open within `with`; it takes the arguments of `Client`."""

    def __init__(self, target: Target, **options: Unpack[ClientOptions]) -> None:
        self._client = Client(target, **options)
        self._open = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(self._client))
            self._portal, self._open = portal, stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._open.__exit__(kind, error, trace)

    @property
    def stats(self) -> Stats:
        """What the calls have cost so far."""
        return self._client.stats

    @overload
    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: type[T],
        strict: bool = False,
        required: bool = False,
    ) -> ProjectedResult[T]: ...

    # To a type checker, a union or an annotated type is not a `type`.
    @overload
    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        into: Any,
        strict: bool = False,
        required: bool = False,
    ) -> ProjectedResult[Any]: ...

    @overload
    def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        view: str | None = None,
        strict: bool = False,
        required: bool = False,
        minimize: bool = False,
    ) -> ProjectedResult[Any]: ...

    def call_tool(self, name: str, arguments: Mapping[str, Any] | None = None, **options: Any) -> ProjectedResult[Any]:
        """Call a tool, as `Client.call_tool` does."""
        return self._run(partial(self._client.call_tool, name, arguments, **options))

    def list_tools(self) -> list[dict[str, Any]]:
        """The tools of all pages, as `Client.list_tools` has them."""
        return self._run(self._client.list_tools)

    def views(self, tool: str) -> dict[str, Json]:
        """The views of a tool, as `Client.views` has them."""
        return self._run(partial(self._client.views, tool))

    def validate(
        self,
        tool: str,
        *,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        view: str | None = None,
        into: Any = None,
        strict: bool = False,
    ) -> DryRun:
        """What a request means for a tool, without calling the tool, as `Client.validate` has it."""
        call = partial(self._client.validate, tool, include=include, exclude=exclude, view=view)
        return self._run(partial(call, into=into, strict=strict))

    def _run(self, call: Any) -> Any:
        if self._portal is None:
            raise RuntimeError("a SyncClient is open within `with`")
        return self._portal.call(call)
