"""Reads a receipt from an untrusted server, and checks it against the request. Unknown members are ignored.

{"applied": true, "mode": "include", "fields": ["name"]}    of a request for `name`: accepted
{"applied": true, "mode": "include", "fields": ["email"]}   of the same request: refused
{"applied": "yes"}                                          no receipt
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from louver.core.json import is_object, members
from louver.core.paths.path import FieldPath, fold
from louver.core.projection.view import Views
from louver.core.wrapper import TEXT_WRAPPERS, from_root, within_text
from louver.errors import InvalidAnswer, InvalidProjection, InvalidView
from louver.limits import MAX_PATHS
from louver.wire.names import PROJECTION, PROJECTION_LITERAL
from louver.wire.projection import Applied, NotApplied, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable

    from louver.core.projection.plan import Plan
    from louver.core.projection.request import Projection

_MEMBERS: Final = Applied.__struct_encode_fields__
_NEEDED: Final[dict[str, Any]] = {"mode": "include", "fields": []}
"""The least receipt of an applied projection."""


def read_receipt(result: dict[str, Any]) -> Applied | NotApplied | None:
    """The receipt of a result; `None` if it has none. A malformed one is refused with its wrong `member`."""
    meta = members(result.get("_meta"))
    receipt: Any = meta.get(PROJECTION_LITERAL, meta.get(PROJECTION))
    if receipt is None:
        return None
    if not is_object(receipt) or not isinstance(receipt.get("applied"), bool):
        raise _no_receipt("applied")
    if not receipt["applied"]:
        reason: Any = receipt.get("reason")
        return NotApplied(reason=reason if reason in get_args(Reason) else "not_supported")
    known = {name: receipt[name] for name in _MEMBERS if name in receipt}
    if (applied := _read(known)) is not None:
        return applied
    wrong = next((name for name, part in known.items() if _read({**_NEEDED, name: part}) is None), None)
    raise _no_receipt(wrong or next(name for name in _NEEDED if name not in known))


def _read(receipt: dict[str, Any]) -> Applied | None:
    try:
        return msgspec.convert(receipt, Applied)
    except msgspec.ValidationError:
        # It may quote the result.
        return None


def hold(receipt: Applied, projection: Projection) -> None:
    if receipt.mode != projection.mode or receipt.view != projection.name:
        raise InvalidAnswer("the receipt is of another mode, or of another view, than was asked for", member="mode")
    if projection.mode != "view" and _bare(_paths(receipt)) != _bare(projection.fields):
        raise InvalidAnswer("the receipt is of other fields than were asked for", member="fields")


def hold_plan(receipt: Applied, plan: Plan) -> None:
    """Refuse a receipt with other fields than the view's, or with other `always` paths than the tool's."""
    if receipt.mode == "view" and _bare(_paths(receipt)) != _bare(_parsed(list(plan.fields), "fields")):
        raise InvalidAnswer("the receipt has other fields than the view that was asked for", member="fields")
    if _bare(_added(receipt)) != _bare(_parsed(list(plan.always), "always")):
        raise InvalidAnswer("the receipt adds other fields than the tool says that it always adds", member="always")


def paths_of(receipt: Applied) -> tuple[FieldPath, ...]:
    """The fields of a receipt, and what the tool adds to them."""
    return (*_paths(receipt), *_added(receipt))


def excluded_of(receipt: Applied) -> tuple[FieldPath, ...]:
    """What a receipt's view leaves out of its fields."""
    return _parsed(receipt.excluded, "excluded", deep=True)


def view_of(receipt: Applied) -> Views:
    shaped = {} if receipt.shaped is None else receipt.shaped.to_wire()
    excluded = {} if receipt.excluded is None else {"exclude": receipt.excluded}
    try:
        return Views.read({receipt.view or "": {"include": receipt.fields, **excluded, **shaped}}, receipt.always or ())
    except InvalidView:
        raise _no_receipt("view") from None


def _paths(receipt: Applied) -> tuple[FieldPath, ...]:
    if len(receipt.fields) > MAX_PATHS:
        raise _no_receipt("fields")
    return _parsed(receipt.fields, "fields", deep=receipt.mode == "exclude")


def _added(receipt: Applied) -> tuple[FieldPath, ...]:
    return _parsed(receipt.always, "always")


def _parsed(texts: list[str] | None, member: str, *, deep: bool = False) -> tuple[FieldPath, ...]:
    try:
        return tuple(FieldPath.parse(text, deep=deep, rows=True) for text in texts or ())
    except InvalidProjection:
        raise _no_receipt(member) from None


def _bare(paths: Iterable[FieldPath]) -> tuple[FieldPath, ...]:
    """The paths without the SDK's wrapper, by which they may begin or not."""
    bare = tuple(map(from_root, paths))
    for wrapper in TEXT_WRAPPERS:
        bare = within_text(wrapper, bare)
    return fold(bare)


def _no_receipt(member: str) -> InvalidAnswer:
    return InvalidAnswer(
        f"the receipt of the answer cannot be read: {member!r} is not what it should be", member=member
    )
