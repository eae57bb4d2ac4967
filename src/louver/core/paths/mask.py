"""Masks: many field paths as one tree that a value is walked beside.

A mask node says, for one place in a value, what is kept of it::

    include  id, user.login      {id: ALL, user: {login: ALL}}, else NONE
    exclude  user.email          {user: {email: NONE}}, else ALL

`ALL` keeps a place whole and `NONE` leaves it out. Any other node has
`children` (by name), `other` (every name not among them) and `elem` (the
elements, should the place hold an array). Arrays are transparent: a name looks
through them, so a node with names has itself as `elem`.

The two modes read a path differently. An include reads it narrowly: `*` takes
exactly one step. An exclude fails closed: `*` that is not last also takes no
step at all, and an array does not use it up.

Nodes are the states of a determinised automaton whose single transitions are
the remaining paths; paths with wildcards can ask for very many states, so the
building is bounded (`MAX_MASK_STATES`, `MAX_MASK_STEPS`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from louver.errors import ProjectionLimit
from louver.limits import MAX_MASK_STATES, MAX_MASK_STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from louver.core.paths.path import FieldPath


class Mask:
    """What is kept of one place in a value.

    Attributes:
        exclude: Whether the mask leaves out what it names (else it keeps just that).
        children: Nodes by member name, in the order of code points.
        other: The node of every member that is not in `children`.
        elem: The node of every element.
    """

    __slots__ = ("children", "elem", "exclude", "other")

    children: dict[str, Mask]
    other: Mask
    elem: Mask

    def __init__(self, *, exclude: bool) -> None:
        self.exclude = exclude
        self.children = {}
        self.other = self.elem = self

    def child(self, name: str) -> Mask:
        """The node of the member `name`."""
        return self.children.get(name, self.other)

    def leaves_out(self, path: FieldPath) -> bool:
        """Whether nothing is left of what `path` names, wherever it leads."""
        node = self
        for step in path.steps:
            node = node.other if step is None else node.child(step)
        return node is NONE

    def nodes(self) -> set[Mask]:
        """All nodes from here on."""
        seen: set[Mask] = set()
        todo: set[Mask] = {self}
        while todo:
            seen |= todo
            todo = {below for node in todo for below in (*node.children.values(), node.other, node.elem)} - seen
        return seen

    def is_of_names(self) -> bool:
        """Whether it keeps nothing but what is named: no member has to be looked at to know its name."""
        return all(node.other is NONE and not node.exclude for node in self.nodes() if node.is_inner())

    def is_inner(self) -> bool:
        """Whether a place is neither kept whole nor left out."""
        return self is not ALL and self is not NONE


ALL: Final = Mask(exclude=False)
"""The place is kept whole."""

NONE: Final = Mask(exclude=False)
"""The place is left out."""


def remade(mask: Mask, out: Mask, kind: type[Mask] = Mask) -> Mask:
    """An exclude's mask with something else for what it leaves out, and nodes of another kind.

    Args:
        mask: The mask.
        out: What stands for a place that it leaves out.
        kind: Of the inner nodes.
    """
    made: dict[Mask, Mask] = {ALL: ALL, NONE: out}
    inner = [node for node in mask.nodes() if node.is_inner()]
    made.update((node, kind(exclude=True)) for node in inner)
    for node in inner:
        made[node].children = {name: made[below] for name, below in node.children.items()}
        made[node].other, made[node].elem = made[node.other], made[node.elem]
    return made[mask]


def include_mask(paths: Iterable[FieldPath]) -> Mask:
    """The mask that keeps what `paths` name and nothing else.

    Raises:
        ProjectionLimit: The paths make more than `MAX_MASK_STATES` states.
    """
    return _Automaton(paths, exclude=False).build()


def exclude_mask(paths: Iterable[FieldPath]) -> Mask:
    """The mask that leaves out what `paths` name.

    Raises:
        ProjectionLimit: The paths make more than `MAX_MASK_STATES` states.
    """
    return _Automaton(paths, exclude=True).build()


class _Automaton:
    """The paths as a prefix tree, and its determinised states.

    A position of the tree has named edges and one wildcard edge. The two kinds
    move differently at an array, so a state is a set of `2 * position` (the
    names of that position) and `2 * position + 1` (its wildcard).
    """

    def __init__(self, paths: Iterable[FieldPath], *, exclude: bool) -> None:
        self.exclude = exclude
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
        """The root node, with every node that can be reached from it."""
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
        """The state of having reached `positions`; `None` if a path ends there."""
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
                # In an exclude a wildcard with more behind it also takes no step.
                at = below if self.exclude else None
        self.steps += len(state) + 1
        if self.steps > MAX_MASK_STEPS:
            raise _too_many()
        return state

    def _members(self, state: frozenset[int]) -> tuple[dict[str, set[int] | None], set[int] | None]:
        """The states below each name, and below any other name."""
        always: set[int] = set()
        named: dict[str, set[int]] = {}
        for part in state:
            if part & 1:
                always.add(self.wild[part >> 1])
            else:
                for name, below in self.names[part >> 1].items():
                    named.setdefault(name, set()).add(below)
        children = {name: self._enter(below | always) for name, below in named.items()}
        children.update(dict.fromkeys(self.deep, None))
        return children, self._enter(always)

    def _elements(self, state: frozenset[int]) -> set[int] | None:
        """The state of the elements: a name looks through the array, a wildcard takes it."""
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
        self.steps += len(kept)
        return kept


def _too_many() -> ProjectionLimit:
    message = (
        f"the field paths together make more than {MAX_MASK_STATES} combinations: "
        "name fewer paths, or fewer of them with wildcards"
    )
    return ProjectionLimit(message, limit=MAX_MASK_STATES)
