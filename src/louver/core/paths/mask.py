"""Masks: field paths as one tree, a determinised automaton, that is walked along with a value.

    include  id, user.login      {id: ALL, user: {login: ALL}}, else NONE
    exclude  user.email          {user: {email: NONE}}, else ALL

`ALL` keeps a place whole, `NONE` leaves it out. Arrays are transparent: a node with names has itself as `elem`. In an
include `*` takes exactly one step. An exclude fails closed: a `*` that is not last may also take no step.

A node with `rows` has a mask for each set of them that selects an element, and an element with `NONE` is left out.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Final

from louver.core.paths.rows import DEEP, Pick
from louver.errors import ProjectionLimit
from louver.limits import MAX_MASK_STATES, MAX_MASK_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from louver.core.json import Json
    from louver.core.paths.path import FieldPath
    from louver.core.paths.rows import Step

MAX_ROW_STEPS = 6
"""Steps that select rows of one array, each in its own way: there is a mask for each set of them."""


class Mask:
    """What is kept of one place in a value. `exclude`: it leaves out what it names, instead of keeping just that."""

    __slots__ = ("children", "elem", "elems", "exclude", "is_inner", "is_sparse", "other", "rows")

    children: dict[str, Mask]  # in the order of code points
    other: Mask  # for every member that is not in `children`
    elem: Mask  # for every element; with `rows`, for one that all of them select
    rows: tuple[Pick, ...]  # what selects elements
    elems: tuple[Mask, ...]  # with `rows`, for each set of them, by its bits
    is_inner: bool  # neither `ALL` nor `NONE`
    is_sparse: bool  # of `..` alone: a place that holds nothing of it is left out, not emptied

    def __init__(self, *, exclude: bool, is_inner: bool = True) -> None:
        self.exclude = exclude
        self.is_inner = is_inner
        self.is_sparse = False
        self.children = {}
        self.other = self.elem = self
        self.rows = ()
        self.elems = ()

    @property
    def drops(self) -> bool:
        """Whether some elements of an array can be left out, and others stay."""
        return self.is_sparse or bool(self.rows)

    @property
    def of_elements(self) -> tuple[Mask, ...]:
        """The masks that an element can have, each once."""
        return tuple(dict.fromkeys(self.elems)) if self.rows else (self.elem,)

    def each(self, elements: list[Json], root: Json) -> Iterator[tuple[Json, Mask]]:
        """The elements of an array, each with its mask; `root` is that of the whole value."""
        if not self.rows:
            return zip(elements, repeat(self.elem), strict=False)
        bits = [0] * len(elements)
        for number, pick in enumerate(self.rows):
            for position in pick.positions(elements, root):
                bits[position] |= 1 << number
        return zip(elements, map(self.elems.__getitem__, bits), strict=True)

    def child(self, name: str) -> Mask:
        return self.children.get(name, self.other)

    def leaves_out(self, path: FieldPath) -> bool:
        """Whether nothing at a path is left, or a member that it names beside others or in a test is not."""

        def is_left_out(node: Mask, steps: Sequence[Step]) -> bool:
            for step in steps:
                if isinstance(step, Pick):
                    queries = [query for test in step.tests for query in test.queries]
                    if any(is_left_out(self if query.from_root else node.elem, query.steps) for query in queries):
                        return True
                    below = [*map(node.child, step.names), *([node.elem] if step.rows else [])]
                    if NONE in below:
                        return True
                    node = below[0]
                elif step is None or isinstance(step, str):
                    node = node.other if step is None else node.child(step)
            return node is NONE

        return is_left_out(self, path.steps)

    def nodes(self) -> set[Mask]:
        seen: set[Mask] = set()
        todo: set[Mask] = {self}
        while todo:
            seen |= todo
            todo = {
                below for node in todo for below in (*node.children.values(), node.other, node.elem, *node.elems)
            } - seen
        return seen


ALL: Final = Mask(exclude=False, is_inner=False)

NONE: Final = Mask(exclude=False, is_inner=False)


def remade(mask: Mask, out: Mask, kind: type[Mask] = Mask) -> Mask:
    """A copy of an exclude's mask: `out` replaces `NONE`, and inner nodes are of the class `kind`."""
    made: dict[Mask, Mask] = {ALL: ALL, NONE: out}
    inner = [node for node in mask.nodes() if node.is_inner]
    made.update((node, kind(exclude=True)) for node in inner)
    for node in inner:
        made[node].children = {name: made[below] for name, below in node.children.items()}
        made[node].other, made[node].elem = made[node.other], made[node.elem]
    return made[mask]


def include_mask(paths: Iterable[FieldPath]) -> Mask:
    """The mask that keeps only what `paths` name; `ProjectionLimit` for more than `MAX_MASK_STATES` states."""
    return _Automaton(paths, exclude=False).build()


def exclude_mask(paths: Iterable[FieldPath]) -> Mask:
    return _Automaton(paths, exclude=True).build()


def mask_steps(paths: Iterable[FieldPath], most: int, *, exclude: bool) -> int | None:
    """How many steps a mask takes to make; None if more than `most`, which are not done."""
    automaton = _Automaton(paths, exclude=exclude, most=most)
    try:
        automaton.build()
    except ProjectionLimit:
        return None
    return automaton.steps


class _Automaton:
    """The paths as a prefix tree, and its determinised states."""

    # A position of the tree has named edges, a wildcard edge and edges of rows, which move differently at an array. So
    # a state is a set of `3 * position` (its names), `3 * position + 1` (its wildcard) and `3 * position + 2` (rows).

    def __init__(self, paths: Iterable[FieldPath], *, exclude: bool, most: int | None = None) -> None:
        self.exclude = exclude
        self.most = MAX_MASK_STEPS if most is None else most
        self.names: list[dict[str, set[int]]] = [{}]
        self.wild: dict[int, int] = {}
        self.rows: dict[int, dict[Pick, int]] = {}
        self.descents: dict[int, int] = {}
        self.edges: dict[tuple[int, Step], int] = {}
        self.below_descent: set[int] = set()
        self.loops: set[int] = set()
        self.ends: set[int] = set()
        self.deep: set[str] = set()
        self.steps = 0
        for path in paths:
            if path.deep:
                self.deep.update(path.steps[:1])  # pyright: ignore[reportArgumentType] - a name
            else:
                self._plant(path)

    def _plant(self, path: FieldPath) -> None:
        at = 0
        for step in path.steps:
            below = self.edges.get((at, step))
            if below is None:
                below = self.edges[at, step] = len(self.names)
                self.names.append({})
                self._join(at, step, below)
            at = below
        self.ends.add(at)

    def _join(self, at: int, step: Step, below: int) -> None:
        if step is None:
            self.wild[at] = below
        elif isinstance(step, str):
            self.names[at].setdefault(step, set()).add(below)
        elif isinstance(step, Pick):
            for name in step.names:
                self.names[at].setdefault(name, set()).add(below)
            if step.rows:
                self.rows.setdefault(at, {})[step] = below
        else:
            self.descents[at] = below
            self.loops.add(below)
        if step is DEEP or at in self.below_descent:
            self.below_descent.add(below)

    def build(self) -> Mask:
        nodes: dict[frozenset[int], Mask] = {}
        todo: list[frozenset[int]] = []

        def node(state: Set[int] | None) -> Mask:
            if state is None:
                return NONE if self.exclude else ALL
            if not state and not (self.exclude and self.deep):
                return ALL if self.exclude else NONE
            key = frozenset(state)
            if key not in nodes:
                if len(nodes) == MAX_MASK_STATES:
                    raise _too_many()
                made = nodes[key] = Mask(exclude=self.exclude)
                made.is_sparse = not self.exclude and all(part // 3 in self.below_descent for part in key)
                todo.append(key)
            return nodes[key]

        root = node(self._enter({0}))
        while todo:
            state = todo.pop()
            mask = nodes[state]
            children, other = self._members(state)
            mask.other = node(other)
            mask.rows, elements = self._elements(state)
            made = tuple(map(node, elements))
            mask.elem = made[-1]
            mask.elems = made if mask.rows else ()
            mask.children = {name: node(children[name]) for name in sorted(children)}
        return root

    def _enter(self, positions: Set[int]) -> set[int] | None:
        """The state after reaching `positions`; `None` if a path ends there."""
        if not self.ends.isdisjoint(positions):
            return None
        state: set[int] = set()
        todo = [*positions]
        while todo:
            at = todo.pop()
            if self.names[at]:
                state.add(3 * at)
            if at in self.rows:
                state.add(3 * at + 2)
            if at in self.wild:
                state.add(3 * at + 1)
                if self.exclude:
                    # In an exclude a wildcard that is not last may also take no step.
                    todo.append(self.wild[at])
            if at in self.descents:
                todo.append(self.descents[at])
        self._count(len(state) + 1)
        return state

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.most:
            raise _too_many()

    def _members(self, state: frozenset[int]) -> tuple[dict[str, set[int] | None], set[int] | None]:
        always = {part // 3 for part in state} & self.loops
        named: dict[str, set[int]] = {}
        for part in state:
            at, kind = divmod(part, 3)
            if kind == 1:
                always.add(self.wild[at])
            elif kind == 0:
                for name, below in self.names[at].items():
                    named.setdefault(name, set()).update(below)
        self._count(len(self.deep))
        children = {name: self._enter(below | always) for name, below in named.items()}
        children.update(dict.fromkeys(self.deep, None))
        return children, self._enter(always)

    def _elements(self, state: frozenset[int]) -> tuple[tuple[Pick, ...], list[set[int] | None]]:
        """What selects elements, and their states: a name looks through the array, a wildcard takes it."""
        kept = {part for part in state if part % 3 == 0}
        entered = {part // 3 for part in state} & self.loops
        rows: dict[Pick, set[int]] = {}
        for part in state - kept:
            at, kind = divmod(part, 3)
            if kind == 2:
                for pick, below in self.rows[at].items():
                    rows.setdefault(pick, set()).add(below)
            elif self.exclude and self.wild[at] not in self.ends:
                kept.add(part)
            else:
                entered.add(self.wild[at])
        if len(rows) > MAX_ROW_STEPS:
            message = f"the field paths select rows of one array in more than {MAX_ROW_STEPS} ways: select all in fewer"
            raise ProjectionLimit(message, limit=MAX_ROW_STEPS)
        picks = tuple(sorted(rows, key=str))
        states: list[set[int] | None] = []
        for bits in range(1 << len(picks)):
            chosen = [rows[pick] for number, pick in enumerate(picks) if bits >> number & 1]
            positions = entered.union(*chosen)
            below = self._enter(positions) if positions else set[int]()
            states.append(None if below is None else kept | below)
            self._count(len(states[-1] or ()))
        return picks, states


def _too_many() -> ProjectionLimit:
    message = (
        f"the field paths together make more than {MAX_MASK_STATES} combinations: "
        "name fewer paths, or fewer of them with wildcards"
    )
    return ProjectionLimit(message, limit=MAX_MASK_STATES)
