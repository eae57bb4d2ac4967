"""`louver suggest`: field sizes in the answers of tools, and starter files for each: views, and an output schema.

louver suggest --call list_issues '{"limit": 20}' --call list_issues '{"state": "closed"}' -- louver serve --example

Only tools declared as read-only are called, unless `--run-anyway`. Of their answers only names, types and sizes are
printed or written. A schema is suggested for a tool that lists none and has answered with JSON each time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from louver.catalogue.files import output_schemas, views
from louver.catalogue.learned import learned_file, state_folder
from louver.catalogue.suggest_view import suggest
from louver.cli import process, servers, terminal, upstreams
from louver.cli.json_streams import parse_object, pretty, write, write_text
from louver.desk.samples import NoJson, NoSample, select_tools, tools_by_name
from louver.errors import InvalidInput, UpstreamError
from louver.limits import LEARNT_AFTER

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from rich.console import Console

    from louver.catalogue.suggest_view import Suggestion
    from louver.desk.samples import SampledTool
    from louver.gateway.config.model import Config
    from louver.gateway.gateway import Gateway

MAX_CHARTED_FIELDS = 40
"""Fields in a bar chart, the heaviest of an answer."""


_WIDTH = 24  # columns of the longest bar
_MIN_WIDTH = 8  # the same in a narrow terminal
_OTHER_COLUMNS = 70  # what the rest of the table takes, with paths of a usual length


def run(arguments: Namespace) -> int:
    """Print sizes and files, or where the files are; return 1 if a call gave nothing to measure."""
    return process.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    calls = [(name, parse_object(text)) for name, text in arguments.calls]
    config = servers.read(arguments)
    async with upstreams.open_gateway(config) as (gateway, states):
        available = tools_by_name(states)
        unavailable = [state for state in states if state.problem is not None]
        if unavailable and any(name not in available for name, _ in calls):
            for state in unavailable:
                terminal.print_stderr(f"server {state.name!r} is not there: {state.problem}")
            return 1
        tools = select_tools(available, (name for name, _ in calls), run_anyway=arguments.run_anyway)
        files = {} if arguments.out is None else _files(arguments.out, tools)
        problems, not_json = await _make_calls(gateway, tools, calls)
    if arguments.learn:
        _learn(config, tools)
    schemas = {name: _schema(tool) for name, tool in tools.items() if name not in not_json}
    found: dict[str, tuple[SampledTool, Suggestion]] = {}
    for name, tool in tools.items():
        suggestion = suggest(tool.name, tool.output_schema, tool.samples)
        if suggestion is not None:
            found[name] = (tool, suggestion)
        elif tool.samples:
            problems.append(f"what {name!r} answers has no fields")
    # Files come first, since the reader of standard output may close it at any line.
    for name, file in files.items():
        if name in found and (content := found[name][1].file()) is not None:
            _write(file.views, content, "a draft to edit")
        if (content := schemas.get(name)) is not None:
            _write(file.schema, content, f"what {_answer_count(tools[name])} shown: a draft to correct")
    rows = [(*found[name], schemas.get(name)) for name in found]
    _show(rows, as_json=arguments.json, with_files=not files)
    for problem in problems:
        terminal.print_stderr(problem)
    return 1 if problems else 0


def _learn(config: Config, tools: dict[str, SampledTool]) -> None:
    """Store the fields in answers of tools without an output schema, for configurations with `"learn": true`."""
    folder = config.learn or state_folder(os.environ)
    places = {each.name: each.server_id for each in config.upstreams if each.policy is None}
    for name, tool in tools.items():
        if tool.server not in places or tool.output_schema is not None:
            continue
        fields = tool.learn(learned_file(folder, places[tool.server]))
        status = f"{fields} fields are offered" if fields else f"{LEARNT_AFTER} answers without a new field are needed"
        terminal.print_stderr(f"{name}: {status} where a configuration has 'learn'")


async def _make_calls(
    gateway: Gateway, tools: dict[str, SampledTool], calls: Sequence[tuple[str, dict[str, Any]]]
) -> tuple[list[str], set[str]]:
    """Make the calls; return the problems, and the tools with an answer that is not JSON."""
    problems: list[str] = []
    not_json: set[str] = set()
    for number, (name, call_arguments) in enumerate(calls, 1):
        try:
            await tools[name].call(gateway, call_arguments)
        except (NoSample, UpstreamError) as problem:
            problems.append(f"call {number}, of {name!r}: {problem}")
            if isinstance(problem, NoJson):
                not_json.add(name)
    return problems, not_json


def _schema(tool: SampledTool) -> dict[str, Any] | None:
    """The schema suggested for a tool that declares none and has samples."""
    return output_schemas.suggested(tool.samples) if tool.samples and tool.output_schema is None else None


def _answer_count(tool: SampledTool) -> str:
    count = len(tool.samples)
    return "1 answer has" if count == 1 else f"{count} answers have"


def _show(
    found: Sequence[tuple[SampledTool, Suggestion, dict[str, Any] | None]], *, as_json: bool, with_files: bool
) -> None:
    if as_json:
        write([{**_row(tool.server, suggestion), "schema": schema} for tool, suggestion, schema in found])
        return
    console = terminal.console()
    for _, suggestion, _ in found:
        console.print(_chart(console, suggestion))
        console.print(_saving(suggestion), highlight=False)
    for _, suggestion, _ in found:
        if with_files and (content := suggestion.file()) is not None:
            write_text(pretty(content))


def _chart(console: Console, suggestion: Suggestion) -> Table:
    samples = "1 answer" if suggestion.samples == 1 else f"{suggestion.samples} answers"
    title = terminal.literal_text(f"{suggestion.tool}, {samples}, {suggestion.full:,} bytes", "bold")
    table = Table(title=title, title_justify="left")
    # A truncated path cannot be requested.
    table.add_column("field", overflow="fold")
    table.add_column("types")
    table.add_column("bytes", justify="right")
    table.add_column("share", justify="right")
    width = max(_MIN_WIDTH, min(_WIDTH, console.width - _OTHER_COLUMNS))
    table.add_column("", width=width, no_wrap=True)
    table.add_column("left out")
    leaves = sorted(suggestion.leaves, key=lambda weight: -weight.bytes)
    for weight in leaves[:MAX_CHARTED_FIELDS]:
        reason = suggestion.left_out.get(weight.path, "")
        table.add_row(
            terminal.literal_text(str(weight.path)),
            " | ".join(weight.kinds),
            f"{weight.bytes:,}",
            f"{weight.bytes / suggestion.full:.1%}",
            terminal.bar(console, width * weight.bytes / leaves[0].bytes, "red" if reason else "green"),
            reason,
        )
    if len(leaves) > MAX_CHARTED_FIELDS:
        table.caption = f"The heaviest {MAX_CHARTED_FIELDS} of {len(leaves)} fields; all with --json."
    return table


def _saving(suggestion: Suggestion) -> str:
    if not suggestion.include:
        return "There is no view to suggest: by what was seen, all fields would be kept, or none.\n"
    full, kept = suggestion.full, suggestion.kept
    return (
        f"A view of {len(suggestion.include)} of {len(suggestion.leaves)} fields: {full:,} → {kept:,} bytes, "
        f"{terminal.tokens(full):,} → {terminal.tokens(kept):,} tokens (est.), {suggestion.saved:.1%} saved.\n"
    )


def _row(server: str, suggestion: Suggestion) -> dict[str, Any]:
    return {
        "server": server,
        "tool": suggestion.tool,
        "samples": suggestion.samples,
        "full_bytes": suggestion.full,
        "kept_bytes": suggestion.kept,
        "fields": [
            {
                "path": str(weight.path),
                "types": list(weight.kinds),
                "bytes": weight.bytes,
                "share": round(weight.bytes / suggestion.full, 3),
                "seen": weight.seen,
                "of": weight.of,
                "nulls": weight.nulls,
                "longest": weight.longest,
                "constant": weight.is_constant,
                "left_out": suggestion.left_out.get(weight.path),
            }
            for weight in suggestion.weights
        ],
        "file": suggestion.file(),
    }


@dataclass(frozen=True, slots=True)
class _Files:
    views: Path
    schema: Path

    @classmethod
    def of(cls, folder: Path, tool: SampledTool) -> _Files:
        """The files of a tool; it is an error if one exists."""
        found = cls(folder / views.file_name(tool.name), folder / output_schemas.file_name(tool.name))
        for file in (found.views, found.schema) if tool.output_schema is None else (found.views,):
            if file.exists():
                raise InvalidInput(f"{file} already exists, and is not overwritten: name another folder by --out")
        return found


def _files(folder: str, tools: dict[str, SampledTool]) -> dict[str, _Files]:
    """The files by tool name; it is an error if one exists, or if two tools share one."""
    files: dict[str, _Files] = {}
    for name, tool in tools.items():
        tool_files = _Files.of(Path(folder), tool)
        other = next((other for other in files if files[other].views == tool_files.views), None)
        if other is not None:
            message = (
                f"{name!r} and {other!r} would both be written to {tool_files.views}: suggest them one after the other"
            )
            raise InvalidInput(f"{message}, each with a folder of its own by --out")
        files[name] = tool_files
    return files


def _write(file: Path, content: dict[str, Any], description: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as out:
            out.write(pretty(content))
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}") from None
    terminal.print_stderr(f"{file} is written: {description}")
