"""A configuration that follows its file.

A file that has changed is read again. If it is wrong now, that is logged, and the last good configuration stays in
force until the file changes once more.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

from louver.errors import InvalidConfig
from louver.gateway.config_read import read_config

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from louver.gateway.config import Config

logger = logging.getLogger(__name__)


class ConfigFile:
    """The configuration in one file, as it is now.

    Args:
        path: The file.
        environ: What `${NAME}` in it stands for.

    Raises:
        InvalidConfig: The file cannot be read, or is no configuration.
    """

    def __init__(self, path: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._path, self._environ = path, environ
        self._stamp = self._now()
        self._current = read_config(path, environ)

    @property
    def current(self) -> Config:
        """The last good configuration."""
        return self._current

    def refresh(self) -> bool:
        """Read the file again if it has changed; whether another configuration is in force now."""
        stamp = self._now()
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        try:
            read = read_config(self._path, self._environ)
        except InvalidConfig as error:
            logger.error("the configuration stays as it was: %s", error)
            return False
        changed, self._current = read != self._current, read
        return changed

    def _now(self) -> tuple[int, ...] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        # Beside the time, for some file systems tell that only to 10 ms or more.
        return found.st_mtime_ns, found.st_size, found.st_ino
