"""Baselines: files of known failures, one line each.

::

    # the next version mends this
    2025-11-25 exclude-leaves-out

Known failures do not count. A line whose check passes is reported, so that it can be removed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.errors import InvalidInput
from louver_conformance.checks import all_checks
from louver_conformance.session import REVISIONS

if TYPE_CHECKING:
    from pathlib import Path


def read(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {type(error).__name__}") from None
    ids = {check.id for check in all_checks()}
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) == 1 or words[0] not in REVISIONS or words[1] not in ids or words[2:]:
            raise InvalidInput(
                f"{path}:{number}: expected a revision and a check, for example '{REVISIONS[0]} connects'"
            )
        lines.append(" ".join(words))
    return lines
