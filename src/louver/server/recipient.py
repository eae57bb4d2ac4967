"""The recipient of an answer: a program, or a model that sees what its host shows.

A client that requests projections in `_meta` or declares the extension is a program: it reads receipts, schemas and
`_meta`. Every other client is a model, and the table of hosts (`louver.catalogue.hosts`) says what it sees.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from louver.catalogue.hosts import HOSTS, host_of
from louver.core.json import members
from louver.protocol.names import PROJECTION
from louver.protocol.request import requested_keys

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from mcp.server.context import ServerRequestContext

    from louver.catalogue.hosts import Host, Shown


_IS_PROGRAM: ContextVar[bool] = ContextVar("louver_is_program", default=False)


@contextmanager
def for_program() -> Generator[None]:
    """Answers within the block are for a program, whatever the client is."""
    before = _IS_PROGRAM.set(True)
    try:
        yield
    finally:
        _IS_PROGRAM.reset(before)


@dataclass(frozen=True, slots=True)
class Recipient:
    is_program: bool
    shown: Shown  # what a model sees of an answer

    @property
    def reads_structured(self) -> bool:
        """Whether a model sees, or may see, structured content in place of text."""
        return not self.is_program and self.shown in ("structured", "both")

    @property
    def reads_text(self) -> bool:
        """Whether texts are seen if there is structured content."""
        return self.is_program or self.shown != "structured"


PROGRAM = Recipient(is_program=True, shown="whole")


def recipient_of(ctx: ServerRequestContext[Any, Any], hosts: Mapping[str, Host] = HOSTS) -> Recipient:
    if _IS_PROGRAM.get():
        return PROGRAM
    is_program = asks_in_meta(ctx) or declares_projection(ctx)
    return Recipient(is_program, host_of(client_name(ctx), hosts).shown)


def asks_in_meta(ctx: ServerRequestContext[Any, Any]) -> bool:
    return requested_keys((ctx.params or {}).get("_meta")) != ()


def declares_projection(ctx: ServerRequestContext[Any, Any]) -> bool:
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        capabilities = members(members((ctx.params or {}).get("_meta")).get(CLIENT_CAPABILITIES_META_KEY))
    elif ctx.method == "initialize":
        capabilities = members((ctx.params or {}).get("capabilities"))
    else:
        declared = ctx.session.client_capabilities
        return declared is not None and PROJECTION in (declared.extensions or {})
    return PROJECTION in members(capabilities.get("extensions"))


def client_name(ctx: ServerRequestContext[Any, Any]) -> str | None:
    if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
        name: object = members(members((ctx.params or {}).get("_meta")).get(CLIENT_INFO_META_KEY)).get("name")
        return name if isinstance(name, str) else None
    params = ctx.session.client_params
    return None if params is None else params.client_info.name
