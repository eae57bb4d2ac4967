"""Reload of the configuration file, and of the policies and secrets in the files that it names.

If a changed file is wrong, that is logged, and the last good configuration stays until the next change.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from louver.catalogue.files.open_regular import trusted, trusted_or_pipe
from louver.catalogue.files.stamp import stamp_of
from louver.errors import InvalidConfig, InvalidPolicy
from louver.gateway.config.read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from louver.catalogue.files.folder import Opener
    from louver.catalogue.files.stamp import Stamp
    from louver.gateway.config.model import Config

logger = logging.getLogger(__name__)


class ConfigFile:
    """The file; with `server`, only this one of its servers."""

    def __init__(self, path: Path, environ: Mapping[str, str] = os.environ, *, server: str | None = None) -> None:
        self._path, self._environ, self._server = path, environ, server
        self._stamps: dict[Path, Stamp | None] = {}
        self._current = self._read(trusted_or_pipe, self._stamps)

    @property
    def current(self) -> Config:
        return self._current

    def refresh(self) -> bool:
        """Read changed files again; `True` if the configuration has changed."""
        if _are_fresh(self._stamps):
            return False
        stamps: dict[Path, Stamp | None] = {}
        config, problem = self._current, None
        try:
            # A pipe was read to its end at the start.
            config = self._read(trusted, stamps)
        except (InvalidConfig, InvalidPolicy) as error:
            problem = error
        if not _are_fresh(stamps):
            # Files that were read before and after a change may not fit together: the next refresh reads them again.
            return False
        self._stamps = stamps
        if problem is not None:
            logger.error("the configuration stays as it was: %s", problem)
        changed, self._current = config != self._current, config
        return changed

    def _read(self, opener: Opener, stamps: dict[Path, Stamp | None]) -> Config:
        return read_config(self._path, self._environ, opener, stamps=stamps).only(self._server)


def _are_fresh(stamps: Mapping[Path, Stamp | None]) -> bool:
    return all(stamp_of(file) == stamp for file, stamp in stamps.items())
