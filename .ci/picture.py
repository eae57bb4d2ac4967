#!/usr/bin/env python3
"""Draw `docs/projection.svg`, README's picture: `uv run python .ci/picture.py`.

A stock client calls the example server, whole and with a projection. The picture shows what came back.
"""

from __future__ import annotations

import asyncio
import json
import textwrap
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from mcp import Client

import louver
from louver.example import build_server
from louver.limits import CHARACTERS_A_TOKEN

PICTURE = Path(__file__).parents[1] / "docs" / "projection.svg"
ARGUMENTS = {"user_id": 42}
FIELDS = ["name", "status"]

WIDTH, HEIGHT, MARGIN, LINE = 880, 300, 16, 16
COLUMNS, ROWS = 50, 12  # of the panel with the whole answer

STYLE = """
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #57606a; white-space: pre }
.title, .said { font: 600 14px system-ui, sans-serif; fill: #24292f } .said { font-size: 13px }
.kept { fill: #0a3069; font-weight: 600 }
.cost { font: 600 14px system-ui, sans-serif; fill: #cf222e } .saved { fill: #1a7f37 }
.panel { fill: #f6f8fa; stroke: #d0d7de }
@media (prefers-color-scheme: dark) {
  text { fill: #8b949e } .title, .said { fill: #e6edf3 } .kept { fill: #79c0ff }
  .cost { fill: #ff7b72 } .saved { fill: #3fb950 } .panel { fill: #161b22; stroke: #30363d }
}"""


async def outputs() -> tuple[str, str, dict[str, Any]]:
    """The whole output, the projected one, and the schema that the receipt holds."""
    server = build_server()
    louver.attach(server)
    async with Client(server) as client:
        whole = await client.call_tool("get_user_profile", ARGUMENTS)
        projection = {"projection": {"mode": "include", "fields": FIELDS}}
        projected = await client.call_tool("get_user_profile", ARGUMENTS, meta=projection)
    return (
        _compact(whole.structured_content),
        _compact(projected.structured_content),
        (projected.meta or {})["projection"]["projectedSchema"],
    )


def picture(whole: str, projected: str, schema: dict[str, Any]) -> str:
    """The SVG of two panels: the whole output with the wanted members marked, and the projected one."""
    half = (WIDTH - 3 * MARGIN) // 2
    right = 2 * MARGIN + half
    lines = [whole[start : start + COLUMNS] for start in range(0, len(whole), COLUMNS)]
    left_out = len(whole) - COLUMNS * (ROWS - 1)
    marked = projected[1:-1]
    shown = [_marked(line, marked) for line in lines[: ROWS - 1]] + [escape(f"… {left_out:,} more characters")]
    properties = [f'  "{name}": {_compact(each)},' for name, each in schema["properties"].items()]
    rest = [f'"{name}": {_compact(each)}' for name, each in schema.items() if name not in ("type", "properties")]
    derived = ['{"type": "object", "properties": {', *properties, "}, " + ", ".join(rest) + "}"]
    wrapped = [line for each in derived for line in textwrap.wrap(each, COLUMNS, subsequent_indent="   ")]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            'aria-label="One tool call, whole and with two fields">',
            f"<style>{STYLE}\n</style>",
            *_panel(MARGIN, half, "Without Louver", whole, "cost"),
            *_text(MARGIN + 12, 68, ["get_user_profile {user_id: 42}"], "said"),
            *_text(MARGIN + 12, 92, shown),
            *_panel(right, half, "With Louver", projected, "cost saved"),
            *_text(right + 12, 68, [escape(_request())], "said"),
            *_text(right + 12, 92, [escape(projected)], "kept"),
            *_text(right + 12, 130, ["and the JSON Schema that this answer satisfies:"], "said"),
            *_text(right + 12, 154, [escape(line) for line in wrapped]),
            "</svg>\n",
        ]
    )


def _request() -> str:
    return f"the same, with output_fields: {json.dumps(FIELDS)}"


def _panel(x: int, width: int, title: str, output: str, classes: str) -> list[str]:
    tokens = round(len(output) / CHARACTERS_A_TOKEN)
    return [
        f'<text class="title" x="{x}" y="30">{title}</text>',
        f'<text class="{classes}" x="{x + width}" y="30" text-anchor="end">'
        f"{len(output):,} characters, about {tokens:,} tokens</text>",
        f'<rect class="panel" x="{x}" y="44" width="{width}" height="{HEIGHT - 60}" rx="8"/>',
    ]


def _text(x: int, y: int, lines: list[str], classes: str = "") -> list[str]:
    chosen = f' class="{classes}"' if classes else ""
    return [f'<text{chosen} x="{x}" y="{y + LINE * row}">{line}</text>' for row, line in enumerate(lines)]


def _marked(line: str, members: str) -> str:
    """The line as SVG; the members are marked where they stand in one line."""
    for member in members.split(","):
        if member in line:
            before, after = line.split(member, 1)
            return f'{_marked(before, members)}<tspan class="kept">{escape(member)}</tspan>{_marked(after, members)}'
    return escape(line)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    PICTURE.write_text(picture(*asyncio.run(outputs())), "utf-8")
