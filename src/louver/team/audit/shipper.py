"""Ships audit records from their file to one of JSON lines, in batches and in the background: no call waits for it.

A batch is marked as shipped once it is durable there. While that file cannot be written, records stay in the first.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from louver.concurrency.backoff import Backoff
from louver.concurrency.offload import in_thread
from louver.errors import AuditFailed
from louver.steps.database_file import FAILURES, failure_reason
from louver.team.audit.line_file import LineFile
from louver.team.audit.spool import Spool, SpoolTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.gateway.config.model import AuditSettings

AUDIT_SHIPPED_S = 1.0
"""How often audit records are shipped, in seconds. A replica whose disk is lost loses those since."""

AUDIT_CLOSING_S = 2.0
"""How long a gateway that ends ships its last audit records, in seconds; the rest waits in the file."""


logger = logging.getLogger(__name__)


def open_shipping(settings: AuditSettings) -> tuple[SpoolTable, Callable[[], Shipper]]:
    """What the writer of the file adds, and then the shipper."""
    assert settings.ship_to is not None, "it is shipped"
    assert settings.shipping_key is not None, "it is shipped under a key"
    lines = LineFile(settings.ship_to)
    return SpoolTable(settings.shipping_key), lambda: Shipper(Spool(settings.file), lines)


class Shipper:
    def __init__(self, spool: Spool, lines: LineFile) -> None:
        self._spool = spool
        self._lines = lines
        self._backoff = Backoff()
        self._is_failing = False
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Ship until it is closed; a second call changes nothing."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Ship what is left, if that is soon done."""
        self._closing.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(AUDIT_CLOSING_S):
                if self._task is not None:
                    await self._task
                # Also where it failed: what has mended it may be a moment old.
                await self._ship()
        self._spool.close()

    async def _run(self) -> None:
        while not self._closing.is_set():
            await self._ship()
            with suppress(TimeoutError):
                async with asyncio.timeout(max(AUDIT_SHIPPED_S, self._backoff.wait_s)):
                    await self._closing.wait()

    async def _ship(self) -> None:
        """Ship all records, or as many as the destination takes."""
        try:
            while await in_thread(self._spool.has_unshipped):
                await self._lines.append(self._spool.id, self._spool.next_records)
                await in_thread(self._spool.mark_shipped)
                self._on_shipped()
        except AuditFailed as error:
            self._on_failed(error.message)
        except FAILURES as error:
            self._on_failed(failure_reason(error))

    def _on_shipped(self) -> None:
        self._backoff.reset()
        if self._is_failing:
            logger.warning("audit records are shipped to %s again", self._lines.shown)
            self._is_failing = False

    def _on_failed(self, reason: str) -> None:
        self._backoff.record_failure(reason)
        if not self._is_failing:
            message = "audit records are not shipped to %s: %s; they stay in their file meanwhile"
            logger.warning(message, self._lines.shown, reason)
            self._is_failing = True
