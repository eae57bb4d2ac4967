"""What a client returns: the result of a call, a dry run, and statistics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.protocol.receipt import Applied, NotApplied

Data = TypeVar("Data", covariant=True)


@dataclass(frozen=True, slots=True)
class ProjectedResult(Generic[Data]):
    """The result of a call, checked against the request.

    Args:
        data: The output without the SDK's wrapper, as the requested type if there is one; `None` for prose.
        schema: A self-contained JSON Schema (draft 2020-12) of the output, which allows only what was requested.
        applied: Whether the server sent just what was requested.
        pruned: Whether the server sent more, which the client removed.
        receipt: What the result says about its projection, if anything.
        raw: The whole result as received. Its other parts are not checked.
    """

    data: Data
    schema: Schema
    applied: bool
    pruned: bool
    receipt: Applied | NotApplied | None
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a request means for a tool, found out without a call."""

    fields: tuple[str, ...]  # the canonical paths of the request
    unmatched: tuple[str, ...]  # paths that the tool's schema does not know
    suggestions: dict[str, str]  # unmatched path -> the path that was probably meant
    schema: Schema  # of the output to come, with the SDK's wrapper if there is one
    is_exact: bool  # the schema is derived from the tool's exact schema
    projects: bool  # the server says that it can project this tool


@dataclass(slots=True)
class Stats:
    """What the successful calls of a client have cost so far."""

    calls: int = 0
    applied: int = 0  # calls that the server projected
    bytes_requested: int = 0  # the requested output, as JSON without white space
    bytes_received: int = 0  # the whole results, as JSON without white space

    def count(self, *, applied: bool, requested: int, received: int) -> None:
        """Count one call, with its sizes in bytes."""
        self.calls += 1
        self.applied += applied
        self.bytes_requested += requested
        self.bytes_received += received
