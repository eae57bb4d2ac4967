"""What may be seen of a tool's output: raw in, visible out, with the schema of what is visible.

::

    rule      allow  id, name, contact        deny  contact.phone        hash  contact.email
    value     {"id": 1, "name": "Ann", "ssn": "078-...", "contact": {"email": "ann@example.org", "phone": "555"}}
    visible   {"id": 1, "name": "Ann", "contact": {"email": "p:Zk3xVb9qLm2TfA0sWc8dRg"}}

A rule is a few steps, each a mask that is applied to the value and to the schema alike; those of several rules are
applied one after the other, so that only what all of them let through is left. Names that are denied are told nowhere:
neither as properties nor in any other keyword (`redacted_schema`). An allowed name is just itself, a denied one is all
of its variants (`name_variants`).

Law: for every value that is valid under a schema, `Sight(...).of(value)` is valid under `Sight(...).schema`
(`tests/core/test_visible_laws.py`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from louver.core.cached import cached_property
from louver.core.json import Json, canonical, is_object
from louver.core.paths.mask import ALL, NONE, Mask, exclude_mask, include_mask, remade
from louver.core.paths.path import FieldPath, fold
from louver.core.policy.masking import HIDDEN, hidden, hide
from louver.core.policy.name_variants import arguments_in, keyed, names_in, twinned, with_twins
from louver.core.policy.redacted_schema import Names, unsaid
from louver.core.project import project
from louver.core.schema import known_fields
from louver.core.schema.derive import Derived, derive
from louver.core.wrapper import WRAPPER, is_wrapped, within, within_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from louver.core.json import Schema

Fate = Literal["seen", "dropped", "masked", "hashed"]
"""What becomes of a field."""

MASKED: Final = "[masked]"
"""What stands instead of a masked value."""

_ORDER: Final[tuple[Fate, ...]] = ("hashed", "masked", "dropped")
"""What comes first: what is masked has no pseudonym, and what is denied has neither."""

_HASHED: Final = "p:"
_HASH_BYTES: Final = 16
_HASH_PATTERN: Final = f"^{_HASHED}[A-Za-z0-9_-]{{22}}$"


@dataclass(frozen=True, slots=True)
class Fields:
    """What one rule says of the fields of a tool's output.

    Args:
        allow: What may be seen, read as an include; everything if there is none.
        deny: What may not, read as an exclude.
        mask: What is there, with a constant instead of what it is.
        hash: Likewise, with a pseudonym: the same for the same value.
    """

    allow: tuple[FieldPath, ...] = ()
    deny: tuple[FieldPath, ...] = ()
    mask: tuple[FieldPath, ...] = ()
    hash: tuple[FieldPath, ...] = ()

    def unknown(self, schema: Schema) -> dict[FieldPath, FieldPath | None]:
        """The paths that a schema cannot have, in their order, each with the one that was probably meant."""
        denied = (*self.deny, *self.mask, *self.hash)
        return known_fields.unmatched(schema, within(schema, self.allow), within(schema, denied))

    def each(self, change: Callable[[tuple[FieldPath, ...]], tuple[FieldPath, ...]]) -> Fields:
        """The same, with all paths changed."""
        return Fields(*map(change, (self.allow, self.deny, self.mask, self.hash)))


class Sight:
    """What some rules let be seen of one tool's output.

    Args:
        rules: Applied one after the other.
        schema: Of the output, if it is known.
        key: Of pseudonyms.
        wrapper: The property of structured content that holds the values as JSON text; paths may begin with it.

    Raises:
        ProjectionLimit: The paths together are too many.
    """

    def __init__(
        self, rules: Sequence[Fields], schema: Schema | None, key: bytes = b"", wrapper: str | None = None
    ) -> None:
        self._source: Schema = True if schema is None else schema
        self._wrapped = schema is not None and is_wrapped(schema)
        self._key = key
        names = names_in(self._source)
        self._named = {
            step
            for fields in rules
            for path in (*fields.allow, *fields.deny, *fields.mask, *fields.hash)
            for step in path.steps
            if step is not None
        }
        if wrapper is not None:
            rules = [_of_text(fields, wrapper) for fields in rules]
        steps = [step for fields in rules for step in self._steps_of(fields, names)]
        # What is denied goes last and at once: nothing then tells a name that another rule hides, allows or looks into.
        if deny := tuple(path for fields in rules for path in fields.deny):
            masks = self._denying(fold(deny), names, NONE)
            steps.append(_Step(*masks, project, _derived, names=_last_names(deny)))
        shown = [step for step in steps if step.mask is not ALL]
        self._steps = sorted(shown, key=lambda step: (_ORDER.index(step.does), step.mask.exclude))

    @cached_property
    def names(self) -> frozenset[str]:
        """The names that the schema speaks of, and those that rules name."""
        return frozenset(names_in(self._source) | self._named)

    @property
    def is_whole(self) -> bool:
        """Whether everything can be seen as it is."""
        return not self._steps

    def of(self, value: Json) -> Json:
        """What can be seen of a value, which is not changed."""
        for step in self._steps:
            if self._wrapped and is_object(value) and WRAPPER in value:
                beside = {name: member for name, member in value.items() if name != WRAPPER}
                # What is allowed is all within the wrapper.
                rest: Any = step.of(beside, step.mask) if beside and step.mask.exclude else {}
                value = {**rest, WRAPPER: step.of(value[WRAPPER], step.mask.child(WRAPPER))}
            else:
                value = step.of(value, step.mask)
        return value

    @cached_property
    def schema(self) -> Schema:
        """The schema of what can be seen of valid values; it tells nothing of what cannot."""
        return unsaid(self._derived, self.unseen)

    @cached_property
    def unseen(self) -> Names:
        """The names of the schema, and of what is denied, that stand nowhere in what can be seen."""
        return Names(self._denied)

    def unseen_besides(self, schema: Schema) -> Names:
        """Likewise, without the names of arguments that an input schema takes."""
        return Names(self._denied - arguments_in(schema))

    @cached_property
    def _denied(self) -> set[str]:
        named = {name for step in self._steps for name in step.names}
        return (names_in(self._source) | named) - names_in(self._derived)

    @cached_property
    def _derived(self) -> Schema:
        schema = self._source
        for step in self._steps:
            schema = step.derived(schema, self._wrapped).schema
        return schema

    def allows(self, name: str) -> bool:
        """Whether a member is allowed by its name, and not just because nothing denies it."""
        allowing = [step for step in self._steps if not step.mask.exclude]
        path = FieldPath((name,))
        return bool(allowing) and all(_reaches(step.mask, path, ALL) for step in allowing) and self.fate(path) == "seen"

    def hides(self, path: FieldPath) -> bool:
        """Whether a path must not be told: nothing of what it names can be seen as it is, or it tells such a name."""
        if any(step is not None and self.unseen.are_told(step) for step in path.steps):
            return True
        [inside] = within(self._source, (path,))
        above = FieldPath(inside.steps[:-1])
        return self.fate(path) == "dropped" or any(_reaches(step.mask, above, HIDDEN) for step in self._steps)

    def fate(self, path: FieldPath) -> Fate:
        """What becomes of what a path names."""
        [inside] = within(self._source, (path,))
        fate: Fate = "seen"
        for step in self._steps:
            if step.mask.leaves_out(inside):
                return "dropped"
            if step.does != "dropped" and _reaches(step.mask, inside, HIDDEN):
                fate = step.does
        return fate

    def _steps_of(self, fields: Fields, names: set[str]) -> list[_Step]:
        steps: list[_Step] = []
        if fields.allow:
            mask = include_mask(within(self._source, (*fields.allow, *fields.mask, *fields.hash)))
            steps.append(_Step(mask, mask, project, _derived))
        if fields.hash:
            stands = {"type": "string", "pattern": _HASH_PATTERN}
            steps.append(_hiding(self._denying(fields.hash, names, HIDDEN), "hashed", stands, self._pseudonym))
        if fields.mask:
            steps.append(_hiding(self._denying(fields.mask, names, HIDDEN), "masked", {"const": MASKED}, _masked))
        return steps

    def _denying(self, paths: tuple[FieldPath, ...], names: set[str], out: Mask) -> tuple[Mask, Mask]:
        masks = _denying(within(self._source, paths), names, out)
        if not self._wrapped:
            return masks
        # Members that stand beside the wrapper's property are denied by the paths as they are written.
        beside = _denying(paths, names, out)
        return _around(masks[0], beside[0]), _around(masks[1], beside[1])

    def _pseudonym(self, value: Json) -> Json:
        digest = hmac.new(self._key, canonical(value), hashlib.sha256).digest()[:_HASH_BYTES]
        return _HASHED + base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class _Step:
    """One mask.

    Args:
        mask: For values.
        written: For schemas, by the names that they have.
        of: Applies the mask to a value.
        derive: Applies it to a schema.
        does: What becomes of what it names.
        names: Names that it denies.
    """

    mask: Mask
    written: Mask
    of: Callable[[Json, Mask], Json]
    derive: Callable[[Schema, Mask, bool], Derived]
    does: Fate = "dropped"
    names: frozenset[str] = frozenset()

    def derived(self, schema: Schema, wrapped: bool) -> Derived:
        """What is left of a schema."""
        return self.derive(schema, self.written, wrapped)


def _derived(schema: Schema, mask: Mask, wrapped: bool) -> Derived:
    return derive(schema, mask, wrapped=wrapped, silent=True)


def _hiding(masks: tuple[Mask, Mask], does: Fate, stands: Schema, put: Callable[[Json], Json]) -> _Step:
    def of(value: Json, mask: Mask) -> Json:
        return hide(value, mask, put)

    def derived(schema: Schema, mask: Mask, wrapped: bool) -> Derived:
        return hidden(schema, mask, stands, put, wrapped=wrapped)

    return _Step(*masks, of, derived, does)


def _denying(paths: tuple[FieldPath, ...], names: set[str], out: Mask) -> tuple[Mask, Mask]:
    """The masks of what is denied: by twins for values, and by the names that a schema has."""
    written = exclude_mask(with_twins(paths, names))
    return twinned(exclude_mask(keyed(paths)), out), (written if out is NONE else remade(written, out))


def _around(wrapper: Mask, beside: Mask) -> Mask:
    """The mask of a wrapper, with another for the members beside its property."""
    if not wrapper.is_inner() or not beside.is_inner():
        return wrapper
    made = type(wrapper)(exclude=True)
    made.children = {**beside.children, WRAPPER: wrapper.child(WRAPPER)}
    made.other, made.elem = beside.other, beside.elem
    return made


def _of_text(fields: Fields, wrapper: str) -> Fields:
    """What a rule says of the JSON text in a wrapper; what it denies is denied with the wrapper and without it."""
    within = fields.each(lambda paths: within_text(wrapper, paths))

    def both(name: str) -> tuple[FieldPath, ...]:
        paths: tuple[FieldPath, ...] = getattr(within, name)
        around = (FieldPath((wrapper, *path.steps)) for path in paths if path.steps and not path.deep)
        return fold((*paths, *around))

    return Fields(within.allow, both("deny"), both("mask"), both("hash"))


def _reaches(mask: Mask, path: FieldPath, node: Mask) -> bool:
    """Whether a path leads to a node of a mask, or beyond it."""
    for step in path.steps:
        if mask is node:
            return True
        mask = mask.other if step is None else mask.child(step)
    return mask is node


def _last_names(paths: tuple[FieldPath, ...]) -> frozenset[str]:
    return frozenset(path.steps[-1] for path in paths if path.steps and path.steps[-1] is not None)


def _masked(_value: Json) -> Json:
    return MASKED
