"""The projection that a call requests: in `_meta` by its client, in an argument by its model, or by a default view.

A request in `_meta` wins, but a malformed argument is refused all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn, TypeGuard, cast, get_args

from louver.core.json import compact, is_object
from louver.core.nearest import check_choice
from louver.core.projection.request import Projection
from louver.errors import LouverError
from louver.steps.refusals import protocol_error
from louver.wire.names import ARGUMENT, COMPACT, COMPACT_LITERAL, PROJECTION, PROJECTION_LITERAL
from louver.wire.projection import argument_schema, is_compact, requested, requested_by_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from louver.catalogue.entry import Entry
    from louver.steps.request import Request

RequestedBy = Literal["_meta", "argument", "default view"]

# The tools that take the argument: those with fields to leave out or with a view; all; or none.
Argument = Literal["projectable", "all", "off"]

# What `_meta` says of a projection.
_KEYS: Final = (PROJECTION_LITERAL, PROJECTION, COMPACT_LITERAL, COMPACT)


@dataclass(frozen=True, slots=True)
class ProjectionRequest:
    projection: Projection
    requested_by: RequestedBy  # how it was requested
    key: str = PROJECTION_LITERAL  # the key of its receipt in `_meta`
    argument: str = ARGUMENT  # the name of the argument, if that requested it


class RefusedArgument(Exception):
    """A request by argument was refused; its model must be able to read the reason."""

    def __init__(self, error: LouverError, name: str) -> None:
        super().__init__(error.message)
        self.error = error
        self.name = name


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """How calls of one server can request projections."""

    argument: Argument  # which tools take the argument
    prefixes: tuple[str, ...] = ()  # of names of tools that may have a view for calls without a request
    has_large_answers: Callable[[str], bool | None] = lambda _: None  # of a tool, as counted; `None`: not known
    may_lengthen: bool = True  # the argument may make the list of a known host longer than the server's own

    def __post_init__(self) -> None:
        check_choice("argument", self.argument, get_args(Argument))

    def text_of(self, name: str, params: Mapping[str, Any]) -> str | None:
        """What a call says of a projection, as `read` reads it; None if the server is to answer untouched."""
        meta, arguments = params.get("_meta"), params.get("arguments")
        chosen = {key: meta[key] for key in _KEYS if key in meta} if is_object(meta) else {}
        if self._has_argument(arguments):
            chosen[""] = {name: value for name, value in arguments.items() if name.startswith(ARGUMENT)}
        elif chosen.keys().isdisjoint((PROJECTION_LITERAL, PROJECTION)) and not name.startswith(self.prefixes):
            return None
        return compact(chosen)

    def default_view(self, entry: Entry) -> str | None:
        """The view for calls without a request, if the caller may know of it."""
        view = entry.default_view
        return None if entry.hides_views and view not in entry.views.named else view

    def argument_of(self, entry: Entry) -> str | None:
        """The name of the tool's argument, if it takes one; the tool itself never receives it."""
        if self.argument == "off":
            return None
        is_known = entry.output_schema is not None or bool(entry.leaf_fields) or self._has_view(entry)
        return entry.free_argument(ARGUMENT) if is_known or self.argument == "all" else None

    def lists_argument(self, entry: Entry) -> bool:
        """Whether the argument is listed: only where naming fields can pay."""
        return self.argument == "all" or entry.has_much_to_leave_out or self._has_view(entry)

    def _has_view(self, entry: Entry) -> bool:
        # A caller that gets a default view must be able to request everything.
        return bool(entry.views.named) or self.default_view(entry) is not None

    def argument_schema(self, entry: Entry) -> dict[str, Any]:
        learned = entry.output_schema is None
        return argument_schema(entry.leaf_fields, entry.views.named, self.default_view(entry), learned=learned)

    def read(self, entry: Entry, params: Mapping[str, Any]) -> ProjectionRequest | None:
        try:
            by_meta, takes_default = requested(params.get("_meta")), is_compact(params.get("_meta"))
        except LouverError as error:
            raise protocol_error(error) from None
        by_argument = self._read_argument(entry, params.get("arguments"))
        if by_meta is not None:
            projection, key = by_meta
            return ProjectionRequest(projection, "_meta", key)
        if by_argument is not None:
            meant = entry.spelled_out(by_argument)
            return ProjectionRequest(meant, "argument", argument=self.argument_of(entry) or ARGUMENT)
        default = self.default_view(entry) if takes_default else None
        return None if default is None else ProjectionRequest(Projection(view=default), "default view")

    def without_argument(self, request: Request, entry: Entry) -> Request:
        """The request as the tool itself receives it."""
        params = request.params
        arguments = params.get("arguments")
        if not self._has_argument(arguments):
            return request
        argument = self.argument_of(entry)
        rest = {name: value for name, value in arguments.items() if name != argument}
        return replace(request, params={**params, "arguments": rest}) if argument in arguments else request

    def _has_argument(self, arguments: Any) -> TypeGuard[dict[str, Any]]:
        """Whether one of the arguments may be the one for projections."""
        if self.argument == "off" or not isinstance(arguments, dict):
            return False
        return any(name.startswith(ARGUMENT) for name in cast("dict[str, Any]", arguments))

    def _read_argument(self, entry: Entry, arguments: object) -> Projection | None:
        if not self._has_argument(arguments) or (name := self.argument_of(entry)) is None:
            return None
        try:
            return requested_by_argument(arguments.get(name))
        except LouverError as error:
            raise RefusedArgument(error, name) from None


def refuse(error: LouverError, request: ProjectionRequest) -> NoReturn:
    """Raise the refusal that fits the origin: RefusedArgument for a model's argument, otherwise JsonRpcError."""
    if request.requested_by == "argument":
        raise RefusedArgument(error, request.argument) from None
    raise protocol_error(error) from None
