"""What savings tell of the use of tools: which were called lately, and how long their answers are."""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from louver.steps.database_file import FAILURES, failure_reason
from louver.steps.savings.database import KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    # By server, and the tool's name there.
    Use = Mapping[tuple[str, str], "ToolUse"]

USED_DAYS = 14
"""Days before the last call of any tool in which a call counts as lately."""

LARGE_CHARACTERS = 1_000
"""Characters of a tool's answers, on average, under which naming fields saves little."""

_QUERY = "SELECT server, tool, sum(calls), sum(whole_characters), max(day) FROM savings GROUP BY server, tool"

logger = logging.getLogger(__name__)


class ToolUse(NamedTuple):
    calls: int
    characters: int  # of all its answers, as a host would have shown them
    last: date


def read_use(file: Path) -> Use:
    """The use of all tools in a file of savings. Nothing, if it is missing; what is wrong with it is logged."""
    try:
        with closing(KIND.open(file, "ro")) as database:
            rows = database.execute(_QUERY).fetchall()
        return {
            (server, tool): ToolUse(calls, characters, date.fromisoformat(day))
            for server, tool, calls, characters, day in rows
        }
    except FileNotFoundError:
        return {}
    except FAILURES as error:
        logger.warning("the use of tools is not known: %r cannot be read: %s", str(file), failure_reason(error))
    except (TypeError, ValueError):
        logger.warning("the use of tools is not known: %r holds other rows than Louver writes", str(file))
    return {}


def has_large_answers(use: Use, owner_of: Callable[[str], tuple[str, str]], name: str) -> bool | None:
    """Whether a listed tool has given large answers; `None` if its server is not in use."""
    server, tool = owner_of(name)
    if not any(each == server for each, _ in use):
        return None
    counted = use.get((server, tool))
    return counted is not None and counted.characters >= LARGE_CHARACTERS * counted.calls


def used_lately(use: Use) -> list[tuple[str, str]]:
    """The tools that were called lately, the most called first."""
    if not use:
        return []
    days, tomorrow = [each.last for each in use.values()], datetime.now(UTC).date() + timedelta(days=1)
    # A later day was counted while the clock was wrong, and makes no other one long ago.
    since = max((day for day in days if day <= tomorrow), default=max(days)) - timedelta(days=USED_DAYS)
    lately = [tool for tool, each in use.items() if each.last >= since and each.calls]
    return sorted(lately, key=lambda tool: (-use[tool].calls, tool))
