"""Failures that are known: a line each, as a report tells them.

::

    # the next version mends this
    2025-11-25 exclude-leaves-out

Those do not count; what fails beside them does, and one that passes is told, so that its line can go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import InvalidInput
from louver_conformance.checks import all_checks
from louver_conformance.session import ERAS

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> list[str]:
    """The lines of a baseline.

    Raises:
        InvalidInput: It cannot be read, or a line names no check.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {type(error).__name__}") from None
    ids = {check.id for check in all_checks()}
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) == 1 or words[0] not in ERAS or words[1] not in ids or words[2:]:
            raise InvalidInput(f"{path}:{number}: expected a revision and a check, for example '{ERAS[0]} connects'")
        found.append(" ".join(words))
    return found
