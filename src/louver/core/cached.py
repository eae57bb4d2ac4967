"""A cached property without a lock.

Before Python 3.12 `functools.cached_property` holds one lock for all objects of a class: a schema that takes 0.1 s in a
thread would block the schemas of all other plans, and with them the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class cached_property(Generic[T]):
    """Like `functools.cached_property`. Two threads may compute it at once; the first stored value stays."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, of: None, owner: type) -> Self: ...
    @overload
    def __get__(self, of: object, owner: type) -> T: ...
    def __get__(self, of: object, owner: type) -> Self | T:
        if of is None:
            return self
        return of.__dict__.setdefault(self._name, self._make(of))
