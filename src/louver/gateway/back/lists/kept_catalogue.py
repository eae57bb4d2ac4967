"""Kept catalogues: the opening and the tools of an upstream, from its last run, for while it starts.

    $XDG_STATE_HOME/louver/catalogue/5f0c2d6e9a1b3c47.json
    {"version": "2025-11-25", "opening": {"capabilities": {"tools": {}}, ...}, "tools": [{"name": "read_graph", ...}]}

The name of a file is a digest of all that decides what the upstream answers: its command or URL, its environment, and
the client identity that it sees. A second file is of its configuration alone, and also written by `louver doctor`: it
counts for a client that has waited in vain. Unlike `list_cache.py`, which is exact, a kept list may be outdated:
`KeptCatalogues` compares it with the live one.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from tempfile import NamedTemporaryFile
from time import time
from typing import TYPE_CHECKING, Any

from louver.catalogue.files.open_regular import regular
from louver.concurrency.background import BackgroundTasks
from louver.concurrency.offload import in_thread
from louver.core.json import NotJson, digest, is_array, is_object, members, parse
from louver.errors import UpstreamError, UpstreamInvalidOutput
from louver.gateway.back.lists.list_cache import without_bad_tools
from louver.gateway.back.negotiation import Negotiation
from louver.gateway.back.result_checks import check_result
from louver.gateway.clients.revisions import handshake_result, modern_result
from louver.limits import MAX_CATALOGUE_BYTES, MAX_CATALOGUES
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.mcp import HANDSHAKE_VERSIONS, MODERN_VERSIONS, SERVER_INFO_META_KEY, TOOLS_CHANGED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from louver.gateway.back.lists.tool_pins import ToolPins
    from louver.gateway.back.session import Session
    from louver.gateway.clients.client import GatewayClient
    from louver.gateway.clients.revisions import ClientIdentity

CATALOGUE_KEPT_S = 7 * 86_400.0
"""How long the kept catalogue of an upstream is used, in seconds: a week."""


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Catalogue:
    negotiation: Negotiation
    tools: list[dict[str, Any]] | None  # of all pages; `None`: the upstream did not list any

    @classmethod
    def read(cls, raw: bytes) -> Catalogue | None:
        """The catalogue in the content of a file, or `None` if the file is damaged."""
        try:
            content = members(parse(raw.decode()))
            opening = check_result("initialize", members(content.get("opening")))
        except (NotJson, UnicodeDecodeError, UpstreamInvalidOutput):
            return None
        version, tools = content.get("version"), content.get("tools")
        if version not in (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS) or not opening:
            return None
        return cls(Negotiation(version, opening), tools) if tools is None or is_array(tools) else None

    def to_bytes(self) -> bytes:
        content = {"version": self.negotiation.version, "opening": self.negotiation.opening, "tools": self.tools}
        # As ASCII: texts may hold lone surrogates.
        return json.dumps(content, separators=(",", ":")).encode()


class CatalogueFolder:
    """The files of a user; whatever cannot be read counts as absent, and failures are logged once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._has_failed = False

    def read(self, key: str) -> Catalogue | None:
        try:
            with open(self._file(key), "rb", opener=regular) as file:
                status = os.fstat(file.fileno())
                raw = file.read(MAX_CATALOGUE_BYTES + 1) if _is_fresh(status) and _is_private(status) else b""
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            self._report(error)
            return None
        return Catalogue.read(raw) if 0 < len(raw) <= MAX_CATALOGUE_BYTES else None

    def write(self, key: str, catalogue: Catalogue) -> None:
        """Replace a file, and remove outdated ones."""
        raw = catalogue.to_bytes()
        try:
            if len(raw) > MAX_CATALOGUE_BYTES:
                self._file(key).unlink(missing_ok=True)
                return
            # Parents that `mkdir` makes by itself are open to all.
            for folder in (self._folder.parent, self._folder):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Its mode is 0600.
            with NamedTemporaryFile(dir=self._folder, suffix=".part", delete=False) as part:
                part.write(raw)
            os.replace(part.name, self._file(key))
            for outdated in self._outdated():
                outdated.unlink(missing_ok=True)
        except OSError as error:
            self._report(error)

    def remove(self, key: str) -> None:
        with suppress(OSError):
            self._file(key).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"

    def _outdated(self) -> Iterator[Path]:
        """Files of over a week, and the oldest of over `MAX_CATALOGUES`."""
        found: list[tuple[float, Path]] = []
        for file in (*self._folder.glob("*.json"), *self._folder.glob("*.part")):
            # Another process may remove it meanwhile.
            with suppress(FileNotFoundError):
                status = file.stat()
                if _is_fresh(status):
                    found.append((status.st_mtime, file))
                else:
                    yield file
        yield from (file for _, file in sorted(found, reverse=True)[MAX_CATALOGUES:])

    def _report(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            logger.warning("catalogues of servers are not kept: %s", type(error).__name__)


class KeptCatalogues:
    """The kept catalogues of one upstream, which are written again once it has opened."""

    def __init__(self, folder: CatalogueFolder, place: str, configured: str, pins: ToolPins) -> None:
        self.is_live = False  # the upstream has opened, or has failed to
        self._folder = folder
        self._place = place  # digest of how it is started or reached
        self._configured = configured  # name for its configuration alone
        self._pins = pins
        self._written: set[str] = set()
        self._tasks = BackgroundTasks(logger)

    def read(self, identity: ClientIdentity) -> list[KeptAnswers]:
        """What is kept for an identity; at last what is kept for any."""
        exact, other = self._folder.read(self._key(identity)), self._folder.read(self._configured)
        kept = [] if exact is None else [KeptAnswers(exact, identity, self._pins)]
        return kept if other is None else [*kept, KeptAnswers(other, identity, self._pins, is_exact=False)]

    def compare(self, session: Session, identity: ClientIdentity, kept: Sequence[KeptAnswers]) -> None:
        """Replace in the background what is kept by what an open session has."""
        self.is_live = True
        comparing = self._tasks.start(self._keep(self._key(identity), session, kept))
        if any(each.is_listed for each in kept):
            session.comparing = comparing

    async def written(self) -> None:
        """Wait until the catalogues of all open sessions are written."""
        await self._tasks.wait()

    async def close(self) -> None:
        await self._tasks.close()

    def _key(self, identity: ClientIdentity) -> str:
        return digest([self._place, identity.digest])

    async def _keep(self, key: str, session: Session, kept: Sequence[KeptAnswers]) -> None:
        """Announce a list that differs from the kept one, and write the catalogue, once for each identity."""
        if not any(each.is_listed for each in kept) and (key in self._written or len(self._written) >= MAX_CATALOGUES):
            # Listing may be what ends an upstream.
            return
        self._written.add(key)
        catalogue = Catalogue(session.negotiation, None)
        can_keep = True
        try:
            catalogue = replace(catalogue, tools=await session.tools())
        except JsonRpcError:
            # It has no tools.
            pass
        except UpstreamError:
            can_keep = False
        if any(each.is_outdated(catalogue) for each in kept):
            await session.on_notification(TOOLS_CHANGED, None)
        is_of_another = not all(each.is_of_server(session.negotiation) for each in kept)
        for file in (key, self._configured):
            if can_keep:
                await in_thread(partial(self._folder.write, file, catalogue))
            elif is_of_another:
                # Another server, or another version, has taken its place, and does not list.
                await in_thread(partial(self._folder.remove, file))


class KeptAnswers:
    """The answers of a kept catalogue, in the revision of each client."""

    def __init__(
        self, catalogue: Catalogue, identity: ClientIdentity, pins: ToolPins, *, is_exact: bool = True
    ) -> None:
        self._catalogue = catalogue
        self._is_exact = is_exact  # the upstream saw this client identity, environment and folder
        self._identity = identity  # that of the session which is being opened
        self._pins = pins
        self.is_used = False  # a client has relied on it
        self.is_listed = False  # a client has the kept list

    @property
    def negotiation(self) -> Negotiation:
        """The kept opening; the list can change, and clients must not cache the opening."""
        opening = self._catalogue.negotiation.opening
        capabilities = members(opening.get("capabilities"))
        if is_object(tools := capabilities.get("tools")):
            opening = {**opening, "capabilities": {**capabilities, "tools": {**tools, "listChanged": True}}}
        lifetime = {"ttlMs": 0} if "ttlMs" in opening else {}
        return Negotiation(self._catalogue.negotiation.version, {**opening, **lifetime})

    def is_for(self, client: GatewayClient) -> bool:
        """Whether a client gets these at once: in 2026-07-28 an upstream may list by the identity in each request."""
        return self._is_exact and (
            not self._catalogue.negotiation.is_modern or client.identity.digest == self._identity.digest
        )

    async def list_tools(self, client: GatewayClient) -> dict[str, Any] | None:
        """The result of `tools/list`, which clients must not cache; `None` if the upstream did not list any."""
        if self._catalogue.tools is None:
            return None
        self.is_listed = True
        result = await without_bad_tools({"tools": self._catalogue.tools})
        # A tool that changed since the last run is reported.
        await self._pins.pin(result["tools"])
        if not client.is_modern:
            return handshake_result("tools/list", result) if self._catalogue.negotiation.is_modern else result
        opening = self._catalogue.negotiation.opening
        server_info = opening.get("serverInfo") or members(opening.get("_meta")).get(SERVER_INFO_META_KEY)
        return modern_result("tools/list", result, server_info)

    def is_of_server(self, negotiation: Negotiation) -> bool:
        """Whether an upstream that has opened is of the kept name and version."""
        return self._catalogue.negotiation.server == negotiation.server

    def is_outdated(self, catalogue: Catalogue) -> bool:
        """Whether a client has a list that differs from that of the live upstream."""
        return self.is_listed and catalogue.tools != self._catalogue.tools


def _is_fresh(status: os.stat_result) -> bool:
    # A time in the future says nothing about the age.
    return 0 <= time() - status.st_mtime < CATALOGUE_KEPT_S


def _is_private(status: os.stat_result) -> bool:
    """Whether no other user can have written it."""
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022
