"""A property that is made when it is first asked for, and kept.

Before Python 3.12 `functools.cached_property` has a lock for all objects of a class; this has none::

    in a thread    plan.schema      0.1 s, of a schema that is hard to derive from
    on the loop    other.schema     0.1 s, for a lock, and with it everybody else
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class cached_property(Generic[T]):
    """The property. Two threads may make it at once; what was made first stays.

    Args:
        make: Makes it of an object that has a `__dict__`.
    """

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
