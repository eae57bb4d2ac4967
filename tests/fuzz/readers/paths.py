"""Field paths: only the declared errors, and the canonical text of a path is read as that path."""

from __future__ import annotations

from louver.core.paths.mask import exclude_mask, include_mask
from louver.core.paths.path import FieldPath, fold
from louver.errors import InvalidProjection, ProjectionLimit
from louver.limits import MAX_MASK_STATES, MAX_SEGMENTS

MAX_LINES = 40


def check(data: bytes) -> None:
    """The input is paths, a line each."""
    lines = data.decode("utf-8", "surrogateescape").split("\n")[:MAX_LINES]
    paths = tuple(path for line in lines if (path := _read(line)) is not None)
    folded = fold(paths)
    assert fold(folded) == folded == fold(paths[::-1]), "a list has one canonical form"
    assert all(any(kept == path or kept.covers(path) for kept in folded) for path in paths), "no path is lost"
    if not any(path.deep for path in paths):
        _check_mask(include_mask, folded)
    _check_mask(exclude_mask, folded)


def _read(text: str) -> FieldPath | None:
    try:
        path = FieldPath.parse(text, deep=True)
    except InvalidProjection as error:
        path, offset = None, error.fields.get("offset", 0)
    if path is None:
        assert 0 <= offset <= len(text), "an error is somewhere in the text"
        return None
    assert len(path.steps) <= MAX_SEGMENTS
    assert all(step is None or isinstance(step, str) for step in path.steps)
    assert FieldPath.parse(str(path), deep=True) == path, "the canonical text is that of the path"
    return path


def _check_mask(mask_of, paths):
    try:
        mask = mask_of(paths)
    except ProjectionLimit:
        return
    assert len(mask.nodes()) <= MAX_MASK_STATES + 2
    if mask_of is exclude_mask:
        assert all(mask.leaves_out(path) for path in paths if not path.deep), "what is excluded is left out"
