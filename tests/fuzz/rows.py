"""What paths with rows keep, by plain recursion: the oracle of the masks, and random paths of this kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from louver.core.paths.predicate import NOTHING, AllOf, AnyOf, Comparison, Constant, Exists, Not, Query, RowTest
from louver.core.paths.rows import DEEP, Cut, Pick

if TYPE_CHECKING:
    from random import Random

    from louver.core.paths.path import FieldPath

GONE: Any = object()


def kept(value: Any, paths: tuple[FieldPath, ...], mode: str) -> Any:
    """The part of a value that paths keep, or leave."""
    steps = [(path.steps if not path.deep else (DEEP, *path.steps), False) for path in paths]
    part = _kept(value, steps, 0, value) if mode == "include" else _left(value, [each for each, _ in steps], value)
    return ({} if isinstance(value, dict) else [] if isinstance(value, list) else None) if part is GONE else part


def _kept(value: Any, paths: list[Any], level: int, root: Any) -> Any:
    deep = [(steps, True) for steps, _ in paths if steps and steps[0] is DEEP]
    here = [(steps[1:], True) for steps, _ in deep] + [each for each in paths if not each[0] or each[0][0] is not DEEP]
    if any(not steps for steps, _ in here):
        return value
    is_sparse = all(is_deep for _, is_deep in here)
    if isinstance(value, dict):
        found = {}
        for name, member in value.items():
            below = [*deep, *((steps[1:], is_deep) for steps, is_deep in here if _names(steps[0], name))]
            part = _kept(member, below, 0, root) if below else GONE
            if part is not GONE:
                found[name] = part
        return GONE if is_sparse and not found else found
    if isinstance(value, list) and level < 64:
        drops = is_sparse or any(isinstance(steps[0], Pick) and steps[0].rows for steps, _ in here)
        parts = []
        for position, element in enumerate(value):
            below = [
                *deep,
                *((rest, is_deep) for steps, is_deep in here for rest in _inside(steps, value, position, root)),
            ]
            part = _kept(element, below, level + 1, root) if below else GONE
            parts += [part] if part is not GONE else [] if drops else [None]
        return GONE if is_sparse and not parts else parts
    return None if value is None and not is_sparse else GONE


def _left(value: Any, paths: list[Any], root: Any) -> Any:
    deep = [steps for steps in paths if steps and steps[0] is DEEP]
    here = [steps[1:] for steps in deep] + [steps for steps in paths if not steps or steps[0] is not DEEP]
    if any(not steps for steps in here):
        return GONE
    for steps in here:
        # A wildcard that is not last may take no step.
        here += [steps[1:]] if steps[0] is None and len(steps) > 1 else []
    if isinstance(value, dict):
        parts = {
            name: _left(member, [*deep, *(steps[1:] for steps in here if _names(steps[0], name))], root)
            for name, member in value.items()
        }
        return {name: part for name, part in parts.items() if part is not GONE}
    if isinstance(value, list):
        stay = [steps for steps in here if steps[0] is None and len(steps) > 1]
        go = [steps for steps in here if steps not in stay]
        parts = [
            _left(
                element, [*deep, *stay, *(rest for steps in go for rest in _inside(steps, value, position, root))], root
            )
            for position, element in enumerate(value)
        ]
        return [part for part in parts if part is not GONE]
    return value


def _names(step: Any, name: str) -> bool:
    return step is None or step == name or (isinstance(step, Pick) and name in step.names)


def _inside(steps: Any, array: list[Any], position: int, root: Any) -> list[Any]:
    """What is left of a path at an element: names look through arrays."""
    step = steps[0]
    if step is None:
        return [steps[1:]]
    if isinstance(step, str):
        return [steps]
    through = [(Pick(names=step.names), *steps[1:])] if step.names else []
    return [*through, *([steps[1:]] if any(_picks(row, array, position, root) for row in step.rows) else [])]


def _picks(row: Any, array: list[Any], position: int, root: Any) -> bool:
    if isinstance(row, RowTest):
        return holds(row.condition, array[position], root)
    if isinstance(row, Cut):
        return row.step != 0 and position in range(len(array))[row.start : row.stop : row.step]
    return position == (row if row >= 0 else len(array) + row)


def holds(it: Any, row: Any, root: Any) -> bool:
    """Whether a row meets a condition."""
    match it:
        case AllOf(parts):
            return all(holds(part, row, root) for part in parts)
        case AnyOf(parts):
            return any(holds(part, row, root) for part in parts)
        case Not(part):
            return not holds(part, row, root)
        case Exists(query):
            return bool(_nodes(query, row, root))
    (left,), (right,) = ((_nodes(side, row, root) or [NOTHING]) for side in (it.left, it.right))
    kinds = [0 if type(each) in (int, float) else type(each) for each in (left, right)]
    same = kinds[0] == kinds[1] and _same(left, right)
    less = kinds[0] == kinds[1] and kinds[0] in (0, str) and (left < right, left > right)
    below, above = less or (False, False)
    return {"==": same, "!=": not same, "<": below, ">": above, "<=": below or same, ">=": above or same}[it.operator]


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _nodes(side: Any, row: Any, root: Any) -> list[Any]:
    if isinstance(side, Constant):
        return [side.value]
    found = [root if side.from_root else row]
    for step in side.steps:
        below = []
        for part in found:
            if isinstance(part, dict):
                below += [part[name] for name in part if _names(step, name)]
            elif isinstance(part, list):
                rows = step.rows if isinstance(step, Pick) else ()
                chosen = [step is None or any(_picks(row, part, at, root) for row in rows) for at in range(len(part))]
                below += [each for each, is_chosen in zip(part, chosen, strict=True) if is_chosen]
        found = below
    return found


def random_pick(rng: Random, names: tuple[str, ...], constants: list[Any]) -> Pick:
    """A step that selects rows, or names."""
    if rng.random() < 0.2:
        return Pick(names=tuple(rng.sample(names, min(2, len(names)))))
    if rng.random() < 0.15:
        return Pick(rows=(rng.randint(-3, 3), rng.randint(-3, 3)))
    return Pick(rows=(_random_row(rng, names, constants),))


def _random_row(rng: Random, names: tuple[str, ...], constants: list[Any]) -> int | Cut | RowTest:
    kind = rng.random()
    if kind < 0.25:
        return rng.randint(-3, 3)
    if kind < 0.4:
        return Cut(rng.choice((None, -2, 0, 1)), rng.choice((None, -1, 1, 2)), rng.choice((None, None, 2, -1)))
    return RowTest(random_condition(rng, names, constants))


def random_condition(rng: Random, names: tuple[str, ...], constants: list[Any], depth: int = 0) -> Any:
    """A condition on rows."""
    kind = rng.random()
    if depth < 2 and kind < 0.3:
        joint, other = rng.sample((AllOf, AnyOf), 2)
        parts = [random_condition(rng, names, constants, depth + 1) for _ in range(2)]
        return joint(tuple(part for each in parts for part in (each.parts if isinstance(each, joint) else (each,))))
    query = Query(tuple(rng.choice(names) for _ in range(rng.choice((0, 1, 1, 1, 2)))), rng.random() < 0.1)
    if kind < 0.45:
        nested = (
            (Pick(rows=(_random_row(rng, names, constants),)),) if rng.random() < 0.3 and not query.from_root else ()
        )
        exists = Exists(Query((*query.steps, *nested), query.from_root))
        return exists if rng.random() < 0.6 else Not(exists)
    other: Any = Query((rng.choice(names),)) if rng.random() < 0.2 else Constant(rng.choice(constants))
    sides = (query, other) if rng.random() < 0.9 else (other, query)
    return Comparison(rng.choice(("==", "==", "!=", "<", "<=", ">", ">=")), *sides)
