"""What a gateway writes about its calls: audit records, which may be shipped, and counters of savings."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, NamedTuple, Protocol

from louver.concurrency.background import BackgroundTasks, retrieve_error
from louver.seams import plugged_in
from louver.steps.telemetry import metrics

if TYPE_CHECKING:
    from pathlib import Path

    from louver.gateway.config.model import AuditSettings, Config
    from louver.steps.audit.writer import AuditWriter
    from louver.steps.savings.counter import SavingsCounter
    from louver.steps.savings.tool_use import Use

logger = logging.getLogger(__name__)


class Shipper(Protocol):
    def start(self) -> None:
        """Ship until it is closed; a second call changes nothing."""
        ...

    async def close(self) -> None:
        """Ship what is left, if that is soon done."""
        ...


class _Opened(NamedTuple):
    """What a configuration writes its calls to, and what was counted of them."""

    audit: AuditWriter | None
    shipper: Shipper | None
    use: Use


class Records:
    def __init__(self, savings_file: Path | None) -> None:
        self._default_savings_file = savings_file
        self._audit_settings: AuditSettings | None = None
        self._shipper: Shipper | None = None
        self._preparing: asyncio.Task[None] | None = None
        self._prepared: _Opened | None = None
        self._closing = BackgroundTasks(logger)
        self.audit: AuditWriter | None = None
        self.savings: SavingsCounter | None = None
        self.savings_file: Path | None = None

    async def prepare(self, config: Config) -> None:
        """Open in a thread what `switch` needs; AuditFailed if the audit log cannot be written."""

        def work() -> None:
            self._prepared = self._open(config)

        self._preparing = asyncio.create_task(asyncio.to_thread(work))
        self._preparing.add_done_callback(retrieve_error)
        await asyncio.shield(self._preparing)

    async def discard(self) -> None:
        """Close what was prepared, unless `switch` has taken it."""
        if self._preparing is not None:
            await asyncio.wait({self._preparing})
        opened, self._prepared = self._prepared, None
        if opened is not None and opened.audit is not None and opened.audit is not self.audit:
            await asyncio.to_thread(opened.audit.close)

    def switch(self, config: Config) -> Use:
        """Write what a configuration wants, and return the use of tools as counted so far."""
        opened, self._prepared = self._prepared or self._open(config), None
        if opened.audit is not self.audit:
            if self.audit is not None:
                self._closing.start(asyncio.to_thread(self.audit.close))
            if self._shipper is not None:
                self._closing.start(self._shipper.close())
            self.audit, self._audit_settings, self._shipper = opened.audit, config.audit, opened.shipper
        file = self._savings_file(config)
        if file != self.savings_file:
            if self.savings is not None:
                self._closing.start(self.savings.close())
            self.savings, self.savings_file = None if file is None else _savings_counter(file), file
        return opened.use

    def _open(self, config: Config) -> _Opened:
        """The audit log of a configuration, unless it is open, and the use of tools, by waiting for the disk."""
        audit, shipper = self.audit, self._shipper
        if config.audit != self._audit_settings:
            audit, shipper = (None, None) if config.audit is None else _open_audit(config.audit)
        file = self._savings_file(config)
        # One that cannot be looked at counts as missing, and is logged once it is to be written.
        if file is None or not os.path.exists(file):
            return _Opened(audit, shipper, {})
        # Lazy import, as in `_open_audit`.
        from louver.steps.savings.tool_use import read_use

        return _Opened(audit, shipper, read_use(file))

    def _savings_file(self, config: Config) -> Path | None:
        return self._default_savings_file if config.savings is None else config.savings or None

    def start_shipping(self) -> None:
        if self._shipper is not None:
            self._shipper.start()

    async def close(self) -> None:
        """Close the audit log, and write the last savings."""
        await self.discard()
        if self.audit is not None:
            await asyncio.to_thread(self.audit.close)
        if self._shipper is not None:
            await self._shipper.close()
        await self._closing.wait()
        if self.savings is not None:
            await self.savings.close()


def _open_audit(settings: AuditSettings) -> tuple[AuditWriter, Shipper | None]:
    # Lazy imports: only an audit needs SQLite.
    from louver.steps.audit.writer import AuditWriter

    if settings.ship_to is None:
        return AuditWriter(settings.file, settings.retention_days), None
    spool, shipper = plugged_in("team.audit.shipper:open_shipping")(settings)
    return AuditWriter(settings.file, settings.retention_days, spool=spool), shipper()


def _savings_counter(file: Path) -> SavingsCounter:
    # Lazy import, as in `_open_audit`.
    from louver.steps.savings.counter import SavingsCounter

    found = metrics()
    return SavingsCounter(file) if found is None else SavingsCounter(file, on_counted=found.count_answer)
