"""Random requests, from the names in a schema and a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from louver.core.paths.mask import Mask, exclude_mask, include_mask
from louver.core.paths.path import FieldPath, fold
from louver.core.paths.rows import DEEP

from .rows import random_pick
from .schemas import NAMES

if TYPE_CHECKING:
    from random import Random

    from louver.core.paths.rows import Step


@dataclass(frozen=True, slots=True)
class Request:
    """A mode and its paths, as texts."""

    mode: Literal["include", "exclude"]
    fields: tuple[str, ...]

    @property
    def paths(self) -> tuple[FieldPath, ...]:
        return tuple(FieldPath.parse(text, deep=self.mode == "exclude", rows=True) for text in self.fields)

    @property
    def has_rows(self) -> bool:
        return any(path.has_rows for path in self.paths)

    @property
    def mask(self) -> Mask:
        paths = fold(self.paths)
        return include_mask(paths) if self.mode == "include" else exclude_mask(paths)


Mode = Literal["include", "exclude"]


def random_request(
    rng: Random, values: list[Any], names: tuple[str, ...] = NAMES, mode: Mode | None = None, *, rows: bool = False
) -> Request:
    """One to four paths: often along one of the values, else made of `names`; in either mode by default.

    With `rows` most select some.
    """
    mode = mode or rng.choice(("include", "exclude"))
    texts: set[str] = set()
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        if mode == "exclude" and rng.random() < 0.15:
            texts.add(str(FieldPath((rng.choice(names),), deep=True)))
        elif values and rng.random() < 0.6:
            texts.add(_along(rng, rng.choice(values), names))
        else:
            steps = [_step(rng, names) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
            texts.add(_text(steps))
    if len(texts) > 1:
        texts.discard("*")
    if rows:
        constants = [part for value in values for part in _scalars(value)] or [1]
        paths = [FieldPath.parse(text, deep=True) for text in sorted(texts)]
        texts = {str(path if path.deep else _with_rows(rng, path, names, constants)) for path in paths}
    return Request(mode, tuple(rng.sample(sorted(texts), len(texts))))


def _with_rows(rng: Random, path: FieldPath, names: tuple[str, ...], constants: list[Any]) -> FieldPath:
    steps: list[Step] = []
    for step in path.steps or (None,):
        kind = rng.random()
        if kind < 0.08:
            steps.append(DEEP)
        steps.append(random_pick(rng, names, constants) if step is None or kind > 0.9 else step)
        if kind > 0.7:
            steps.append(random_pick(rng, names, constants))
    return FieldPath(tuple(steps), absolute=True)


def _scalars(value: Any) -> list[Any]:
    below = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    if below is None:
        return [value]
    return [part for each in below for part in _scalars(each)]


def _step(rng: Random, names: tuple[str, ...]) -> str | None:
    return None if rng.random() < 0.2 else rng.choice(names)


def _along(rng: Random, value: Any, names: tuple[str, ...]) -> str:
    """A path that leads somewhere in `value`."""
    steps: list[str | None] = []
    while True:
        if isinstance(value, list) and value:
            if rng.random() < 0.25:
                steps.append(None)
            value = rng.choice(value)
        elif isinstance(value, dict) and value:
            name = rng.choice(list(value))
            steps.append(None if rng.random() < 0.12 else name)
            value = value[name]
        else:
            if rng.random() < 0.1:
                steps.append(_step(rng, names))
            break
        if steps and rng.random() < 0.3:
            break
    return _text(steps or [_step(rng, names)])


def _text(steps: list[str | None]) -> str:
    return str(FieldPath(() if steps == [None] else tuple(steps)))
