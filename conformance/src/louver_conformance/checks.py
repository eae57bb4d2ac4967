"""Checks as `checks.json` declares them, and the registry of their functions.

::

    {"id": "content-is-the-same", "group": "projection", "level": "MUST", "requirements": ["004-4-content"],
     "after": ["receipt-given"], "says": "The content tells what the structured content tells, and no more."}

A function takes the `Context` and returns if the sentence holds; else it raises `CheckFailed` or `NotOffered`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import parse
from louver_conformance.data import DATA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver_conformance.context import Context

    Function = Callable[[Context], Awaitable[None]]

# In the order in which they run.
GROUPS: Final = (
    "capability",
    "hint",
    "projection",
    "schema",
    "errors",
    "disclosure",
    "isolation",
    "search",
    "stock",
)


@dataclass(frozen=True, slots=True)
class Check:
    id: str
    group: str
    # `MUST` fails a target that breaks it, `SHOULD` warns.
    level: str
    requirements: tuple[str, ...]
    says: str
    # Checks that must have passed, so that one fault is reported once.
    after: tuple[str, ...] = ()
    # Empty: each.
    revisions: tuple[str, ...] = ()


def all_checks() -> list[Check]:
    """The checks, in the order in which they run."""
    declared: dict[str, Any] = parse((DATA / "checks.json").read_text("utf-8"))
    return [
        Check(
            **{member: each[member] for member in ("id", "group", "level", "says")},
            requirements=tuple(each["requirements"]),
            after=tuple(each.get("after", ())),
            revisions=tuple(each.get("eras", ())),
        )
        for each in declared["checks"]
    ]


# By the id of the check; the modules of `groups` fill it.
FUNCTIONS: Final[dict[str, Function]] = {}


def check(name: str) -> Callable[[Function], Function]:
    """Register the function of the check `name`."""

    def add(function: Function) -> Function:
        FUNCTIONS[name] = function
        return function

    return add
