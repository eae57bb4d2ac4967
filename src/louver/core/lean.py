"""Which fields of an answer a lean view keeps, and why it leaves the others out.

    items.id        kept
    items.body      long text      a text of more than `HEAVY_CHARACTERS`
    items.kind      constant       one value, which was seen more than once
    items.owner     always null

It is a view to begin with: what an answer is needed for is not known here. Just leaves are named, since what they
stand in is kept with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from louver.limits import HEAVY_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from louver.core.path import FieldPath
    from louver.core.weigh import Weight

Reason = Literal["long text", "always null", "constant"]
"""Why a field is left out."""


def reason(weight: Weight) -> Reason | None:
    """Why a field is left out; `None` if it is kept."""
    if weight.longest > HEAVY_CHARACTERS:
        return "long text"
    if weight.nulls == weight.seen:
        return "always null"
    return "constant" if weight.is_constant else None


def lean(weights: Sequence[Weight]) -> tuple[FieldPath, ...] | None:
    """The paths of a view that keeps what is short and differs; `None` if that leaves out nothing, or all."""
    leaves = [weight for weight in weights if weight.is_leaf]
    kept = tuple(weight.path for weight in leaves if reason(weight) is None)
    return kept if kept and len(kept) < len(leaves) else None
