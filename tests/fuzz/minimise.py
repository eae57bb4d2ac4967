"""Makes a counter-example small, by taking away whatever it does not need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def minimised(example: Any, fails: Callable[[Any], bool], tries: int = 4000) -> Any:
    """A smallest example, reached by single steps, of which `fails` still holds."""
    shrunk = True
    while shrunk and tries > 0:
        shrunk = False
        for smaller in simpler(example):
            tries -= 1
            if tries <= 0:
                break
            if fails(smaller):
                example, shrunk = smaller, True
                break
    return example


def simpler(value: Any) -> Iterator[Any]:
    """Values one step smaller: a part gone, a part in its parent's place, or a part made simpler."""
    if isinstance(value, dict):
        for key in value:
            yield {other: below for other, below in value.items() if other != key}
        for below in value.values():
            if isinstance(below, dict):
                yield below
        for key, below in value.items():
            for smaller in simpler(below):
                yield {**value, key: smaller}
    elif isinstance(value, list):
        for position in range(len(value)):
            yield value[:position] + value[position + 1 :]
        for position, below in enumerate(value):
            for smaller in simpler(below):
                yield [*value[:position], smaller, *value[position + 1 :]]
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[:-1], value[1:])
