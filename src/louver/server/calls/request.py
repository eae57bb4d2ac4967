"""What a call asks for, and by whom.

A client asks in `_meta`; its model, which cannot set that, by an argument;
and where neither does, the server may have a default view. In this
order: a request in `_meta` wins, but the argument is read, and refused, all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from louver.core.choices import check_choice
from louver.core.json import is_object
from louver.core.projection.request import Projection
from louver.errors import LouverError
from louver.protocol.argument import argument_schema, requested_by_argument
from louver.protocol.names import ARGUMENT, PROJECTION, PROJECTION_LITERAL
from louver.protocol.request import is_compact, requested
from louver.server.refusals import protocol_error

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry

By = Literal["_meta", "argument", "default view"]

Argument = Literal["projectable", "all", "off"]
"""Which tools take the argument: those whose answers have fields to leave out, or a view; all; or none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call asks for.

    Args:
        projection: The request.
        by: How it was asked.
        key: The key of `_meta` under which the receipt goes.
        argument: What the argument is called, if it was asked by that.
    """

    projection: Projection
    by: By
    key: str = PROJECTION_LITERAL
    argument: str = ARGUMENT


class RefusedArgument(Exception):
    """A request by the argument is not possible: its model must be able to read why."""

    def __init__(self, error: LouverError, name: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.name = name


@dataclass(frozen=True, slots=True)
class Asking:
    """How calls of one server can ask.

    Args:
        argument: Which tools take the argument.
        name: What it is called, unless the tool has an argument of that name.
        defaults: Tool name -> the view that a call without a request gets.
        ready: What the names of tools begin with that may have a default view of their own.

    Raises:
        LouverError: There is no such `argument`.
    """

    argument: Argument
    defaults: Mapping[str, str]
    ready: tuple[str, ...] = ()
    name: str = ARGUMENT

    def __post_init__(self) -> None:
        check_choice("argument", self.argument, get_args(Argument))

    def concerns(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a call may ask for anything; if not, the server answers as if nothing were attached."""
        meta, arguments = params.get("_meta"), params.get("arguments")
        by_meta = isinstance(meta, Mapping) and (PROJECTION_LITERAL in meta or PROJECTION in meta)
        by_argument = self.argument != "off" and is_object(arguments) and self._is_among(arguments)
        return by_meta or by_argument or name in self.defaults or name.startswith(self.ready)

    def default_view(self, entry: Entry) -> str | None:
        """The view that a call of the tool without a request gets, if any, and if its caller may know of it."""
        view = self.defaults.get(entry.name, entry.default_view)
        return None if entry.hides_views and view not in entry.views.named else view

    def argument_of(self, entry: Entry) -> str | None:
        """What the argument of the tool is called, if it takes one: the tool itself never sees it."""
        if self.argument == "off":
            return None
        is_known = entry.output_schema is not None or bool(entry.leaf_fields) or self._has_view(entry)
        return entry.free_argument(self.name) if is_known or self.argument == "all" else None

    def offers_argument(self, entry: Entry) -> bool:
        """Whether the argument is listed: where naming fields can pay."""
        return self.argument == "all" or entry.has_much_to_leave_out or self._has_view(entry)

    def _has_view(self, entry: Entry) -> bool:
        # A caller who gets a view without having asked must be able to ask for all.
        return bool(entry.views.named) or self.default_view(entry) is not None

    def argument_schema(self, entry: Entry) -> dict[str, Any]:
        """The argument in the input schema of a tool that takes it."""
        learned = entry.output_schema is None
        return argument_schema(entry.leaf_fields, entry.views.named, self.default_view(entry), learned=learned)

    def read(self, entry: Entry, params: Mapping[str, Any]) -> Asked | None:
        """What a call of the tool asks for, if anything.

        Raises:
            MCPError: The request in `_meta` is not a projection.
            RefusedArgument: Likewise, in the argument.
        """
        try:
            by_meta, compact = requested(params.get("_meta")), is_compact(params.get("_meta"))
        except LouverError as error:
            raise protocol_error(error) from None
        by_argument = self._by_argument(entry, params.get("arguments"))
        if by_meta is not None:
            projection, key = by_meta
            return Asked(projection, "_meta", key)
        if by_argument is not None:
            return Asked(by_argument, "argument", argument=self.argument_of(entry) or self.name)
        default = self.default_view(entry) if compact else None
        return None if default is None else Asked(Projection.view(default), "default view")

    def _is_among(self, arguments: Mapping[str, Any]) -> bool:
        return any(name.startswith(self.name) for name in arguments)

    def _by_argument(self, entry: Entry, arguments: object) -> Projection | None:
        if not is_object(arguments) or not self._is_among(arguments) or (name := self.argument_of(entry)) is None:
            return None
        try:
            return requested_by_argument(arguments.get(name))
        except LouverError as error:
            raise RefusedArgument(error, name) from None


def refuse(error: LouverError, asked: Asked) -> NoReturn:
    """Turn down a request that is not possible for the tool, in the form that fits who asked.

    Raises:
        MCPError: The client asked, or the server's own default view does not fit.
        RefusedArgument: A model asked.
    """
    if asked.by == "argument":
        raise RefusedArgument(error, asked.argument) from None
    raise protocol_error(error) from None
