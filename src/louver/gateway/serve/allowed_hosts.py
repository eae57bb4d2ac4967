"""The names by which clients may reach the gateway, as the endpoint holds the header `Host` against them."""

from __future__ import annotations

import re
from typing import Final

_PORT: Final = "[0-9]{1,5}"
_HOST: Final = re.compile(rf"([a-z0-9._-]+|\[[0-9a-f:.]+\])(:{_PORT})?")


def host_patterns(name: str) -> list[str] | None:
    """The allowed `Host` values for `HOST` or `HOST:PORT`: with its port, or with any; None if it is malformed."""
    # Browsers send host names in lower case.
    match = _HOST.fullmatch(name.lower())
    if match is None:
        return None
    host = match.group()
    return [host] if match.group(2) is not None else [host, f"{host}:*"]
