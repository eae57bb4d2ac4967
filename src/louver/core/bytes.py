"""Keeping a part of JSON text without reading the rest: bytes in, bytes out.

With the extra `fast`, msgspec reads the text into a type that was made for the mask and the
shape of the values, and skips all that the type does not name. What is kept whole is not read
either but copied as it stands, so numbers keep their spelling::

    include issues.id    Root(issues: list[Element]),  Element(id: Raw)
    b'{"issues": [{"id": 1.0, "body": "..."}]}'   ->   b'{"issues":[{"id":1.0}]}'

Where no type fits (an exclude, a wildcard, a value of another shape) one level of a value is read
at a time, beside the mask. All of the text is checked to be JSON in either form.

Law: read again, the bytes are what the interpreter keeps of the value (`tests/core/test_bytes.py`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, Union

import msgspec
from msgspec import UNSET, Raw

from louver.core import kinds as kind
from louver.core.learning import Learning, NotSpecial
from louver.core.mask import ALL, NONE, Mask
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_ARRAY_LEVELS, MAX_GENERATED_DEPTH, MAX_GENERATED_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.core.shape import Shape

_MISSING: Any = object()
_NOT_IN_NAMES: Final = frozenset('\\"') | frozenset(map(chr, range(0x20)))
"""What msgspec does not take in the name of a member."""

_encode: Final = msgspec.json.Encoder().encode
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_elements: Final = msgspec.json.Decoder(list[Raw]).decode


def keeper(
    masks: list[Mask], order: Mapping[Mask, tuple[str, ...]], otherwise: Callable[[bytes], bytes], *, wrapped: bool
) -> Callable[[bytes], bytes]:
    """The function that keeps of JSON text what a plan keeps of its value.

    Args:
        masks: What is kept, one mask after the other.
        order: For an include: the order of members.
        otherwise: Takes a text of which msgspec reads no JSON: there may be none, or it is very deep.
        wrapped: Whether the text is an object that only wraps the value.
    """
    chain = _Chain(masks, order, wrapped=wrapped)
    first = chain.keepers[0] if len(masks) == 1 and not wrapped else None

    def keep(data: bytes) -> bytes:
        try:
            kept = chain.keep(data) if first is None else first.keep(data)
            if not kept.isascii():
                # msgspec takes the bytes of a string as they are.
                kept.decode()
            return kept
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            pass
        return otherwise(data)

    return keep


class _Chain:
    """Several masks, one after the other, and perhaps a wrapper around what they look at."""

    def __init__(self, masks: list[Mask], order: Mapping[Mask, tuple[str, ...]], *, wrapped: bool) -> None:
        self._masks = masks
        self._order = order
        self._wrapped = wrapped
        self.keepers = [CompiledBytes(mask.child(WRAPPER) if wrapped else mask, order) for mask in masks]

    def keep(self, data: bytes) -> bytes:
        if not self._wrapped:
            return self._below(data)
        found = _members(data) if data.lstrip()[:1] == b"{" else {}
        if WRAPPER in found and (len(found) == 1 or NONE in self._masks):
            return _encode({WRAPPER: Raw(self._below(bytes(found[WRAPPER])))})
        for mask in self._masks:
            data = _walked(mask, self._order, data)
        return data

    def _below(self, data: bytes) -> bytes:
        for keeper in self.keepers:
            data = keeper.keep(data)
        return data


class CompiledBytes(Learning[bytes]):
    """The projection of JSON text by one mask, as a function of the text: `keep`.

    Args:
        mask: What is kept.
        order: For an include: the order of members.
    """

    def __init__(self, mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> None:
        super().__init__(mask, partial(_walked, mask, order), partial(_typed, order), msgspec.json.decode)

    @property
    def tier(self) -> str:
        """The form that keeps the next text: `walked` or `typed`."""
        return "typed" if self.is_special else "walked"


def _typed(
    order: Mapping[Mask, tuple[str, ...]], shape: Shape, unexpected: Callable[[bytes], bytes]
) -> Callable[[bytes], bytes]:
    """The function that keeps of a text what `shape` says.

    Raises:
        NotSpecial: No type says it.
    """
    decode = msgspec.json.Decoder(_Types(order).of(shape, 0)).decode

    def keep(data: bytes) -> bytes:
        try:
            return _encode(decode(data))
        except msgspec.ValidationError:
            pass
        return unexpected(data)

    return keep


class _Types:
    """The types of one mask."""

    def __init__(self, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._order = order
        self._fields = 0

    def of(self, shape: Shape, depth: int) -> Any:
        """The type of the values of a shape: what it does not name is skipped, what it does not fit is an error."""
        mask = shape.mask
        if depth > MAX_GENERATED_DEPTH or mask.exclude or mask.other is not NONE or shape.kinds & kind.SCALAR:
            raise NotSpecial
        found: list[Any] = []
        if shape.kinds & kind.OBJECT:
            found.append(self._struct(shape, depth))
        if shape.kinds & kind.ARRAY:
            found.append(_list_of(None if shape.elements is None else self.of(shape.elements, depth + 1)))
        if shape.kinds & kind.NULL or not found:
            found.append(None)
        return Union[tuple(found)]  # noqa: UP007 - made at run time

    def _struct(self, shape: Shape, depth: int) -> Any:
        names = self._order.get(shape.mask, tuple(shape.mask.children))
        self._fields += len(names)
        if self._fields > MAX_GENERATED_LINES or not all(_NOT_IN_NAMES.isdisjoint(name) for name in names):
            raise NotSpecial
        # A field's own name never comes from outside.
        wire = {f"f{number}": name for number, name in enumerate(names)}
        fields = [(field, self._member(shape, name, depth), UNSET) for field, name in wire.items()]
        return msgspec.defstruct("Kept", fields, rename=wire, gc=False)

    def _member(self, shape: Shape, name: str, depth: int) -> Any:
        if shape.mask.children[name] is ALL:
            return Raw
        inner = shape.members.get(name)
        # Of a member that was never seen only null is expected.
        return None if inner is None else self.of(inner, depth + 1)


def _list_of(element: Any) -> Any:
    return list[element]


def _walked(mask: Mask, order: Mapping[Mask, tuple[str, ...]], data: bytes) -> bytes:
    """The kept part of a text, read one level at a time."""
    kept = _Walk(order).keep(data.lstrip(), mask, 0)
    return b"null" if kept is _MISSING else _encode(kept)


class _Walk:
    """Of each value only the level that the mask looks into is read."""

    def __init__(self, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._order = order

    def keep(self, raw: Any, mask: Mask, level: int) -> Any:
        """What is kept of a value: members, elements or bytes; `level` is the number of arrays that it stands in."""
        if mask is ALL:
            return raw if isinstance(raw, Raw) else _checked(raw)
        first = bytes(memoryview(raw)[:1])
        if first == b"{":
            found = _members(raw)
            return {} if mask is NONE else self._members(found, mask)
        if first == b"[":
            return self._elements(_elements(raw), mask, level)
        raw = raw if isinstance(raw, Raw) else _checked(raw)
        if mask.exclude:
            return raw
        return None if mask is NONE or first == b"n" else _MISSING

    def _members(self, found: dict[str, Raw], mask: Mask) -> dict[str, Any]:
        if mask.exclude and mask.other is ALL:
            return self._rest(found, mask)
        named = mask.other is NONE and not mask.exclude
        names = [name for name in self._order.get(mask, mask.children) if name in found] if named else list(found)
        kept: dict[str, Any] = {}
        for name in names:
            below = mask.child(name)
            if below is not NONE:
                part = self.keep(found[name], below, 0)
                if part is not _MISSING:
                    kept[name] = part
        return kept

    def _rest(self, found: dict[str, Any], mask: Mask) -> dict[str, Any]:
        """All members, less those that an exclude names."""
        for name in mask.children.keys() & found.keys():
            below = mask.children[name]
            if below is NONE:
                del found[name]
            else:
                found[name] = self.keep(found[name], below, 0)
        return found

    def _elements(self, found: list[Raw], mask: Mask, level: int) -> Any:
        if mask is NONE or mask.elem is NONE:
            return []
        if level == MAX_ARRAY_LEVELS and not mask.exclude:
            return _MISSING
        parts = [self.keep(element, mask.elem, level + 1) for element in found]
        return [None if part is _MISSING else part for part in parts]


def _checked(data: bytes) -> Raw:
    """The text of one value, checked to be JSON."""
    return msgspec.json.decode(data, type=Raw)
