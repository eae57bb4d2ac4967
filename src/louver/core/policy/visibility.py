"""What a field policy shows of a tool's output: raw value in, visible value out, with its schema.

    rule      allow  id, name, contact        deny  contact.phone        hash  contact.email
    value     {"id": 1, "name": "Ann", "ssn": "078-...", "contact": {"email": "ann@example.org", "phone": "555"}}
    visible   {"id": 1, "name": "Ann", "contact": {"email": "p:Zk3xVb9qLm2TfA0sWc8dRg"}}

Law: `Visibility(...).of(value)` of a valid value is valid under `Visibility(...).schema`
(`tests/core/test_visible_laws.py`), unless a string that holds JSON has to fit a pattern or a length there.
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
from louver.core.policy.embedded_json import Denial, prune_strings
from louver.core.policy.hiding import hiding
from louver.core.policy.masking import HIDDEN, hidden
from louver.core.policy.name_variants import arguments_in, keyed, names_in, twinned, with_twins
from louver.core.policy.redacted_schema import redact_schema
from louver.core.policy.revealed_names import Names
from louver.core.projection.compile import Compiled
from louver.core.schema import known_fields
from louver.core.schema.derive import Derived, derive
from louver.core.wrapper import TEXT_WRAPPERS, WRAPPER, around_or_not, is_wrapped, within, within_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from louver.core.json import Schema

Fate = Literal["seen", "dropped", "masked", "hashed"]

MASKED: Final = "[masked]"

# Steps apply in this order: a mask also covers pseudonyms, and a denial removes both.
_ORDER: Final[tuple[Fate, ...]] = ("hashed", "masked", "dropped")

_HASHED: Final = "p:"
_HASH_BYTES: Final = 16
_HASH_PATTERN: Final = f"^{_HASHED}[A-Za-z0-9_-]{{22}}$"


@dataclass(frozen=True, slots=True)
class Fields:
    """The paths of one rule: `allow` as an include (none: everything), the others as excludes."""

    allow: tuple[FieldPath, ...] = ()
    deny: tuple[FieldPath, ...] = ()
    mask: tuple[FieldPath, ...] = ()  # replaced by a constant
    hash: tuple[FieldPath, ...] = ()  # replaced by a pseudonym, equal for equal values

    def unknown(self, schema: Schema) -> dict[FieldPath, FieldPath | None]:
        """The paths that a schema cannot have, in their order, each with the path that was probably meant."""
        denied = (*self.deny, *self.mask, *self.hash)
        return known_fields.unmatched(schema, within(schema, self.allow), within(schema, denied))

    def each(self, change: Callable[[tuple[FieldPath, ...]], tuple[FieldPath, ...]]) -> Fields:
        return Fields(*map(change, (self.allow, self.deny, self.mask, self.hash)))


class Visibility:
    """The visible part of one tool's output under one rule. `ProjectionLimit` for too many paths together."""

    # No schema mentions a denied name. A denied name covers all of its variants, an allowed name just itself.
    # `key` is the secret of pseudonyms. `wrapper` is the property with the values as JSON text; paths may include it.
    # With a schema too, the values are JSON text that has the wrapper, as structured content has.

    def __init__(
        self,
        fields: Fields,
        schema: Schema | None,
        key: bytes = b"",
        wrapper: str | None = None,
    ) -> None:
        self._source: Schema = True if schema is None else schema
        self._wrapped = schema is not None and is_wrapped(schema)
        self._key = key
        names = names_in(self._source)
        self._named = {
            step
            for path in (*fields.allow, *fields.deny, *fields.mask, *fields.hash)
            for step in path.names
            if step is not None
        }
        if wrapper is not None:
            fields = _fields_in_text(fields, wrapper) if schema is None else _denied_twice(fields, wrapper)
        steps = self._steps_of(fields, names)
        shown = [step for step in steps if step.mask is not ALL]
        self._steps = sorted(shown, key=lambda step: (_ORDER.index(step.does), step.mask.exclude))
        self._denials = [Denial(step.put, step.mask, step.text_mask) for step in self._steps if step.mask.exclude]

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(names_in(self._source) | self._named)

    @property
    def is_whole(self) -> bool:
        return not self._steps

    def of(self, value: Json) -> Json:
        for step in self._steps:
            if self._wrapped and is_object(value) and WRAPPER in value:
                beside = {name: member for name, member in value.items() if name != WRAPPER}
                # All allowed paths lie within the wrapper.
                rest: Any = step.keep(beside) if beside and step.mask.exclude else {}
                value = {**rest, WRAPPER: step.keep_wrapped(value[WRAPPER])}
            else:
                value = step.keep(value)
        return prune_strings(value, self._denials)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the visible part of valid values; it mentions no hidden name."""
        return redact_schema(self._derived, self.unseen)

    @cached_property
    def unseen(self) -> Names:
        """The names of the schema, and the denied ones, that occur nowhere in the visible part."""
        return Names(self._denied, names_in(self._derived))

    def unseen_besides(self, schema: Schema) -> Names:
        """The same without the argument names of an input schema."""
        arguments = arguments_in(schema)
        return Names(self._denied - arguments, arguments | names_in(self._derived))

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
        """Whether a member is allowed by its name, not just because nothing denies it."""
        allowing = [step for step in self._steps if not step.mask.exclude]
        path = FieldPath((name,))
        return bool(allowing) and all(_reaches(step.mask, path, ALL) for step in allowing) and self.fate(path) == "seen"

    def hides(self, path: FieldPath) -> bool:
        """Whether a path must not be mentioned: nothing at it is visible unchanged, or it holds a hidden name."""
        if any(step is not None and self.unseen.are_in_text(str(step)) for step in path.steps):
            return True
        [inside] = within(self._source, (path,))
        above = FieldPath(inside.steps[:-1])
        return self.fate(path) == "dropped" or any(_reaches(step.mask, above, HIDDEN) for step in self._steps)

    def fate(self, path: FieldPath) -> Fate:
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
            steps.append(_Step(mask, mask, None, _derived))
        if fields.hash:
            stands = {"type": "string", "pattern": _HASH_PATTERN}
            masks = self._denial_masks(fields.hash, names, HIDDEN)
            steps.append(_hiding(masks, _text_mask(fields.hash, HIDDEN), "hashed", stands, self._pseudonym))
        if fields.mask:
            masks = self._denial_masks(fields.mask, names, HIDDEN)
            steps.append(_hiding(masks, _text_mask(fields.mask, HIDDEN), "masked", {"const": MASKED}, _mask_value))
        if fields.deny:
            masks = self._denial_masks(fields.deny, names, NONE)
            text_mask = _text_mask(fields.deny, NONE)
            steps.append(_Step(*masks, None, _derived, text_mask, names=_last_names(fields.deny)))
        return steps

    def _denial_masks(self, paths: tuple[FieldPath, ...], names: set[str], out: Mask) -> tuple[Mask, Mask]:
        if self._source is True:
            # A value that no schema describes may be a wrapper. The schema, of anything, needs not say so.
            return _value_mask(around_or_not(paths), out), _written_mask(within(self._source, paths), names, out)
        masks = _denial_masks(within(self._source, paths), names, out)
        if not self._wrapped:
            return masks
        # Members next to the wrapper's property are denied by the paths as written.
        beside = _denial_masks(paths, names, out)
        return _around(masks[0], beside[0]), _around(masks[1], beside[1])

    def _pseudonym(self, value: Json) -> Json:
        digest = hmac.new(self._key, canonical(value), hashlib.sha256).digest()[:_HASH_BYTES]
        return _HASHED + base64.urlsafe_b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True)
class _Step:
    mask: Mask  # for values
    written: Mask  # for schemas, by the names that they have
    put: Callable[[Json], Json] | None  # makes the replacement of a hidden part
    derive: Callable[[Schema, Mask, bool], Derived]
    text_mask: Mask = ALL  # for JSON in strings
    does: Fate = "dropped"  # what becomes of what the mask names
    names: frozenset[str] = frozenset()  # that it denies

    def derived(self, schema: Schema, wrapped: bool) -> Derived:
        return self.derive(schema, self.written, wrapped)

    @cached_property
    def keep(self) -> Callable[[Json], Json]:
        return self._keeping(self.mask)

    @cached_property
    def keep_wrapped(self) -> Callable[[Json], Json]:
        return self._keeping(self.mask.child(WRAPPER))

    def _keeping(self, mask: Mask) -> Callable[[Json], Json]:
        if self.mask.exclude:
            return hiding(mask, self.put)
        compiled = Compiled(mask, {})
        return lambda value: compiled.keep(value)


def _derived(schema: Schema, mask: Mask, wrapped: bool) -> Derived:
    return derive(schema, mask, wrapped=wrapped, silent=True)


def _hiding(
    masks: tuple[Mask, Mask], text_mask: Mask, does: Fate, stands: Schema, put: Callable[[Json], Json]
) -> _Step:
    def derived(schema: Schema, mask: Mask, wrapped: bool) -> Derived:
        return hidden(schema, mask, stands, put, wrapped=wrapped)

    return _Step(*masks, put, derived, text_mask, does)


def _denial_masks(paths: tuple[FieldPath, ...], names: set[str], out: Mask) -> tuple[Mask, Mask]:
    """The masks of denied paths: by name variants for values, by the schema's own names for schemas."""
    return _value_mask(paths, out), _written_mask(paths, names, out)


def _value_mask(paths: Iterable[FieldPath], out: Mask) -> Mask:
    return twinned(exclude_mask(keyed(paths)), out)


def _written_mask(paths: tuple[FieldPath, ...], names: set[str], out: Mask) -> Mask:
    written = exclude_mask(with_twins(paths, names))
    return written if out is NONE else remade(written, out)


def _text_mask(paths: tuple[FieldPath, ...], out: Mask) -> Mask:
    """The mask of denied paths for JSON in any string: from its root, with or without a wrapper's name."""
    unwrapped = (path for name in TEXT_WRAPPERS for path in within_text(name, paths) if path.steps)
    return _value_mask(around_or_not((*paths, *unwrapped)), out)


def _around(wrapper: Mask, beside: Mask) -> Mask:
    """The mask of a wrapper, with another mask for the members next to its property."""
    if not wrapper.is_inner or not beside.is_inner:
        return wrapper
    made = type(wrapper)(exclude=True)
    made.children = {**beside.children, WRAPPER: wrapper.child(WRAPPER)}
    made.other, made.elem = beside.other, beside.elem
    return made


def _fields_in_text(fields: Fields, wrapper: str) -> Fields:
    """A rule for the JSON text in a wrapper; its denials apply with and without the wrapper's name."""
    within = fields.each(lambda paths: within_text(wrapper, paths))

    def both(name: str) -> tuple[FieldPath, ...]:
        paths: tuple[FieldPath, ...] = getattr(within, name)
        around = (FieldPath((wrapper, *path.steps)) for path in paths if path.steps and not path.deep)
        return fold((*paths, *around))

    return Fields(within.allow, both("deny"), both("mask"), both("hash"))


def _denied_twice(fields: Fields, wrapper: str) -> Fields:
    """A rule for JSON text that begins with the wrapper, or has a member of its name: denials apply to both."""
    within = fields.each(lambda paths: fold((*paths, *within_text(wrapper, paths))))
    return Fields(fields.allow, within.deny, within.mask, within.hash)


def _reaches(mask: Mask, path: FieldPath, node: Mask) -> bool:
    for step in path.names:
        if mask is node:
            return True
        mask = mask.other if step is None else mask.child(step)
    return mask is node


def _last_names(paths: tuple[FieldPath, ...]) -> frozenset[str]:
    return frozenset(path.names[-1] for path in paths if path.names and path.names[-1] is not None)


def _mask_value(_value: Json) -> Json:
    return MASKED
