"""Plans that get fast: closures at first, generated code once values are known.

Three forms keep the same of every value, each faster and narrower than the last:

1. the interpreter (`project`), for any value of any depth;
2. the closures, for any value that Python can recurse through;
3. the generated code, for values of the shape that was seen (`louver.core.learning`).

Law: of JSON as `json.loads` makes it, all three keep the same (`tests/core/test_compile.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from louver.core.closures import closures
from louver.core.generate import generated
from louver.core.learning import Learning
from louver.core.project import project

if TYPE_CHECKING:
    from collections.abc import Mapping

    from louver.core.json import Json
    from louver.core.mask import Mask


class Compiled(Learning["Json"]):
    """`project(value, mask, order)` as a function of the value: `keep`.

    Args:
        mask: What is kept.
        order: For an include: the order of members.
    """

    def __init__(self, mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> None:
        walk = closures(mask, order)

        def general(value: Json) -> Json:
            try:
                return walk(value)
            except RecursionError:
                return project(value, mask, order)

        super().__init__(mask, general, partial(generated, order), lambda value: value)
