"""The recipient of an answer: a program, or a model that sees what its host shows.

A client that requests projections in `_meta` or declares the extension is a program: it reads receipts, schemas and
`_meta`. Every other client is a model, and the table of hosts (`louver.catalogue.hosts`) says what it sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.hosts import HOSTS, host_of
from louver.core.json import members
from louver.protocol.mcp import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from louver.protocol.names import PROJECTION
from louver.protocol.request import requested_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.catalogue.hosts import Host, Shown
    from louver.server.request import Request


@dataclass(frozen=True, slots=True)
class Recipient:
    is_program: bool
    displayed: Shown  # what a model sees of an answer

    @property
    def reads_structured(self) -> bool:
        """Whether a model sees, or may see, structured content in place of text."""
        return not self.is_program and self.displayed in ("structured", "both")

    @property
    def reads_text(self) -> bool:
        """Whether texts are seen if there is structured content."""
        return self.is_program or self.displayed != "structured"


PROGRAM = Recipient(is_program=True, displayed="whole")


def recipient_of(request: Request, hosts: Mapping[str, Host] = HOSTS) -> Recipient:
    if request.is_for_program or requested_keys(request.params.get("_meta")):
        return PROGRAM
    return Recipient(declares_projection(request), host_of(client_name(request), hosts).shown)


def declares_projection(request: Request) -> bool:
    capabilities = client_capabilities(request)
    return PROJECTION in members(capabilities.get("extensions"))


def client_capabilities(request: Request) -> dict[str, Any]:
    if request.is_modern:
        return members(members(request.params.get("_meta")).get(CLIENT_CAPABILITIES_META_KEY))
    opening = request.params if request.method == "initialize" else request.connection.opening
    return members((opening or {}).get("capabilities"))


def client_name(request: Request) -> str | None:
    if request.is_modern:
        info = members(members(request.params.get("_meta")).get(CLIENT_INFO_META_KEY))
    else:
        info = members((request.connection.opening or {}).get("clientInfo"))
    name: object = info.get("name")
    return name if isinstance(name, str) else None
