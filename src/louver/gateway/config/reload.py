"""A configuration that follows its file, and the files of policy that it names.

What has changed is read again. If it is wrong now, that is logged, and the last good configuration stays in
force until the file changes once more.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from louver.catalogue.files.open_regular import regular
from louver.errors import InvalidConfig, InvalidPolicy
from louver.gateway.config.read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from louver.gateway.config.model import Config

logger = logging.getLogger(__name__)


class ConfigFile:
    """The configuration in one file, as it is now.

    Args:
        path: The file.
        environ: What `${NAME}` in it stands for.

    Raises:
        InvalidConfig: The file cannot be read, or is no configuration.
        InvalidPolicy: Likewise, a file of policy.
    """

    def __init__(self, path: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._path, self._environ = path, environ
        self._policies: list[Path] = []
        before = _stamp(path)
        self._current = read_config(path, environ)
        self._policies = self._named()
        self._stamps = [before, *map(_stamp, self._policies)]

    @property
    def current(self) -> Config:
        """The last good configuration."""
        return self._current

    def refresh(self) -> bool:
        """Read the files again if one has changed; whether another configuration is in force now."""
        stamps = self._now()
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        try:
            # What was a pipe at the start has been read to its end.
            read = read_config(self._path, self._environ, regular)
        except (InvalidConfig, InvalidPolicy) as error:
            logger.error("the configuration stays as it was: %s", error)
            return False
        changed, self._current = read != self._current, read
        if self._named() != self._policies:
            # Files that were not followed yet; one that changes just now is read once more for it.
            self._policies = self._named()
            self._stamps = [stamps[0], *map(_stamp, self._policies)]
        return changed

    def _named(self) -> list[Path]:
        files = (each.policy.file for each in self._current.upstreams if each.policy is not None)
        return [file for file in files if file is not None]

    def _now(self) -> list[_Stamp | None]:
        return [_stamp(path) for path in (self._path, *self._policies)]


_Stamp = tuple[int, ...]


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    # Beside the time, for some file systems tell that only to 10 ms or more.
    return found.st_mtime_ns, found.st_size, found.st_ino
