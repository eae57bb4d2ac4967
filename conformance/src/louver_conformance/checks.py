"""Checks: what each is called, what it holds a server to, and which function carries it out.

An entry of `conformance/checks.json`::

    {"id": "content-is-the-same", "group": "projection", "level": "MUST", "requirements": ["004-4-content"],
     "after": ["receipt-given"], "says": "The content tells what the structured content tells, and no more."}

A check whose `after` has not passed is not carried out: one fault of a server is told once. Its function takes the
`Talk` and returns if the sentence is kept; it raises `Broken` if not, `NotOffered` if there is nothing to try it on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import parse
from louver_conformance.data import DATA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from louver_conformance.context import Talk

    Function = Callable[[Talk], Awaitable[None]]

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
"""The groups, in the order in which they are tried."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Args:
        id: Its name.
        group: Its group.
        level: `MUST`: who does not keep it fails. `SHOULD`: is warned of.
        requirements: Ids of the sentences that it holds a server to.
        says: What holds.
        after: Checks that must have passed.
        eras: The revisions in which it is tried; empty: each.
    """

    id: str
    group: str
    level: str
    requirements: tuple[str, ...]
    says: str
    after: tuple[str, ...] = ()
    eras: tuple[str, ...] = ()


def all_checks() -> list[Check]:
    """The checks, in the order in which they are tried."""
    written: dict[str, Any] = parse((DATA / "checks.json").read_text("utf-8"))
    return [
        Check(
            **{member: each[member] for member in ("id", "group", "level", "says")},
            requirements=tuple(each["requirements"]),
            after=tuple(each.get("after", ())),
            eras=tuple(each.get("eras", ())),
        )
        for each in written["checks"]
    ]


FUNCTIONS: Final[dict[str, Function]] = {}
"""Id of a check -> what carries it out. Filled by the modules of `groups`."""


def check(name: str) -> Callable[[Function], Function]:
    """Say that a function carries out the check `name`."""

    def add(function: Function) -> Function:
        FUNCTIONS[name] = function
        return function

    return add
