"""What the answers of tools weigh, and what a view of their fields would leave of them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from louver.catalogue.suggest_view import suggest
from louver.cli import terminal
from louver.cli.samples import NoSample
from louver.core.json import members
from louver.errors import LouverError, NotReadOnly
from louver.gateway.routing.aggregate import SEPARATOR
from louver.limits import DOCTOR_CALL_S, MAX_DOCTOR_CALLS
from louver.server.savings.size import shown_size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.catalogue.suggest_view import Suggestion
    from louver.cli.samples import SampledTool
    from louver.gateway.gateway import Gateway

Calls = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class AnswerCost:
    """The answers of one tool."""

    tool: SampledTool
    structured: int  # tokens of an answer on average, in hosts that show structured content
    text: int  # the same in other hosts
    suggestion: Suggestion | None

    @property
    def name(self) -> str:
        return self.tool.definition["name"]

    def shown(self, form: str) -> int:
        """The tokens of an answer; where a host may show either form, of the shorter, as `louver saved` counts."""
        return {"structured": self.structured, "text": self.text}.get(form, min(self.structured, self.text))

    def with_view(self, form: str) -> int:
        """The tokens of an answer that the suggested view trims; those of the answer itself if that is shorter."""
        if self.suggestion is None or not self.suggestion.include:
            return self.shown(form)
        return min(self.shown(form), terminal.tokens(self.suggestion.kept // self.suggestion.samples))


def named(tools: Mapping[str, SampledTool], calls: Calls) -> Calls:
    """The calls of tools that are here, named alone or with their server."""
    names = {tool.definition["name"]: name for name, tool in tools.items()} | {name: name for name in tools}
    names |= {f"{tool.server}{SEPARATOR}{tool.definition['name']}": name for name, tool in tools.items()}
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

    async def size_of(name: str, arguments: dict[str, Any]) -> tuple[int, int] | None:
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
        return _shown_sizes(result)

    sizes = await asyncio.gather(*(size_of(*call) for call in calls))
    found: dict[str, list[tuple[int, int]]] = {}
    for (name, _), size in zip(calls, sizes, strict=True):
        if size is not None:
            found.setdefault(name, []).append(size)
    return [_answer(tools[name], of_tool) for name, of_tool in found.items()]


def _answer(tool: SampledTool, sizes: Sequence[tuple[int, int]]) -> AnswerCost:
    schema = tool.definition.get("outputSchema")
    # Without a schema, the names in an answer may be data, for example those of variables.
    is_declared = bool(tool.samples) and schema is not None
    suggestion = suggest(tool.definition["name"], schema, tool.samples) if is_declared else None
    structured, text = (round(fmean([terminal.tokens(each[form]) for each in sizes])) for form in (0, 1))
    return AnswerCost(tool, structured, text, suggestion)


def _shown_sizes(result: dict[str, Any]) -> tuple[int, int]:
    """The characters of a result that a model sees, where hosts show structured content, and where they show text."""
    return shown_size(result, "structured").characters, shown_size(result, "text").characters
