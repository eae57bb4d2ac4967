"""A shaping applied: to the kept value, and to the schema of such values.

Law: `reshaping(v)` of a valid value is valid under the derived schema (`tests/core/test_shaping_laws.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core.json import Json, is_object
from louver.core.paths.mask import ALL
from louver.core.schema.derive import Derived, Precision
from louver.core.schema.infer import closed
from louver.core.shaping.select import place_mask, select
from louver.core.shaping.selected_schema import selected
from louver.core.shaping.shorten import Shortening, shorten
from louver.core.shaping.shortened_schema import shortened
from louver.core.wrapper import WRAPPER

if TYPE_CHECKING:
    from louver.core.json import Schema
    from louver.core.shaping.options import Shaping


class Reshaping:
    """A compiled shaping. `wrapped`: it applies within the wrapper, and `shaping` does not name the wrapper."""

    def __init__(self, shaping: Shaping, *, wrapped: bool) -> None:
        self.shaping = shaping
        self._wrapped = wrapped
        size = (shaping.max_items, shaping.max_string)
        self._shortening = Shortening.to_size(*size, drops_nulls=shaping.drop_nulls is True)
        self._shortens = self._shortening != Shortening()
        self._place = ALL if shaping.select is None else place_mask(shaping.select.at)

    def __call__(self, value: Json) -> Json:
        if self._wrapped and is_object(value):
            return {**value, WRAPPER: self._inner(value[WRAPPER])} if WRAPPER in value else value
        return self._inner(value)

    def derived(self, projected: Derived) -> Derived:
        """The schema of the shaped form of every value that is valid under the projected schema."""
        steps = [projected]
        if self.shaping.select is not None:
            steps.append(selected(steps[-1].schema, self.shaping.select, wrapped=self._wrapped))
        if self._shortens:
            steps.append(shortened(steps[-1].schema, self._shortening, wrapped=self._wrapped))
        precision: Precision = "exact" if all(step.precision == "exact" for step in steps) else "shape"
        return Derived(steps[-1].schema, precision)

    def seen(self, inferred: Schema) -> Derived:
        """The schema of a shaped value, given the schema that was inferred from it."""
        return shortened(closed(inferred), self._shortening)

    def _inner(self, value: Json) -> Json:
        members = self.shaping.select
        if members is not None:
            value = select(value, self._place, dict(members.members))
        return shorten(value, self._shortening) if self._shortens else value
