"""What a client gives back: the answer of a call, what a call would ask for, and what calls have cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.protocol.receipt import Applied, NotApplied

Data = TypeVar("Data", covariant=True)


@dataclass(frozen=True, slots=True)
class ProjectedResult(Generic[Data]):
    """The answer of a tool, held against what was asked.

    Args:
        data: The output, without the object that the SDK wraps around one that is none; of the asked type, if one
            was asked for; `None` if there is none but prose.
        schema: A JSON Schema that the output satisfies, self-contained and of draft 2020-12. What was asked for
            and nothing else can be in it.
        applied: Whether the server has sent just what was asked for.
        pruned: Whether the server has sent more, and that was taken away here.
        receipt: What the answer says of its projection itself, if anything.
        raw: The whole result as it came. Nobody vouches for what else it holds.
    """

    data: Data
    schema: Schema
    applied: bool
    pruned: bool
    receipt: Applied | NotApplied | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a request means for a tool, found out without a call.

    Args:
        fields: The canonical list of what is asked for.
        unmatched: Paths that the tool's schema does not know.
        suggestions: For these, the path that was probably meant.
        schema: The schema that the answer will satisfy, with the object that the SDK may wrap around it.
        is_exact: Whether it was derived from the tool's exact schema.
        projects: Whether the server says that it can project this tool.
    """

    fields: tuple[str, ...]
    unmatched: tuple[str, ...]
    suggestions: dict[str, str]
    schema: Schema
    is_exact: bool
    projects: bool


@dataclass(slots=True)
class Stats:
    """What the calls of a client have cost so far. Calls that have failed are not counted.

    Args:
        calls: How many there were.
        applied: How many of them were projected by the server.
        bytes_asked: What was asked for, as JSON without white space.
        bytes_had: What came: the whole results, likewise.
    """

    calls: int = 0
    applied: int = 0
    bytes_asked: int = 0
    bytes_had: int = 0

    def count(self, *, applied: bool, asked: int, had: int) -> None:
        """Count one call, with its bytes."""
        self.calls += 1
        self.applied += applied
        self.bytes_asked += asked
        self.bytes_had += had
