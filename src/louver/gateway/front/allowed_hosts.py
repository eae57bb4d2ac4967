"""The names by which clients may reach the gateway: the headers `Host` and `Origin` are checked against them.

By DNS rebinding, or by a request across origins, a page of somebody else in a browser could reach the gateway. Pages of
the machine itself may call. So may the gateway's own, if it has one: its origin is the host that the request is for.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
_LOCAL_ORIGINS: Final = frozenset(f"http://{host}" for host in LOOPBACK)  # at any port

_PORT: Final = "[0-9]{1,5}"
_WITH_PORT: Final = re.compile(rf"(.*):({_PORT})?")  # `127.0.0.1:1.example.com` has none
_HOST: Final = re.compile(rf"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:{_PORT})?")


def host_patterns(name: str) -> list[str] | None:
    """The allowed `Host` values for `HOST` or `HOST:PORT`: with its port, or with any; None if it is malformed."""
    # Browsers send host names in lower case.
    match = _HOST.fullmatch(name.lower())
    if match is None:
        return None
    host = match.group()
    return [host] if match.group(2) is not None else [host, f"{host}:*"]


class AllowedSources:
    """`hosts` are allowed besides the loopback, `HOST:*` at any port."""

    def __init__(self, hosts: Iterable[str] = (), *, has_page: bool = False) -> None:
        self._hosts = frozenset((*LOOPBACK, *hosts))
        self._has_page = has_page

    def refused(self, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """The status and the reason, if the headers are of a source that is not allowed."""
        host = headers.get("host", "")
        name = found[1] if (found := _WITH_PORT.fullmatch(host)) else ""
        if host not in self._hosts and name not in LOOPBACK and f"{name}:*" not in self._hosts:
            return 421, "Invalid Host header"
        origin = headers.get("origin")
        is_own = self._has_page and origin in (f"http://{host}", f"https://{host}")
        found = _WITH_PORT.fullmatch(origin or "")
        if origin and not is_own and (found is None or found[1] not in _LOCAL_ORIGINS):
            return 403, "Invalid Origin header"
        return None


LOCAL_SOURCES: Final = AllowedSources()
