"""The address of `louver serve --http`, the clients that it admits, and its allowed `Host` headers.

    --http 127.0.0.1:8080                           clients with the token, or one that `auth` accepts
    --http 127.0.0.1:8080 --no-auth                 every program of this machine
    --http 0.0.0.0:8080   --allowed-host mcp.lan    also clients of other machines, also under that name

Other `Host` headers are refused: by DNS rebinding a web page could reach the server under a name of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from louver.errors import InvalidInput
from louver.gateway.front.allowed_hosts import host_patterns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PORT: Final = "[0-9]{1,5}"
MAX_PORT: Final = 65_535


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """An address of this machine to listen on."""

    ip: IPv4Address | IPv6Address
    port: int  # 0: any free port

    @classmethod
    def read(cls, text: str, option: str = "--http") -> ListenAddress:
        """Parse `HOST:PORT`. Names but `localhost` are refused, since their addresses may change."""
        host, separator, port = text.rpartition(":")
        if not separator or not re.fullmatch(_PORT, port) or int(port) > MAX_PORT:
            raise InvalidInput(
                f"{option} takes HOST:PORT, for example 127.0.0.1:8080, with a port of at most {MAX_PORT}, "
                f"not {text[:80]!r}"
            )
        host = host.removeprefix("[").removesuffix("]")
        try:
            return cls(ip_address("127.0.0.1" if host == "localhost" else host), int(port))
        except ValueError:
            raise InvalidInput(f"{option} takes an address, for example 127.0.0.1, not {host[:80]!r}") from None

    @property
    def host(self) -> str:
        return str(self.ip)

    @property
    def url_host(self) -> str:
        return f"[{self.host}]" if self.ip.version == 6 else self.host

    @property
    def client_url_host(self) -> str:
        """The same for clients of this machine, who cannot send the unspecified address as `Host`."""
        if self.ip.is_unspecified:
            return "[::1]" if self.ip.version == 6 else "127.0.0.1"
        return self.url_host

    def check_no_auth(self, *, auth: bool) -> None:
        """Refuse `--no-auth` beyond loopback, and where the configuration has `auth`."""
        if auth:
            raise InvalidInput("--no-auth serves without tokens, and 'auth' asks for them: leave out one of the two")
        if not self.ip.is_loopback:
            raise InvalidInput(
                f"--no-auth is for a loopback address, for example 127.0.0.1, not {self.host!r}, which other machines "
                "reach: leave it out, so that clients need a token, or set 'auth' in the configuration"
            )

    def allowed_hosts(self, names: Iterable[str]) -> list[str]:
        """The allowed hosts besides loopback, in the SDK's form; `names` are `HOST` or `HOST:PORT`."""
        return [host for name in (*self._ip_hosts(), *names) for host in _hosts(name)]

    def _ip_hosts(self) -> Iterator[str]:
        # No client sends the unspecified address or an IPv6 zone as `Host`.
        if not self.ip.is_unspecified:
            host = self.host.partition("%")[0]
            yield f"[{host}]" if self.ip.version == 6 else host


def _hosts(name: str) -> list[str]:
    patterns = host_patterns(name)
    if patterns is None:
        raise InvalidInput(f"--allowed-host takes a host, such as mcp.example or mcp.example:8080, not {name[:80]!r}")
    return patterns
