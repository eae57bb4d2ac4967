"""Projection of JSON text: bytes in, bytes out, numbers spelled as they were.

An include of names skips the rest: msgspec decodes into a type made for the mask, and copies what is kept whole::

    include issues.id    Root(issues: list[Element]),  Element(id: Raw)

Excludes and wildcards read all. Law: read again, the bytes are what the interpreter keeps
(`tests/core/projection/test_json_text.py`).
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Union

import msgspec
from msgspec import UNSET, Raw

from louver.core.json import NotJson, check_depth, compact, constant, is_array, is_object
from louver.core.paths.mask import ALL, Mask
from louver.core.projection.specialise import Learning, NotSpecial
from louver.core.schema import type_bounds
from louver.core.wrapper import WRAPPER
from louver.limits import MAX_ARRAY_LEVELS, MAX_GENERATED_DEPTH, MAX_GENERATED_LINES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.core.json import Json
    from louver.core.projection.specialise import Shape


_MISSING: Any = object()
# Characters that msgspec does not accept in the name of a member.
_NOT_IN_NAMES: Final = frozenset('\\"') | frozenset(map(chr, range(0x20)))

_UNREADABLE: Final = (msgspec.DecodeError, RecursionError, UnicodeError)
_MINUS_ZERO: Final = re.compile(rb"-0(?![.eE0-9])")
_SPACE: Final = b" \t\n\r"

_MAX_SKIPPED_FOR: Final = 15  # names of one object: msgspec compares each of its members with all of them

_encode: Final = msgspec.json.Encoder().encode
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_checked: Final = msgspec.json.Decoder(Raw).decode
_read: Final = msgspec.json.Decoder(float_hook=lambda spelled: Raw(spelled.encode())).decode


def whole_keeper(keep: Callable[[Any], Any], otherwise: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Reads all of a text, and writes the kept part; `otherwise` takes texts that msgspec does not read."""
    # `keep` gets a number with a fraction as `Raw`, its spelling. Unreadable texts are not JSON, or very deep.

    def keep_text(data: bytes) -> bytes:
        try:
            if not data.isascii():
                # msgspec does not check that strings are UTF-8.
                data.decode()
            if b"-0" not in data or _MINUS_ZERO.search(data) is None:
                return _encode(keep(_read(data)))
        except _UNREADABLE:
            pass
        return otherwise(data)

    return keep_text


def names_many(mask: Mask) -> bool:
    """Whether so many members of one object are kept that reading all of it costs less than skipping the rest."""
    return any(len(node.children) > _MAX_SKIPPED_FOR for node in mask.nodes())


def skipping_keeper(
    mask: Mask, order: Mapping[Mask, tuple[str, ...]], whole: Callable[[bytes], bytes], *, wrapped: bool
) -> Callable[[bytes], bytes]:
    """Reads only what a mask of names keeps; `whole` takes other texts, or an unexpected wrapper."""
    skipping = SkippingBytes(mask.child(WRAPPER) if wrapped else mask, order)

    def keep_text(data: bytes) -> bytes:
        try:
            kept = skipping.keep(data)
            if not kept.isascii():
                kept.decode()
            return kept
        except _UNREADABLE:
            pass
        return whole(data)

    def keep_wrapped(data: bytes) -> bytes:
        try:
            found = _members(data) if data.lstrip(_SPACE)[:1] == b"{" else {}
        except _UNREADABLE:
            found = {}
        if found.keys() != {WRAPPER}:
            return whole(data)
        return _encode({WRAPPER: Raw(keep_text(bytes(found[WRAPPER])))})

    return keep_wrapped if wrapped else keep_text


class SkippingBytes(Learning[bytes]):
    """The projection of JSON text by one mask of names, as a function of the text: `keep`."""

    def __init__(self, mask: Mask, order: Mapping[Mask, tuple[str, ...]]) -> None:
        super().__init__(mask, partial(_walked, mask, order), partial(_typed, order), _seen)


def _typed(
    order: Mapping[Mask, tuple[str, ...]], shape: Shape, unexpected: Callable[[bytes], bytes]
) -> Callable[[bytes], bytes]:
    """The function that keeps of a text what `shape` describes; `NotSpecial` if no type describes it."""
    decode = msgspec.json.Decoder(_Types(order).of(shape, 0)).decode

    def keep(data: bytes) -> bytes:
        try:
            return _encode(decode(data))
        except msgspec.ValidationError:
            pass
        return unexpected(data)

    return keep


class _Types:
    def __init__(self, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._order = order
        self._fields = 0

    def of(self, shape: Shape, depth: int) -> Any:
        """The type of a shape's values: other members are skipped, other values are an error."""
        if depth > MAX_GENERATED_DEPTH or shape.kinds & type_bounds.SCALAR:
            raise NotSpecial
        found: list[Any] = []
        if shape.kinds & type_bounds.OBJECT:
            found.append(self._struct(shape, depth))
        if shape.kinds & type_bounds.ARRAY:
            elements: Any = None if shape.elements is None else self.of(shape.elements, depth + 1)
            found.append(list[elements])
        if shape.kinds & type_bounds.NULL or not found:
            found.append(None)
        return Union[tuple(found)]  # noqa: UP007 - made at run time

    def _struct(self, shape: Shape, depth: int) -> Any:
        names = self._order.get(shape.mask, tuple(shape.mask.children))
        self._fields += len(names)
        if self._fields > MAX_GENERATED_LINES or not all(_NOT_IN_NAMES.isdisjoint(name) for name in names):
            raise NotSpecial
        # Names of Python fields never come from outside.
        wire = {f"f{number}": name for number, name in enumerate(names)}
        fields = [(field, self._member(shape, name, depth), UNSET) for field, name in wire.items()]
        return msgspec.defstruct("Kept", fields, rename=wire, gc=False)

    def _member(self, shape: Shape, name: str, depth: int) -> Any:
        if shape.mask.children[name] is ALL:
            return Raw
        inner = shape.members.get(name)
        # A member that no sample had is expected to be null.
        return None if inner is None else self.of(inner, depth + 1)


def _seen(data: bytes) -> Any:
    """The value to learn from; `None` if msgspec cannot decode the text."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _walked(mask: Mask, order: Mapping[Mask, tuple[str, ...]], data: bytes) -> bytes:
    kept = _Walk(order).keep(_checked(data), mask, 0)
    return b"null" if kept is _MISSING else _encode(kept)


class _Walk:
    def __init__(self, order: Mapping[Mask, tuple[str, ...]]) -> None:
        self._order = order

    def keep(self, raw: Raw, mask: Mask, level: int) -> Any:
        """The kept part: members, elements or bytes; `level` is the number of arrays around the value."""
        if mask is ALL:
            return raw
        first = bytes(memoryview(raw)[:1])
        if first == b"{":
            return self._members(_members(raw), mask)
        if first == b"[" and level < MAX_ARRAY_LEVELS:
            parts = [self.keep(element, mask.elem, level + 1) for element in _elements(raw)]
            return [None if part is _MISSING else part for part in parts]
        return None if first == b"n" else _MISSING

    def _members(self, found: dict[str, Raw], mask: Mask) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for name in self._order.get(mask, tuple(mask.children)):
            if name in found:
                part = self.keep(found[name], mask.children[name], 0)
                if part is not _MISSING:
                    kept[name] = part
        return kept


class Number(str):
    """The spelling of a number."""

    __slots__ = ()


def read(data: bytes) -> Json:
    """The value of a JSON text with `Number` for numbers; `NotJson` if it is not UTF-8, not JSON or too deep."""
    try:
        text = data.decode()
        check_depth(text)
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant)
    except UnicodeDecodeError:
        problem = NotJson("it is not UTF-8")
    except json.JSONDecodeError as error:
        problem = NotJson(error.msg, error.lineno)
    # Raised outside of the handlers: an exception as its context would hold the text.
    raise problem


def written(value: Json) -> bytes:
    """The compact JSON text of what `read` returned, or of a part of it."""
    # Only strings can hold a lone surrogate, and there the escape is JSON's own.
    return _text(value).encode("utf-8", "backslashreplace")


def _text(value: Json) -> str:
    if isinstance(value, Number):
        return value
    if is_object(value):
        return "{" + ",".join(f"{compact(name)}:{_text(member)}" for name, member in value.items()) + "}"
    if is_array(value):
        return "[" + ",".join(map(_text, value)) + "]"
    return compact(value)
