"""The URL of a store of state; what it holds besides scheme, host, port and path is secret.

redis://:password@10.0.0.7:6379/0     Redis or Valkey; `rediss` with TLS
postgres://louver:password@db/louver  Postgres; `postgresql` is the same
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from louver.errors import LouverError

_REDIS: Final = ("redis", "rediss")
_NUMBER: Final = re.compile(r"(/\d*)?")
_POSTGRES: Final = ("postgres", "postgresql")


@dataclass(frozen=True, slots=True)
class StateUrl:
    text: str = field(repr=False)
    shown: str  # without secrets

    @classmethod
    def read(cls, text: str) -> StateUrl:
        """Read a URL; LouverError, without a part of it, if it is none of a store."""
        try:
            parts = urlsplit(text)
            # The client takes a database that is no number for the first one, which may be another deployment's.
            is_database = parts.scheme not in _REDIS or _NUMBER.fullmatch(parts.path)
            if is_state_url(text) and parts.hostname and is_database:
                port = "" if parts.port is None else f":{parts.port}"
                return cls(text, f"{parts.scheme}://{parts.hostname}{port}{parts.path}")
        except ValueError:
            # Brackets without an address between them, or a port that is none.
            pass
        raise LouverError("expected the URL of a store, as redis://10.0.0.7:6379/0 or postgres://10.0.0.7/louver")

    @property
    def is_redis(self) -> bool:
        return self.text.partition(":")[0] in _REDIS


def is_state_url(text: str) -> bool:
    """Whether a text begins like the URL of a store, and not like a path."""
    return text.partition("://")[0] in (*_REDIS, *_POSTGRES) and "://" in text
