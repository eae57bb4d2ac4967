"""Line numbers in a JSON text, for errors. A place is the path to a value; a key has that of its value.

{"views": {"minimal":            ("views", "minimal")      line 1
    {"include": ["id",           ("views", "minimal", "include", 0)
                 "name"]}}}      ("views", "minimal", "include", 1)  line 3
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from louver.core import json
from louver.limits import MAX_JSON_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Place = tuple[str | int, ...]

# A string that does not end is one token: looked for from each of its quotes, its end would take quadratic time.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+(?P<end>")?|[{}\[\],:]')


@dataclass(frozen=True, slots=True)
class Spot:
    text: str
    place: Place
    is_key: bool
    line: int  # from 1


def spots(text: str) -> Iterator[Spot]:
    """The strings and keys of a text, down to the level that `parse` reads: each holds its place."""
    place: list[str | int] = []
    in_object: list[bool] = []
    key_next = False
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        mark = token.group()
        line, at = line + text.count("\n", at, token.start()), token.start()
        if mark in "{[":
            if len(place) == MAX_JSON_DEPTH:
                return
            in_object.append(mark == "{")
            place.append("" if mark == "{" else 0)
            key_next = mark == "{"
        elif not in_object:
            return
        elif mark in "}]":
            in_object.pop()
            place.pop()
            key_next = False
        elif mark == ":":
            key_next = False
        elif mark == ",":
            key_next = in_object[-1]
            last = place[-1]
            place[-1] = last + 1 if isinstance(last, int) else last
        elif not token["end"]:
            return
        else:
            string = _decoded(mark)
            if key_next:
                place[-1] = string
            yield Spot(string, tuple(place), key_next, line)


def line_of(text: str, place: Place) -> int | None:
    return next((spot.line for spot in spots(text) if spot.place == place), None)


def nearest_line(text: str, place: Place, first_line: int = 1) -> int:
    """The line of a place, or of what contains it if the text has no key or string there."""
    return nearest_lines(text, [place], first_line)[0]


def nearest_lines(text: str, places: Sequence[Place], first_line: int = 1) -> list[int]:
    """The same for several places, by one look at a text that begins at a line of its file."""
    wanted = {place[:length] for place in places for length in range(1, len(place) + 1)}
    lines: dict[Place, int] = {}
    for spot in spots(text):
        if spot.place in wanted:
            lines.setdefault(spot.place, spot.line + first_line - 1)
            if len(lines) == len(wanted):
                break
    return [
        next((lines[place[:length]] for length in range(len(place), 0, -1) if place[:length] in lines), first_line)
        for place in places
    ]


def last_line(text: str, place: Place) -> int:
    """The line of the last key or string within a place."""
    return max((spot.line for spot in spots(text) if spot.place[: len(place)] == place), default=1)


def line_of_second(text: str) -> int | None:
    """The line of the first duplicate key."""
    seen: set[Place] = set()
    for spot in spots(text):
        if spot.is_key and spot.place in seen:
            return spot.line
        if spot.is_key:
            seen.add(spot.place)
    return None


def _decoded(token: str) -> str:
    try:
        return json.parse(token)
    except json.NotJson:
        return token
