"""What `project(value, fields)` of a script does, with a bound on the work.

project({id = 7, name = "Ann"}, {"id"})    {"id": 7}
"""

from __future__ import annotations

from functools import lru_cache
from time import thread_time
from typing import TYPE_CHECKING

from louver.core.plan import Plan, compile_projection
from louver.core.projection import Projection
from louver.errors import SandboxCallLimit
from louver.limits import SCRIPT_PROJECTING_S

if TYPE_CHECKING:
    from louver.core.json import Json


class Projections:
    """Those of one script."""

    def __init__(self) -> None:
        self._spent_s = 0.0
        self._plan = lru_cache(maxsize=8)(_plan)

    def projected(self, fields: tuple[str, ...], value: Json) -> Json:
        """The kept part of a value. Made to run in a thread, one at a time.

        Raises:
            InvalidProjection: A path cannot be read, or there are too many.
            SandboxCallLimit: All of them have taken too long.
        """
        if self._spent_s > SCRIPT_PROJECTING_S:
            message = f"the script's projections have taken over {SCRIPT_PROJECTING_S:g} s"
            raise SandboxCallLimit(message, limit=SCRIPT_PROJECTING_S)
        begun = thread_time()
        try:
            return self._plan(fields)(value)
        finally:
            self._spent_s += thread_time() - begun


def _plan(fields: tuple[str, ...]) -> Plan:
    return compile_projection(Projection.include(*fields))
