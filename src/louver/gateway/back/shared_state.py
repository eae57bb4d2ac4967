"""The state that replicas share, and what they notify each other of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from louver.seams import plugged_in
from louver.steps.shared_state import open_shared_state

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.gateway.back.fan_out.notifications import PassOn
    from louver.gateway.back.lists.tool_pins import SharedPins
    from louver.gateway.back.upstream import Upstream
    from louver.gateway.config.model import Config


class ReplicaNews(Protocol):
    """What replicas notify each other of, and the tools that all of them were listed."""

    def reconfigure(self, config: Config) -> None: ...

    @property
    def is_outdated(self) -> bool:
        """Whether another replica has had a configuration of a higher generation for some time."""
        ...

    def pass_on(self, upstream: str) -> PassOn:
        """What notifies other replicas of the changed lists of an upstream."""
        ...

    def pins(self, server_id: str) -> SharedPins:
        """The digests of a server's tools, as all replicas were listed them."""
        ...

    def listen(self) -> None: ...

    async def close(self) -> None: ...


class GatewayState:
    def __init__(self, config: Config, upstreams: Callable[[], Mapping[str, Upstream]]) -> None:
        self.shared = None if config.state is None else open_shared_state(config.state, config.keys)
        self._news: ReplicaNews | None = None
        if self.shared is not None:
            self._news = plugged_in("team.replica_news:ReplicaNews")(self.shared, upstreams)

    def reconfigure(self, config: Config) -> None:
        if self._news is not None:
            self._news.reconfigure(config)
        if self.shared is not None:
            assert config.state is not None, "a reload keeps the store"
            self.shared.use(config.state, config.keys)

    @property
    def is_outdated(self) -> bool:
        return self._news is not None and self._news.is_outdated

    def pass_on(self, upstream: str) -> PassOn | None:
        return None if self._news is None else self._news.pass_on(upstream)

    def pins(self, server_id: str) -> SharedPins | None:
        return None if self._news is None else self._news.pins(server_id)

    def listen(self) -> None:
        if self._news is not None:
            self._news.listen()

    async def close(self) -> None:
        if self._news is not None:
            await self._news.close()
        if self.shared is not None:
            await self.shared.close()
