"""Where `louver serve --http` listens, for whom, and by which names it is known.

    --http 127.0.0.1:8080                           this machine alone
    --http 0.0.0.0:8080        and `auth`           who has a token that is taken
    --http 0.0.0.0:8080        --anyone             whoever reaches the address
    --http [2001:db8::1]:8080  --known-as mcp.lan   likewise, by that name too

Whoever has a page open in a browser lends it the way to all that the browser reaches: a page can have its own name
lead there (DNS rebinding), and then no browser keeps it from asking and reading. But what it asks bears that name as
`Host`. So no other host is answered than the loopback's, the address itself, and those that were named here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING, Final

from louver.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_PORT: Final = "[0-9]{1,5}"
_NAME: Final = re.compile(rf"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:{_PORT})?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where is listened.

    Args:
        ip: An address of this machine.
        port: 0 is any that is free.
    """

    ip: IPv4Address | IPv6Address
    port: int

    @classmethod
    def read(cls, text: str) -> Address:
        """The address that is written as `HOST:PORT`.

        Raises:
            InvalidInput: It is none, or a name: which addresses that has may change.
        """
        host, separator, port = text.rpartition(":")
        if not separator or not re.fullmatch(_PORT, port) or int(port) > 65_535:
            raise InvalidInput(
                f"--http takes HOST:PORT, for example 127.0.0.1:8080, with a port of at most 65535, not {text[:80]!r}"
            )
        host = host.removeprefix("[").removesuffix("]")
        try:
            return cls(ip_address("127.0.0.1" if host == "localhost" else host), int(port))
        except ValueError:
            raise InvalidInput(f"--http takes an address, for example 127.0.0.1, not {host[:80]!r}") from None

    @property
    def host(self) -> str:
        """The address as sockets have it."""
        return str(self.ip)

    def check_is_for(self, *, tokens: bool, anyone: bool) -> None:
        """See that nobody is served by mistake.

        Args:
            tokens: Whether clients must send tokens.
            anyone: Whether it was said that they need not, wherever they are.

        Raises:
            InvalidInput: Others than this machine reach it, and nobody has said who is served; or both was said.
        """
        if tokens and anyone:
            raise InvalidInput("--anyone serves without tokens, and 'auth' asks for them: leave out one of the two")
        if not (tokens or anyone or self.ip.is_loopback):
            raise InvalidInput(
                f"--http takes an address of the loopback, for example 127.0.0.1, not {self.host!r}, which others "
                "reach: ask for tokens by 'auth' in the configuration, or say --anyone, to serve whoever reaches it"
            )

    def known_as(self, names: Iterable[str]) -> list[str]:
        """The hosts that it is known as, beside those of the loopback, as the SDK has them.

        Args:
            names: Those that were given, as `HOST` or `HOST:PORT`.

        Raises:
            InvalidInput: One is no host.
        """
        return [host for name in (*self._own(), *names) for host in _hosts(name)]

    def _own(self) -> Iterator[str]:
        # That which stands for all addresses is none that a client could mean; nor is a zone known to clients.
        if not self.ip.is_unspecified:
            host = self.host.partition("%")[0]
            yield f"[{host}]" if self.ip.version == 6 else host


def _hosts(name: str) -> list[str]:
    """A host, at the port that is named, or at any."""
    # Browsers write it so.
    found = _NAME.fullmatch(name.lower())
    if found is None:
        raise InvalidInput(f"--known-as takes a host, for example mcp.example or mcp.example:8080, not {name[:80]!r}")
    host = found.group()
    return [host] if found.group(2) is not None else [host, f"{host}:*"]
