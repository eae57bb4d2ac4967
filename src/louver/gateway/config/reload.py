"""Reload of the configuration file and of the policy files that it names.

If a changed file is wrong, that is logged, and the last good configuration stays until the next change.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from louver.catalogue.files.open_regular import trusted
from louver.errors import InvalidConfig, InvalidPolicy
from louver.gateway.config.read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from louver.gateway.config.model import Config

logger = logging.getLogger(__name__)


class ConfigFile:
    """The file; with `server`, only this one of its servers."""

    def __init__(self, path: Path, environ: Mapping[str, str] = os.environ, *, server: str | None = None) -> None:
        self._path, self._environ, self._server = path, environ, server
        self._policies: list[Path] = []
        before = _stamp(path)
        self._current = read_config(path, environ).only(server)
        self._policies = self._policy_files()
        self._stamps = [before, *map(_stamp, self._policies)]

    @property
    def current(self) -> Config:
        return self._current

    def refresh(self) -> bool:
        """Read changed files again; `True` if the configuration has changed."""
        stamps = self._current_stamps()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        try:
            # A pipe was read to its end at the start.
            config = read_config(self._path, self._environ, trusted).only(self._server)
        except (InvalidConfig, InvalidPolicy) as error:
            logger.error("the configuration stays as it was: %s", error)
            return False
        changed, self._current = config != self._current, config
        if self._policy_files() != self._policies:
            # Policy files that were not followed yet.
            self._policies = self._policy_files()
            self._stamps = [stamps[0], *map(_stamp, self._policies)]
        return changed

    def _policy_files(self) -> list[Path]:
        files = (each.policy.file for each in self._current.upstreams if each.policy is not None)
        return [file for file in files if file is not None]

    def _current_stamps(self) -> list[_Stamp | None]:
        return [_stamp(path) for path in (self._path, *self._policies)]


_Stamp = tuple[int, ...]


def _stamp(path: Path) -> _Stamp | None:
    try:
        status = path.stat()
    except OSError:
        return None
    # Size and inode too, since some file systems store times only to 10 ms or more.
    return status.st_mtime_ns, status.st_size, status.st_ino
