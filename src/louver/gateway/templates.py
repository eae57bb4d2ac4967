"""Templates of addresses: whether an address can be one of those that a server says that it has.

    notes://{user}/inbox     notes://ada/inbox, and not notes://ada/old/inbox
    file:///{+path}          file:///a, file:///a/b

A variable stands for any text, a plain one for any without a `/`: more than an expansion can be, for clients write
addresses themselves. What a template with any other expression stands for is not known, nor is it of one that begins
with a variable: whoever has such a one has not said which addresses are its own.

Source: RFC 6570, level 1, and `{+var}` of level 2. An address is looked at once, character by character, whatever the
template.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from louver.limits import MAX_URI_BYTES

_EXPRESSION: Final = re.compile(r"(\{[^{}]*\})")
_VARIABLE: Final = re.compile(r"\{(\+?)[A-Za-z0-9_.%]+\}")
_PLAIN, _ANY = "plain", "any"


class Template:
    """One template.

    Args:
        text: As it is listed.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._begin = text.partition("{")[0]

    def matches(self, uri: str) -> bool:
        """Whether it can stand for an address."""
        if not self._begin or not uri.startswith(self._begin) or self._parts is None:
            return False
        end, variables, wide, steps = self._automaton
        # Bit n: the address so far is what the first n parts stand for.
        states = 1
        for character in uri:
            stays = wide if character == "/" else variables
            states = (states & steps.get(character, 0)) << 1 | (states & stays)
            if not states:
                return False
            # A variable stands for no text too.
            states |= (states & variables) << 1
        return bool(states >> end & 1)

    @cached_property
    def _parts(self) -> list[str] | None:
        """Its characters, and what its variables are; none where that is not known."""
        if len(self._text) > MAX_URI_BYTES:
            return None
        parts: list[str] = []
        for number, piece in enumerate(_EXPRESSION.split(self._text)):
            if number % 2 == 0:
                parts += piece
            elif (variable := _VARIABLE.fullmatch(piece)) is None:
                return None
            else:
                kind = _ANY if variable[1] else _PLAIN
                # Two in a row stand for what the wider one does.
                if parts and parts[-1] in (_PLAIN, _ANY):
                    kind = _ANY if _ANY in (kind, parts.pop()) else _PLAIN
                parts.append(kind)
        return parts

    @cached_property
    def _automaton(self) -> tuple[int, int, int, dict[str, int]]:
        """Where it ends; where the variables are, and those for any text; and where each character is."""
        parts = self._parts or []
        steps: dict[str, int] = {}
        variables = wide = 0
        for number, part in enumerate(parts):
            if part not in (_PLAIN, _ANY):
                steps[part] = steps.get(part, 0) | 1 << number
                continue
            variables |= 1 << number
            if part == _ANY:
                wide |= 1 << number
        return len(parts), variables, wide, steps
