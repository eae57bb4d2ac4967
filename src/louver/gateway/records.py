"""What a gateway writes about its calls: audit records, which may be shipped, and counters of savings."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol

from louver.concurrency.background import BackgroundTasks
from louver.seams import plugged_in
from louver.steps.telemetry import metrics

if TYPE_CHECKING:
    from pathlib import Path

    from louver.gateway.config.model import AuditSettings, Config
    from louver.steps.audit.writer import AuditWriter
    from louver.steps.savings.counter import SavingsCounter
    from louver.steps.savings.use import Use

logger = logging.getLogger(__name__)


class Shipper(Protocol):
    def start(self) -> None:
        """Ship until it is closed; a second call changes nothing."""
        ...

    async def close(self) -> None:
        """Ship what is left, if that is soon done."""
        ...


class Records:
    def __init__(self, savings_file: Path | None) -> None:
        self._default_savings_file = savings_file
        self._audit_settings: AuditSettings | None = None
        self._shipper: Shipper | None = None
        self._closing = BackgroundTasks(logger)
        self.audit: AuditWriter | None = None
        self.savings: SavingsCounter | None = None
        self.savings_file: Path | None = None

    def open_audit(self, settings: AuditSettings | None) -> None:
        """Open the audit log of a configuration, unless it is open; AuditFailed if it cannot be written."""
        if settings == self._audit_settings:
            return
        audit, shipper = (None, None) if settings is None else _open_audit(settings)
        if self.audit is not None:
            self.audit.close()
        if self._shipper is not None:
            self._closing.start(self._shipper.close())
        self.audit, self._audit_settings, self._shipper = audit, settings, shipper

    def count_savings(self, config: Config) -> None:
        """Count savings in the file that a configuration wants; the counters of that file are reused."""
        file = self._default_savings_file if config.savings is None else config.savings or None
        if file != self.savings_file:
            if self.savings is not None:
                self._closing.start(self.savings.close())
            self.savings, self.savings_file = None if file is None else _savings_counter(file), file

    def use(self) -> Use:
        """The use of tools as counted so far."""
        if self.savings_file is None or not self.savings_file.exists():
            return {}
        # Lazy import, as in `_open_audit`.
        from louver.steps.savings.use import read_use

        return read_use(self.savings_file)

    def start_shipping(self) -> None:
        if self._shipper is not None:
            self._shipper.start()

    async def close(self) -> None:
        """Close the audit log, and write the last savings."""
        if self.audit is not None:
            self.audit.close()
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
