"""Masks: field paths as one tree, a determinised automaton, that is walked along with a value.

    include  id, user.login      {id: ALL, user: {login: ALL}}, else NONE
    exclude  user.email          {user: {email: NONE}}, else ALL

`ALL` keeps a place whole, `NONE` leaves it out. Arrays are transparent: a node with names has itself as `elem`. In an
include `*` takes exactly one step. An exclude fails closed: a `*` that is not last may also take no step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from louver.errors import ProjectionLimit
from louver.limits import MAX_MASK_STATES, MAX_MASK_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from louver.core.paths.path import FieldPath


class Mask:
    """What is kept of one place in a value. `exclude`: it leaves out what it names, instead of keeping just that."""

    __slots__ = ("children", "elem", "exclude", "is_inner", "other")

    children: dict[str, Mask]  # in the order of code points
    other: Mask  # for every member that is not in `children`
    elem: Mask  # for every element
    is_inner: bool  # neither `ALL` nor `NONE`

    def __init__(self, *, exclude: bool, is_inner: bool = True) -> None:
        self.exclude = exclude
        self.is_inner = is_inner
        self.children = {}
        self.other = self.elem = self

    def child(self, name: str) -> Mask:
        return self.children.get(name, self.other)

    def leaves_out(self, path: FieldPath) -> bool:
        node = self
        for step in path.steps:
            node = node.other if step is None else node.child(step)
        return node is NONE

    def nodes(self) -> set[Mask]:
        seen: set[Mask] = set()
        todo: set[Mask] = {self}
        while todo:
            seen |= todo
            todo = {below for node in todo for below in (*node.children.values(), node.other, node.elem)} - seen
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

    # A position of the tree has named edges and one wildcard edge, which move differently at an array. So a state is a
    # set of `2 * position` (the names of that position) and `2 * position + 1` (its wildcard).

    def __init__(self, paths: Iterable[FieldPath], *, exclude: bool, most: int | None = None) -> None:
        self.exclude = exclude
        self.most = MAX_MASK_STEPS if most is None else most
        self.names: list[dict[str, int]] = [{}]
        self.wild: dict[int, int] = {}
        self.ends: set[int] = set()
        self.deep: set[str] = set()
        self.steps = 0
        for path in paths:
            if path.deep:
                self.deep.add(path.steps[0] or "")
            else:
                self._plant(path)

    def _plant(self, path: FieldPath) -> None:
        at = 0
        for step in path.steps:
            below = self.wild.get(at) if step is None else self.names[at].get(step)
            if below is None:
                below = len(self.names)
                self.names.append({})
                if step is None:
                    self.wild[at] = below
                else:
                    self.names[at][step] = below
            at = below
        self.ends.add(at)

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
                nodes[key] = Mask(exclude=self.exclude)
                todo.append(key)
            return nodes[key]

        root = node(self._enter({0}))
        while todo:
            state = todo.pop()
            mask = nodes[state]
            children, other = self._members(state)
            mask.other = node(other)
            mask.elem = node(self._elements(state))
            mask.children = {name: node(children[name]) for name in sorted(children)}
        return root

    def _enter(self, positions: Set[int]) -> set[int] | None:
        """The state after reaching `positions`; `None` if a path ends there."""
        if not self.ends.isdisjoint(positions):
            return None
        state: set[int] = set()
        for position in positions:
            at: int | None = position
            while at is not None:
                if self.names[at]:
                    state.add(2 * at)
                below = self.wild.get(at)
                if below is not None:
                    state.add(2 * at + 1)
                # In an exclude a wildcard that is not last may also take no step.
                at = below if self.exclude else None
        self._count(len(state) + 1)
        return state

    def _count(self, steps: int) -> None:
        self.steps += steps
        if self.steps > self.most:
            raise _too_many()

    def _members(self, state: frozenset[int]) -> tuple[dict[str, set[int] | None], set[int] | None]:
        always: set[int] = set()
        named: dict[str, set[int]] = {}
        for part in state:
            if part & 1:
                always.add(self.wild[part >> 1])
            else:
                for name, below in self.names[part >> 1].items():
                    named.setdefault(name, set()).add(below)
        self._count(len(self.deep))
        children = {name: self._enter(below | always) for name, below in named.items()}
        children.update(dict.fromkeys(self.deep, None))
        return children, self._enter(always)

    def _elements(self, state: frozenset[int]) -> set[int] | None:
        """The state of an array's elements: a name looks through the array, a wildcard takes it."""
        kept = {part for part in state if not part & 1}
        for part in state - kept:
            below = self.wild[part >> 1]
            if self.exclude and below not in self.ends:
                kept.add(part)
                continue
            entered = self._enter({below})
            if entered is None:
                return None
            kept |= entered
        self._count(len(kept))
        return kept


def _too_many() -> ProjectionLimit:
    message = (
        f"the field paths together make more than {MAX_MASK_STATES} combinations: "
        "name fewer paths, or fewer of them with wildcards"
    )
    return ProjectionLimit(message, limit=MAX_MASK_STATES)
