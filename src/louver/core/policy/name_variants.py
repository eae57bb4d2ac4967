"""Names that readers take for one another: a policy that denies one of them denies all.

For example ssn, SSN, the same in full width, and the same with a zero width space in it: names are variants if they are
equal after NFKC and `str.casefold`, without white space around them and without invisible characters (categories Cc and
Cf, variation selectors, fillers). Source: PRIVACY.md, P13; that invisible characters do not count is ours.
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
from louver.core.schema.applicators import HOLDING_SCHEMA_MAP, HOLDING_SCHEMAS
from louver.errors import ProjectionLimit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from louver.core.json import Json, Schema

MAX_KEPT_NAME = 256
"""Longest name that is cached with its normalised form, in characters."""

MAX_TWIN_PATHS = 1024
"""Denied paths of one rule, with all variants of their names. A schema has few variants, if any."""


# Invisible, though not of category Cc or Cf.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def key_of(name: str) -> str:
    """The form that all variants of a name share."""
    # In ASCII only control characters are not printable.
    if name.isascii() and name.isprintable():
        return name.strip().lower()
    return (_kept if len(name) <= MAX_KEPT_NAME else _key)(name)


def _key(name: str) -> str:
    # Invisible characters separate letters from accents, so they go first; folding can produce further ones.
    visible = without_invisible(name, controls=True)
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", visible).casefold()).casefold()
    return without_invisible(folded, controls=True).strip()


_kept = lru_cache(maxsize=1024)(_key)


def without_invisible(text: str, *, controls: bool = False) -> str:
    """The text without invisible characters; `controls`: also without control characters."""
    invisible = ("Cc", "Cf") if controls else ("Cf",)
    return "".join(each for each in _UNSEEN.sub("", text) if unicodedata.category(each) not in invisible)


class TwinMask(Mask):
    """A mask that finds its children by any variant of their names."""

    __slots__ = ()

    def child(self, name: str) -> Mask:
        return self.children.get(key_of(name), self.other)


def twinned(mask: Mask, out: Mask = NONE) -> Mask:
    """The mask that applies an exclude's mask of keys (`keyed`) to all variants; `out` replaces `NONE`."""
    return remade(mask, out, TwinMask)


def keyed(paths: Iterable[FieldPath]) -> tuple[FieldPath, ...]:
    return tuple(
        FieldPath(tuple(None if step is None else key_of(step) for step in path.names), path.deep) for path in paths
    )


def with_twins(paths: Iterable[FieldPath], names: Iterable[str]) -> tuple[FieldPath, ...]:
    """The paths, also with variants of their names among `names`; `ProjectionLimit` over `MAX_TWIN_PATHS`."""
    twins: dict[str, set[str]] = {}
    for name in names:
        twins.setdefault(key_of(name), set()).add(name)
    found: dict[FieldPath, None] = {}
    for path in paths:
        choices = [[None] if step is None else sorted(twins.get(key_of(step), set()) | {step}) for step in path.names]
        for steps in product(*choices):
            found[FieldPath(steps, path.deep)] = None
            if len(found) > MAX_TWIN_PATHS:
                message = f"the names of the schema have too many twins: more than {MAX_TWIN_PATHS} paths"
                raise ProjectionLimit(message, limit=MAX_TWIN_PATHS)
    return tuple(found)


def names_in(schema: Schema) -> set[str]:
    """Every member name that a schema mentions anywhere."""
    names: set[str] = set()
    for part in _objects(schema):
        for keyword, argument in part.items():
            names |= set(chain.from_iterable(_objects(argument))) if keyword in _VALUES else _named(keyword, argument)
    return names


def arguments_in(schema: Schema) -> set[str]:
    """The member names that an input schema takes, without those in examples, defaults and other values."""
    names: set[str] = set()
    todo: list[object] = [schema]
    while todo:
        value = todo.pop()
        if is_array(value):
            todo += value
        elif is_object(value):
            for keyword, argument in value.items():
                names |= _named(keyword, argument)
                if keyword in HOLDING_SCHEMAS:
                    todo.append(argument)
                elif keyword in HOLDING_SCHEMA_MAP and is_object(argument):
                    todo += argument.values()
    return names


def _named(keyword: str, argument: Json) -> set[str]:
    if keyword == "required":
        return set(strings(argument))
    if keyword not in _NAMING or not is_object(argument):
        return set()
    return {*argument, *(name for listed in argument.values() for name in strings(listed))}


def _objects(value: Json) -> Iterator[dict[str, Any]]:
    return filter(is_object, chain.from_iterable(levels(value)))


_VALUES = frozenset({"const", "enum", "default", "examples"})
_NAMING = frozenset({"properties", "dependentRequired", "dependentSchemas", "dependencies"})
