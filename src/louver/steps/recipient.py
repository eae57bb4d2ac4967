"""The recipient of an answer: a program, or a model that sees what its host shows.

A client that requests projections in `_meta` or declares the extension is a program: it reads receipts, schemas and
`_meta`. Every other client is a model, and the table of hosts (`louver.catalogue.hosts`) says what it sees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.catalogue.hosts import UNKNOWN, host_of
from louver.core.json import members
from louver.wire.mcp import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY
from louver.wire.names import PROJECTION
from louver.wire.projection import requested_keys

if TYPE_CHECKING:
    from louver.catalogue.hosts import Host, Shown
    from louver.steps.request import Request


@dataclass(frozen=True, slots=True)
class Recipient:
    is_program: bool
    displayed: Shown  # what a model sees of an answer
    known_host: Host | None = None  # of a model: what it gets may be made shorter for it

    @property
    def takes_text_for_structure(self) -> bool:
        """Whether a model would see a single string of structured content as JSON."""
        return self.known_host is not None and self.known_host.shown == "structured"

    @property
    def reads_structured(self) -> bool:
        """Whether a model sees, or may see, structured content in place of text."""
        return not self.is_program and self.displayed in ("structured", "both")

    @property
    def reads_text(self) -> bool:
        """Whether texts are seen if there is structured content."""
        return self.is_program or self.displayed != "structured"


PROGRAM = Recipient(is_program=True, displayed="whole")


def recipient_of(request: Request) -> Recipient:
    if request.is_for_program or requested_keys(request.params.get("_meta")):
        return PROGRAM
    host, is_program = host_of(client_name(request)), declares_projection(request)
    return Recipient(is_program, host.shown, None if is_program or host is UNKNOWN else host)


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
        opening = request.params if request.method == "initialize" else request.connection.opening
        info = members((opening or {}).get("clientInfo"))
    name: object = info.get("name")
    return name if isinstance(name, str) else None
