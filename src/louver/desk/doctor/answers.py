"""What the answers of tools weigh, and what a view of their fields would leave of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.suggest_view import suggest
from louver.cli import terminal
from louver.concurrency.offload import in_thread
from louver.core.json import members
from louver.desk.samples import NoSample
from louver.errors import LouverError, NotReadOnly
from louver.gateway.routing.aggregate import SEPARATOR
from louver.limits import DOCTOR_CALL_S
from louver.steps.savings.size import shown_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.catalogue.hosts import Shown
    from louver.catalogue.suggest_view import Suggestion
    from louver.desk.samples import SampledTool
    from louver.gateway.gateway import Gateway

MAX_DOCTOR_CALLS = 20
"""Tools of one file that `louver doctor` calls unasked-for by name, to see how much they answer."""


_FORMS: Final[tuple[Shown, ...]] = ("structured", "text")

Calls = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """The answers of one tool."""

    tool: SampledTool
    structured: int  # tokens of an answer on average, in hosts that show structured content
    text: int  # the same in other hosts
    suggestion: Suggestion | None
    toon: Mapping[str, int] | None = None  # tokens of an answer as TOON, where known hosts show it; None: no library

    @property
    def name(self) -> str:
        return self.tool.name

    def shown(self, form: str) -> int:
        """The tokens of an answer; where a host may show either form, of the shorter, as `louver report` counts."""
        return {"structured": self.structured, "text": self.text}.get(form, min(self.structured, self.text))

    def with_view(self, form: str) -> int:
        """The tokens of an answer that the suggested view trims; those of the answer itself if that is shorter."""
        if self.suggestion is None or not self.suggestion.include:
            return self.shown(form)
        return min(self.shown(form), terminal.tokens(self.suggestion.kept // self.suggestion.samples))

    def with_toon(self, form: str) -> int | None:
        """The tokens of an answer with the setting `toon`; `None` without its library."""
        return None if self.toon is None else self.toon.get(form, self.shown(form))


def named(tools: Mapping[str, SampledTool], calls: Calls) -> Calls:
    """The calls of tools that are here, named alone or with their server."""
    names = {tool.name: name for name, tool in tools.items()} | {name: name for name in tools}
    names |= {f"{tool.server}{SEPARATOR}{tool.name}": name for name, tool in tools.items()}
    found = [(names[name], arguments) for name, arguments in calls if name in names]
    for name, _ in found:
        if not tools[name].is_read_only:
            raise NotReadOnly(f"tool {name!r} does not say that it only reads, so it is not called: leave it out")
    return found


def harmless(tools: Mapping[str, SampledTool]) -> Calls:
    """Calls of tools that say that they only read, and that need no arguments."""
    calls: Calls = [
        (name, {})
        for name, tool in tools.items()
        if tool.is_read_only and not members(tool.definition.get("inputSchema")).get("required")
    ]
    return calls[:MAX_DOCTOR_CALLS]


async def call_tools(gateway: Gateway, tools: Mapping[str, SampledTool], calls: Calls) -> list[AnswerCost]:
    """Make the calls, all at once; report those without a usable answer."""

    async def size_of(name: str, arguments: dict[str, Any]) -> Sequence[int] | None:
        try:
            async with asyncio.timeout(DOCTOR_CALL_S):
                result = await tools[name].result(gateway, arguments)
            if result.get("isError") is True:
                raise NoSample("the tool answers with an error")
        except TimeoutError:
            terminal.print_stderr(f"{name}: no answer within {DOCTOR_CALL_S:g} s")
            return None
        except (NoSample, LouverError) as problem:
            terminal.print_stderr(f"{name}: {problem}")
            return None
        # An answer of text has a size, and no fields.
        with suppress(NoSample):
            tools[name].add(result)
        return await in_thread(partial(_shown_sizes, result))

    sizes = await asyncio.gather(*(size_of(*call) for call in calls))
    found: dict[str, list[Sequence[int]]] = {}
    for (name, _), size in zip(calls, sizes, strict=True):
        if size is not None:
            found.setdefault(name, []).append(size)
    return [_answer(tools[name], of_tool) for name, of_tool in found.items()]


def _answer(tool: SampledTool, sizes: Sequence[Sequence[int]]) -> AnswerCost:
    # Without a schema, the names in an answer may be data, for example those of variables.
    is_declared = bool(tool.samples) and tool.output_schema is not None
    suggestion = suggest(tool.name, tool.output_schema, tool.samples) if is_declared else None
    structured, text, *toon = (round(fmean(map(terminal.tokens, each))) for each in zip(*sizes, strict=True))
    return AnswerCost(tool, structured, text, suggestion, dict(zip(_FORMS, toon, strict=True)) if toon else None)


def _shown_sizes(result: dict[str, Any]) -> Sequence[int]:
    """The characters of a result that a model sees, in each form; then the same as TOON, if its library is there."""
    sizes = [shown_size(result, form).characters for form in _FORMS]
    with suppress(ModuleNotFoundError):
        # Lazy import: the library is an extra.
        from louver.steps.calls.toon import with_toon

        sizes += [shown_size(with_toon(result, form, is_data=False), form).characters for form in _FORMS]
    return sizes
