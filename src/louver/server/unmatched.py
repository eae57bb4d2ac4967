"""What is told of fields that were asked for, and that the tool's output does not have.

    {"unmatched": ["nmae"], "suggestions": {"nmae": "name"}}  ->  the output has no field 'nmae'; did you mean 'name'?

The receipt says so too, but stands in `_meta`, which models are not shown. Who asks by the argument gets a block of
text after the answer's own: a model would else take `{}` for all that there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.json import members, strings
from louver.limits import MAX_TOLD_PATHS

if TYPE_CHECKING:
    from collections.abc import Mapping


def unmatched_in(receipt: Mapping[str, Any]) -> list[str]:
    """A sentence for each of the first few fields; none if all are known.

    Args:
        receipt: As it stands on the wire.
    """
    meant = members(receipt.get("suggestions"))
    unmatched = strings(receipt.get("unmatched"))
    told = [f"the output has no field {path!r}{_meant(meant.get(path))}" for path in unmatched[:MAX_TOLD_PATHS]]
    more = len(unmatched) - len(told)
    return [*told, *([f"nor {more} more that were asked for"] if more else [])]


def _meant(path: object) -> str:
    return f"; did you mean {path!r}?" if isinstance(path, str) else ""
