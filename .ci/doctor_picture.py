#!/usr/bin/env python3
"""Draw `docs/doctor.svg`, README's first picture: `uv run python .ci/doctor_picture.py`.

`louver doctor` looks at a fresh home, in which the file of Codex has eight stock servers. The picture shows what it
prints.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.recorded_session import server_entries  # noqa: E402

PICTURE = ROOT / "docs" / "doctor.svg"
WIDTH, LINE, MARGIN, TOP = 720, 18, 20, 62
TIMEOUT_S = 120

STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #24292f; white-space: pre }
.command { font-weight: 600 } .note { fill: #57606a } .saved { fill: #1a7f37; font-weight: 600 }
.window { fill: #f6f8fa; stroke: #d0d7de } .dot { fill: #d0d7de }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #8b949e } .saved { fill: #3fb950 }
  .window { fill: #161b22; stroke: #30363d } .dot { fill: #30363d }
}"""


def printed() -> list[str]:
    """The lines of `louver doctor codex`, with `~` for the home."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        home = folder / "user"
        (home / ".codex").mkdir(parents=True)
        entries = server_entries(folder / "servers").items()
        tables = [
            f"[mcp_servers.{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in entry.items())
            for name, entry in entries
        ]
        (home / ".codex" / "config.toml").write_text("\n".join(tables))
        done = subprocess.run(
            [sys.executable, "-m", "louver", "doctor", "codex", "--yes"],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "COLUMNS": "80", "TERM": "dumb"},
            cwd=home,
            check=True,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
    return [line.rstrip() for line in done.stdout.replace(str(home), "~").splitlines()]


def picture(lines: list[str]) -> str:
    """The SVG of a terminal with these lines."""
    height = TOP + LINE * (len(lines) + 1) + MARGIN
    table_end = next(number for number, line in enumerate(lines) if line.startswith("A conversation:"))
    texts = [
        f'<text{_class(line, number >= table_end)} x="{MARGIN}" y="{TOP + LINE * (number + 1)}">{escape(line)}</text>'
        for number, line in enumerate(lines)
        if line
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
            'aria-label="louver doctor on eight stock servers">',
            f"<style>{STYLE}\n</style>",
            f'<rect class="window" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="10"/>',
            *(f'<circle class="dot" cx="{MARGIN + 18 * number}" cy="20" r="6"/>' for number in range(3)),
            f'<text class="command" x="{MARGIN}" y="{TOP - 8}">$ louver doctor codex --yes</text>',
            *texts,
            "</svg>\n",
        ]
    )


def _class(line: str, is_below_table: bool) -> str:
    if "saves" in line or line.lstrip().startswith("a conversation"):
        return ' class="saved"'
    return ' class="note"' if is_below_table and not line.startswith("  louver") else ""


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_toml(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


if __name__ == "__main__":
    PICTURE.write_text(picture(printed()), "utf-8")
