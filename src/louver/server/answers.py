"""What becomes of the answer to a call before its client gets it.

::

    projected answer ─ guidance looks at it ─ kept, if it is too large, and previewed ─ else warned of, if it is large

Each is there only where the server's author wants it. Notes and warnings are blocks of text after the answer's own, and
stand in its `_meta`; the structured content is the tool's alone. An answer without any of them is passed on as it is.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

from louver.core.cached import cached_property
from louver.core.json import compact, members
from louver.core.wrapper import is_wrapped, text_wrapper_in
from louver.protocol.names import ARGUMENT, GUIDANCE, WARNINGS
from louver.protocol.output import texts_of
from louver.server.aside import aside
from louver.server.finding import found_output
from louver.server.previews import Preview, can_be_kept
from louver.server.projection import left_alone
from louver.server.results import About
from louver.server.warnings import has_fields, less, text_of
from louver.server.wire import result_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from louver.catalogue.rules import Guidance
    from louver.core.json import Json
    from louver.protocol.output import Output
    from louver.server.asked import Asking
    from louver.server.projection import Answered, ProjectedCalls
    from louver.server.results import Results
    from louver.server.tools import Tools
    from louver.server.warnings import Warnings

_Made = TypeVar("_Made")

_BY_META: Final = ("'_meta.projection'",)
_BY_ARGUMENT: Final = (f"the argument '{ARGUMENT}'",)

_INSIDE: ContextVar[bool] = ContextVar("louver_inside", default=False)


@contextmanager
def inside() -> Generator[None]:
    """Calls meanwhile are made within the answer to another: they get data, and nothing beside it or instead of it."""
    before = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(before)


@dataclass(frozen=True, slots=True)
class Beside:
    """What an author wants beside answers, or instead of them.

    Args:
        guidance: What is said of them, when there is reason to.
        warnings: When is warned.
        results: Keeps those that are too large.
        by: What names fields in a call, and what names a view, where neither `_meta` nor the argument does.
    """

    guidance: Guidance | None = None
    warnings: Warnings | None = None
    results: Results | None = None
    by: tuple[str, ...] = ()


NOTHING: Final = Beside()


class Answers:
    """Answers `tools/call`.

    Args:
        calls: Gives the projected answers.
        tools: The server's tools.
        beside: What is wanted.
        can_project: Whether this client gets projections, of which a preview is one.
        asking: How calls can ask for fields.
    """

    def __init__(
        self,
        calls: ProjectedCalls,
        tools: Tools,
        beside: Beside,
        can_project: Callable[[ServerRequestContext[Any, Any]], bool],
        asking: Asking,
    ) -> None:
        self._calls = calls
        self._tools = tools
        self._beside = beside
        self._has_any = beside != NOTHING
        self._can_project = can_project
        self._asking = asking

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """The answer, with what is to be said of it."""
        answered = await self._calls(ctx, call_next)
        name: object = (ctx.params or {}).get("name")
        if not self._has_any or _INSIDE.get() or not isinstance(name, str):
            return answered.result
        result = result_dict(answered.result)
        if left_alone(result):
            return answered.result
        look = await _Look.at(name, result)
        said = await self._guided(look)
        shown = await self._previewed(look, answered, ctx, call_next)
        if shown is None:
            said = said.joined(await self._warned(look, ctx, call_next))
            return said.beside(result) if said.texts else answered.result
        return said.beside(shown)

    async def _guided(self, look: _Look) -> _Said:
        guidance = self._beside.guidance
        if guidance is None or not guidance.concerns(look.tool):
            return _Said()
        notes = await look.aside(lambda: guidance.notes(look.tool, look.value, look.texts))
        return _Said([note.text() for note in notes], {GUIDANCE: [note.to_wire() for note in notes]})

    async def _warned(self, look: _Look, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> _Said:
        warnings = self._beside.warnings
        if warnings is None:
            return _Said()
        found = await look.aside(lambda: warnings.of(look.result, look.value))
        if found:
            advice = await self._advice(look, ctx, call_next)
            found = [{**warning, "message": f"{warning['message']} {advice}"} for warning in found]
        return _Said([*map(text_of, found)], {WARNINGS: found})

    async def _advice(self, look: _Look, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> str:
        """How this client can ask for less of this answer."""
        if not self._can_project(ctx) or not await look.aside(lambda: has_fields(look.value)):
            return less(())
        entry = await self._tools.find_if_listed(look.tool, ctx, call_next)
        if entry is None:
            return less(self._beside.by or _BY_META)
        by = self._beside.by or (_BY_ARGUMENT if self._asking.offers_argument(entry) else _BY_META)
        return less(by, has_views=bool(entry.views.named))

    async def _previewed(
        self, look: _Look, answered: Answered, ctx: ServerRequestContext[Any, Any], call_next: CallNext
    ) -> dict[str, Any] | None:
        """What the client gets instead of an answer that is kept; `None` if it gets the answer."""
        results, output = self._beside.results, look.output
        if results is None or output is None or not can_be_kept(output) or not self._can_project(ctx):
            return None
        if await look.aside(lambda: look.size) <= results.options.over_bytes:
            return None
        entry = await self._tools.find_if_listed(look.tool, ctx, call_next)
        declared = None if entry is None else entry.output_schema
        about = About(look.tool, answered.schema_of(output, declared), output.wrapper, answered.is_partial)
        uri = await results.keep(look.text, about, ctx)
        if uri is None:
            return None
        kept = Preview(look.tool, uri, look.size, results.options.seconds, is_wrapped(declared))
        return answered.told_otherwise(await look.aside(lambda: kept.instead_of(look.result, output)), "result_kept")


@dataclass(frozen=True, slots=True)
class _Said:
    """What is said of an answer: as blocks of text, and in `_meta`."""

    texts: list[str] = field(default_factory=list[str])
    meta: dict[str, Any] = field(default_factory=dict[str, Any])

    def joined(self, other: _Said) -> _Said:
        return _Said([*self.texts, *other.texts], {**self.meta, **other.meta})

    def beside(self, result: dict[str, Any]) -> dict[str, Any]:
        """The answer with it."""
        meta = {**members(result.get("_meta")), **{key: said for key, said in self.meta.items() if said}}
        blocks = [{"type": "text", "text": text} for text in self.texts]
        return {**result, "content": [*(result.get("content") or []), *blocks], **({"_meta": meta} if meta else {})}


class _Look:
    """An answer, and what of it is looked at: its output, or else its texts."""

    def __init__(self, tool: str, result: dict[str, Any], output: Output | None) -> None:
        self.tool = tool
        self.result = result
        self.output = output

    @classmethod
    async def at(cls, tool: str, result: dict[str, Any]) -> _Look:
        """The look at an answer of a tool."""
        return cls(tool, result, await found_output(result, text_wrapper_in(result.get("structuredContent"))))

    @cached_property
    def texts(self) -> list[str] | None:
        """Its texts, if there is no output."""
        return texts_of(self.result) if self.output is None else None

    @cached_property
    def value(self) -> Json:
        """What rules look at, and what is counted."""
        return "\n".join(self.texts or ()) if self.output is None else self.output.value

    @cached_property
    def text(self) -> str:
        """Its JSON."""
        return compact(self.value)

    @cached_property
    def size(self) -> int:
        """The bytes of that."""
        return len(self.text.encode("utf-8", "surrogatepass"))

    async def aside(self, function: Callable[[], _Made]) -> _Made:
        """What a function makes of it, in a thread if it is large."""
        return await aside(self.value, function)
