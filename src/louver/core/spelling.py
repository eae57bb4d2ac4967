"""JSON text read so that its numbers can be written again as they were spelled.

`1.10`, `1e3` and a number of forty digits have no exact place in Python's floats, or come
out of them spelled otherwise. Where a text is only trimmed they need not pass through one::

    written(read(b'{"price": 1.10, "id": 7}'))   b'{"price":1.10,"id":7}'

What is read is for projecting and writing, not for computing: a number is its text. A member
that stands twice counts as its last one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from louver.core.json import NotJson, check_depth, compact, constant, is_array, is_object

if TYPE_CHECKING:
    from louver.core.json import Json


class Number(str):
    """A number by its spelling."""

    __slots__ = ()


def read(data: bytes) -> Json:
    """The value of a JSON text, with a `Number` for each number.

    Raises:
        NotJson: It is not JSON in UTF-8, or nested too deep.
    """
    try:
        text = data.decode()
        check_depth(text)
        return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=constant)
    except UnicodeDecodeError:
        problem = NotJson("it is not UTF-8")
    except json.JSONDecodeError as error:
        problem = NotJson(error.msg, error.lineno)
    # Raised here, it does not carry the text with it as its context.
    raise problem


def written(value: Json) -> bytes:
    """The JSON text of what `read` returned, or of a part of it, without white space."""
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
