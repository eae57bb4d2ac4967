"""The store of state that replicas share, by its URL; what that holds besides scheme, host, port and path is secret.

redis://:password@10.0.0.7:6379/0     Redis or Valkey; `rediss` with TLS
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from louver.errors import LouverError
from louver.seams import plugged_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SCHEMES: Final = ("redis", "rediss")
_GONE: Final = ("postgres:", "postgresql:", "file:")
_NUMBER: Final = re.compile(r"(/\d*)?")


@dataclass(frozen=True, slots=True)
class StateUrl:
    text: str = field(repr=False)
    shown: str  # without secrets

    @property
    def address(self) -> str:
        """All but user and password, which a store may change."""
        parts = urlsplit(self.text)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    @classmethod
    def read(cls, text: str) -> StateUrl:
        """Read a URL; LouverError, without a part of it, if it is none of a store."""
        try:
            parts = urlsplit(text)
            # The client takes a database that is no number for the first one, which may be another deployment's.
            if parts.scheme in _SCHEMES and parts.hostname and _NUMBER.fullmatch(parts.path):
                port = "" if parts.port is None else f":{parts.port}"
                return cls(text, f"{parts.scheme}://{parts.hostname}{port}{parts.path}")
        except ValueError:
            # Brackets without an address between them, or a port that is none.
            pass
        if text.startswith(_GONE):
            raise LouverError("state is on Redis or Valkey alone now: expected a URL as redis://10.0.0.7:6379/0")
        raise LouverError("expected the URL of Redis or Valkey, as redis://10.0.0.7:6379/0")


def is_same_store(one: StateUrl | None, other: StateUrl | None) -> bool:
    """Whether two URLs differ in user and password at most."""
    return (one and one.address) == (other and other.address)


class SharedState(Protocol):
    """Values for a while, messages to the other replicas, and counts; StateUnavailable where the store is away."""

    def use(self, url: StateUrl, keys: Sequence[str]) -> None:
        """Seal with other keys, and log in with the URL's user and password from the next connection on."""
        ...

    async def put(self, key: str, value: bytes, seconds: float) -> None: ...

    async def get(self, key: str) -> bytes | None: ...

    async def count(self, key: str, per_minute: int) -> float | None:
        """Count a request: `None` if it is admitted, else the seconds until one will be."""
        ...

    def publish(self, kind: str, *params: object) -> None:
        """Send the other replicas a message, in the background and in order: ids and digests, no content."""
        ...

    def on(self, kind: str, handler: Callable[..., None]) -> None:
        """Call it with the params of each message of a kind."""
        ...

    async def close(self) -> None: ...


def open_shared_state(url: StateUrl, keys: Sequence[str] = ()) -> SharedState:
    """The store at a URL, which is connected on first use."""
    return plugged_in("team.state.shared:SharedState")(url, keys)
