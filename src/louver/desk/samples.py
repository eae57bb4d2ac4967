"""Tool calls that give samples of answers: `--call TOOL ARGS`, repeatable.

Everything that can be refused is refused before the first call. A call without a sample is reported, and the others go
on; reports hold no value of an answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.catalogue.entry import Entry
from louver.catalogue.learned import LearnedFields
from louver.cli.upstreams import unknown_tool_error
from louver.core.json import Json, compact, is_array, is_object, members
from louver.core.projection.view import Views
from louver.errors import NotReadOnly
from louver.gateway.routing.aggregate import SEPARATOR
from louver.wire.jsonrpc.errors import JsonRpcError
from louver.wire.output import find_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from louver.core.json import Schema
    from louver.gateway.gateway import Gateway, UpstreamState


class NoSample(Exception):
    """An answer without fields; the message gives the reason."""


class NoJson(NoSample):
    """A complete and successful answer that is not a JSON object or array."""


@dataclass(frozen=True, slots=True)
class SampledTool:
    """A tool and its samples."""

    server: str  # the server's name
    definition: dict[str, Any]  # its entry in the server's list
    _samples: dict[str, Json] = field(default_factory=dict[str, Any])

    @property
    def name(self) -> str:
        return self.definition["name"]

    @property
    def output_schema(self) -> Schema | None:
        return self.definition.get("outputSchema")

    @property
    def is_read_only(self) -> bool:
        """Whether the tool says so."""
        return members(self.definition.get("annotations")).get("readOnlyHint") is True

    @property
    def samples(self) -> list[Json]:
        """The distinct outputs so far."""
        return list(self._samples.values())

    async def call(self, gateway: Gateway, arguments: dict[str, Any]) -> None:
        """Call the tool once and keep its output as a sample."""
        self.add(await self.result(gateway, arguments))

    async def result(self, gateway: Gateway, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of one call."""
        try:
            return await gateway.call(self.server, self.name, arguments)
        except JsonRpcError as error:
            # The server's message may quote anything.
            raise NoSample(f"the server answers with error {error.code}") from None

    def add(self, result: dict[str, Any]) -> None:
        """Keep the output of a result as a sample."""
        value = self._output(result)
        self._samples[compact(value)] = value

    def learn(self, file: Path) -> int:
        """Store the fields of the samples in a file of learned fields; return how many are offered from then on."""
        learned = LearnedFields(file)
        for sample in self.samples:
            learned.learn(self.name, sample)
        return len(LearnedFields(file).find(self.name))

    def _output(self, result: dict[str, Any]) -> Json:
        if result.get("isError") is True:
            raise NoSample("the tool answers with an error, which 'louver call' shows")
        if result.get("resultType", "complete") != "complete":
            raise NoSample("the tool asks its client something first, and here is nobody to answer")
        wrapper = Entry(self.definition, Views()).text_wrapper_in(result.get("structuredContent"))
        output = find_output(result, wrapper)
        if output is None or not (is_object(output.value) or is_array(output.value)):
            raise NoJson("the answer is no JSON object or array, so it has no fields")
        return output.value


def tools_by_name(states: Sequence[UpstreamState]) -> dict[str, SampledTool]:
    """The tools by the names that a client of all these servers sees."""
    return {
        tool["name"] if len(states) == 1 else f"{state.name}{SEPARATOR}{tool['name']}": SampledTool(state.name, tool)
        for state in states
        for tool in state.tools
    }


def select_tools(tools: Mapping[str, SampledTool], names: Iterable[str], *, run_anyway: bool) -> dict[str, SampledTool]:
    """The named tools, each once; without `run_anyway`, only those declared as read-only may be named."""
    selected: dict[str, SampledTool] = {}
    for name in names:
        if name not in tools:
            raise unknown_tool_error(name, tools)
        if not run_anyway and not tools[name].is_read_only:
            raise NotReadOnly(
                f"tool {name!r} does not say that it only reads, so it is not called: --run-anyway calls it as well"
            )
        selected[name] = tools[name]
    return selected
