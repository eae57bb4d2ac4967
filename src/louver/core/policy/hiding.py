"""The mask of denied fields as a function of the value: what it names is left out, or replaced.

    deny **.ssn    {"id": 1, "SSN": 2}    ->    {"id": 1}

What becomes of a name is looked up once, by any variant of it. Law: the same as `project`, or as `hide`, with the mask
(`tests/core/policy/test_hiding.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object
from louver.core.paths.mask import ALL, NONE, Mask
from louver.core.policy.masking import HIDDEN, hide
from louver.core.policy.name_variants import MAX_KEPT_NAME
from louver.core.project import emptied, project

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json

MAX_KEPT_FATES = 1024
"""Names of one place whose fate is kept. Where there are more, names are data, and are looked up each time."""

_GONE: Final = emptied


def hiding(mask: Mask, put: Callable[[Json], Json] | None) -> Callable[[Json], Json]:
    """The function for an exclude's mask: `project` of it, or with `put` `hide`."""
    fate = _Hiding(put).fate(mask)
    if fate is None:
        return lambda value: value

    def keep(value: Json) -> Json:
        try:
            return fate(value)
        except RecursionError:
            return hidden_from(value, mask, put)

    return keep


def hidden_from(value: Json, mask: Mask, put: Callable[[Json], Json] | None) -> Json:
    """The same by the interpreters, for a mask that is met once, or a value of any depth."""
    return project(value, mask) if put is None else hide(value, mask, put)


class _Hiding:
    def __init__(self, put: Callable[[Json], Json] | None) -> None:
        self._put = put
        self._made: dict[Mask, Callable[[Json], Json]] = {}

    def fate(self, mask: Mask) -> Callable[[Json], Json] | None:
        """What is made of a part: `None` if it stays, `_GONE` if it does not."""
        if mask is ALL:
            return None
        if mask is NONE:
            return _GONE
        return self._put if mask is HIDDEN else self._made.get(mask) or self._node(mask)

    def _node(self, mask: Mask) -> Callable[[Json], Json]:
        fates = _Fates(mask, self.fate)

        def keep(value: Json) -> Json:
            if is_object(value):
                kept: dict[str, Any] = {}
                for name, member in value.items():
                    fate = fates[name]
                    if fate is None:
                        kept[name] = member
                    elif fate is not _GONE:
                        kept[name] = fate(member)
                return kept
            if not is_array(value) or of_element is None:
                return value
            return [] if of_element is _GONE else list(map(of_element, value))

        # A node can lead back to itself.
        self._made[mask] = keep
        of_element = self.fate(mask.elem)
        return keep


class _Fates(dict[str, "Callable[[Json], Json] | None"]):
    """The fates of members, by their names as they are written."""

    def __init__(self, mask: Mask, fate: Callable[[Mask], Callable[[Json], Json] | None]) -> None:
        super().__init__()
        self._mask, self._fate = mask, fate

    def __missing__(self, name: str) -> Callable[[Json], Json] | None:
        found = self._fate(self._mask.child(name))
        if len(self) < MAX_KEPT_FATES and len(name) <= MAX_KEPT_NAME:
            self[name] = found
        return found
