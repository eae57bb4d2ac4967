"""Names that people take for one another: what is denied under one of them is denied under all.

::

    ssn    SSN    the same in full width    the same with a zero width space in it    are twins

Member names are code points, and a client gets just what it names (P13). A policy that denies `ssn` means more than
that: two names are twins if they are the same once compatibility forms, case, characters that nobody sees and white
space around them are taken away (NFKC, `str.casefold`, without the characters of the categories Cc and Cf, variation
selectors and fillers).

Source: PRIVACY.md, P13; that characters which nobody sees do not count is ours.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import chain, product
from typing import TYPE_CHECKING, Any

from louver.core.json import is_array, is_object, levels, strings
from louver.core.paths.mask import NONE, Mask, remade
from louver.core.paths.path import FieldPath
from louver.core.schema.references import HOLDING, HOLDING_NAMED
from louver.errors import ProjectionLimit
from louver.limits import MAX_KEPT_NAME, MAX_TWIN_PATHS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from louver.core.json import Json, Schema


_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
"""What nobody sees, though it is not of category Cc or Cf."""


def key_of(name: str) -> str:
    """What all twins of a name have in common."""
    # What is not printable in ASCII are its control characters.
    if name.isascii() and name.isprintable():
        return name.strip().lower()
    return (_kept if len(name) <= MAX_KEPT_NAME else _key)(name)


def _key(name: str) -> str:
    # What nobody sees also keeps letters from their accents, so it goes first; folding can bring up more of it.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", _seen(name)).casefold()).casefold()
    return _seen(folded).strip()


_kept = lru_cache(maxsize=1024)(_key)
"""The same, and those of the last names are kept."""


def _seen(name: str) -> str:
    return "".join(each for each in _UNSEEN.sub("", name) if unicodedata.category(each) not in ("Cc", "Cf"))


class TwinMask(Mask):
    """A mask that finds its children by any twin of their names."""

    __slots__ = ()

    def child(self, name: str) -> Mask:
        """The node of the member `name`."""
        return self.children.get(key_of(name), self.other)


def twinned(mask: Mask, out: Mask = NONE) -> Mask:
    """The mask that does to all twins what an exclude's mask does to the names that it was made of.

    Args:
        mask: Of paths whose names are keys (`keyed`).
        out: What stands for a place that `mask` leaves out.
    """
    return remade(mask, out, TwinMask)


def keyed(paths: Iterable[FieldPath]) -> tuple[FieldPath, ...]:
    """The paths, with the key of each name instead of the name."""
    return tuple(
        FieldPath(tuple(None if step is None else key_of(step) for step in path.steps), path.deep) for path in paths
    )


def with_twins(paths: Iterable[FieldPath], names: Iterable[str]) -> tuple[FieldPath, ...]:
    """The paths, and beside each those that it becomes by twins of its names.

    Args:
        paths: What is denied.
        names: Those that a schema has.

    Raises:
        ProjectionLimit: They are more than `MAX_TWIN_PATHS`.
    """
    twins: dict[str, set[str]] = {}
    for name in names:
        twins.setdefault(key_of(name), set()).add(name)
    found: dict[FieldPath, None] = {}
    for path in paths:
        choices = [[None] if step is None else sorted(twins.get(key_of(step), set()) | {step}) for step in path.steps]
        for steps in product(*choices):
            found[FieldPath(steps, path.deep)] = None
            if len(found) > MAX_TWIN_PATHS:
                message = f"the names of the schema have too many twins: more than {MAX_TWIN_PATHS} paths"
                raise ProjectionLimit(message, limit=MAX_TWIN_PATHS)
    return tuple(found)


def names_in(schema: Schema) -> set[str]:
    """Every name of a member that a schema speaks of, wherever it stands."""
    names: set[str] = set()
    for part in _objects(schema):
        for keyword, argument in part.items():
            names |= set(chain.from_iterable(_objects(argument))) if keyword in _VALUES else _named(keyword, argument)
    return names


def arguments_in(schema: Schema) -> set[str]:
    """The names of members in what an input schema takes, and not those in examples, defaults and other values."""
    names: set[str] = set()
    todo: list[object] = [schema]
    while todo:
        value = todo.pop()
        if is_array(value):
            todo += value
        elif is_object(value):
            for keyword, argument in value.items():
                names |= _named(keyword, argument)
                if keyword in HOLDING:
                    todo.append(argument)
                elif keyword in HOLDING_NAMED and is_object(argument):
                    todo += argument.values()
    return names


def _named(keyword: str, argument: Json) -> set[str]:
    """The names of members that a keyword of a schema speaks of itself."""
    if keyword == "required":
        return set(strings(argument))
    if keyword not in _NAMING or not is_object(argument):
        return set()
    return {*argument, *(name for listed in argument.values() for name in strings(listed))}


def _objects(value: Json) -> Iterator[dict[str, Any]]:
    """All objects in a value."""
    return filter(is_object, chain.from_iterable(levels(value)))


_VALUES = frozenset({"const", "enum", "default", "examples"})
_NAMING = frozenset({"properties", "dependentRequired", "dependentSchemas", "dependencies"})
