"""Charts: the figures of one scenario as horizontal bars, in one small SVG.

`svg` draws ratios and times on a logarithmic scale, a bar a candidate. A ratio's bar starts at the
baseline: to the left is less, to the right more. The thin line through a bar's end goes from the smallest
to the largest figure of all payloads and sizes. `stacked` draws parts that add up, `curves` what changes over
time. Text is in the reader's font, colours follow the reader's light or dark mode.
"""

from __future__ import annotations

from itertools import groupby
from math import ceil, floor, log10
from statistics import geometric_mean
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import escape

from benchmarks import figures
from benchmarks.results import TWIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from benchmarks.results import Group

WIDTH, LEFT, RIGHT, TOP, LINE = 800, 250, 90, 72, 20
STACKED_LEFT, STACKED_RIGHT = 160, 110
PANEL = 80

_STYLE = """
svg{background:#fff;font:13px system-ui,sans-serif}text{fill:#1f2328}.t{font-size:16px;font-weight:600}
.c{font-weight:600}.n,.u{fill:#59636e}.g{stroke:#d1d9e0}.b{fill:#9aa5b1}.l{fill:#0969da}.w{stroke:#1f2328}
.z{stroke:#cf222e;stroke-width:1.5}
@media(prefers-color-scheme:dark){svg{background:#0d1117}text{fill:#e6edf3}.n,.u{fill:#9198a1}.g{stroke:#30363d}
.b{fill:#57606a}.l{fill:#4493f8}.w{stroke:#e6edf3}.z{stroke:#f85149}}
"""
_PARTS = """.p0{fill:#0969da}.p1{fill:#54aeff}.p2{fill:#8c959f}.p3{fill:#d0d7de}
@media(prefers-color-scheme:dark){.p0{fill:#4493f8}.p1{fill:#1f4f8f}.p2{fill:#9198a1}.p3{fill:#3d444d}}
"""
_CURVES = """.k{fill:none;stroke:#0969da;stroke-width:2}
@media(prefers-color-scheme:dark){.k{stroke:#4493f8}}
"""


class Bar(NamedTuple):
    """One bar: whose, and the geometric mean, smallest and largest of its figures."""

    case: str
    name: str
    value: float
    low: float
    high: float


def svg(scenario: str, groups: Sequence[Group]) -> str:
    """The chart of the groups that have the unit of the first."""
    unit = groups[0].unit
    compared = groups[0].baseline is not None
    bars = list(_bars([group for group in groups if group.unit == unit], compared))
    scale = _Scale(bars, compared)
    lines = list(_lines(bars, scale, unit, compared))
    height = TOP + LINE * (len(bars) + len({bar.case for bar in bars})) + LINE
    told = "times the baseline of its case (1x, the red line)" if compared else {"s": "time"}.get(unit, unit)
    subtitle = f'<text class="u" x="16" y="46">{told}, logarithmic; thin line: from smallest to largest</text>'
    return _page(scenario, _STYLE, height, [subtitle, *scale.grid(height, unit), *lines])


def stacked(title: str, panels: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """A chart of sums: heading -> candidate -> part -> figure, with at most four parts, against the first candidate."""
    longest = max(sum(parts.values()) for bars in panels.values() for parts in bars.values())
    scale = (WIDTH - STACKED_LEFT - STACKED_RIGHT) / longest
    lines, y = list(_legend(next(iter(next(iter(panels.values())).values())))), TOP - LINE // 2
    for heading, bars in panels.items():
        lines.append(f'<text class="c" x="16" y="{y + 14}">{escape(heading)}</text>')
        baseline = sum(next(iter(bars.values())).values())
        for name, parts in bars.items():
            y += LINE
            lines.append(f'<text class="n" x="28" y="{y + 14}">{escape(name)}</text>')
            x = float(STACKED_LEFT)
            for kind, value in enumerate(parts.values()):
                width = value * scale
                lines.append(f'<rect class="p{kind}" x="{x:.1f}" y="{y + 4}" width="{width:.1f}" height="12"/>')
                x += width
            total = sum(parts.values())
            lines.append(f'<text x="{x + 6:.1f}" y="{y + 14}">{total:,.0f}, {figures.ratio(total / baseline)}</text>')
        y += LINE + LINE // 2
    return _page(title, _STYLE + _PARTS, y, lines)


def curves(title: str, panels: Mapping[str, tuple[str, Sequence[float]]]) -> str:
    """A curve a panel, from 0, over the same time: heading -> unit, and figures at equal distances."""
    lines: list[str] = []
    for number, (heading, (unit, values)) in enumerate(panels.items()):
        top = TOP - LINE + number * (PANEL + 2 * LINE)
        step, scale = (WIDTH - LEFT - RIGHT) / len(values), PANEL / (max(values) or 1)
        places = [(LEFT + step * (at + 1), top + PANEL - value * scale) for at, value in enumerate(values)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        lines += [
            f'<text class="c" x="16" y="{top + 14}">{escape(heading)}</text>',
            f'<text class="n" x="28" y="{top + 14 + LINE}">at most {figures.figure(max(values), unit)}</text>',
            f'<line class="g" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{top + PANEL}" y2="{top + PANEL}"/>',
            f'<polyline class="k" points="{points}"/>',
            f'<text x="{places[-1][0] + 6:.1f}" y="{places[-1][1] + 4:.1f}">{figures.figure(values[-1], unit)}</text>',
        ]
    return _page(title, _STYLE + _CURVES, TOP + len(panels) * (PANEL + 2 * LINE) - LINE, lines)


def _legend(parts: Iterable[str]) -> Iterator[str]:
    for kind, part in enumerate(parts):
        x = 16 + kind * 120
        yield f'<rect class="p{kind}" x="{x}" y="36" width="12" height="12" rx="2"/>'
        yield f'<text class="u" x="{x + 18}" y="46">{escape(part)}</text>'


def _page(title: str, style: str, height: int, lines: Iterable[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"<title>{escape(title)}</title><style>{style}</style>",
            f'<text class="t" x="16" y="26">{escape(title)}</text>',
            *lines,
            "</svg>\n",
        ]
    )


def _bars(groups: Sequence[Group], compared: bool) -> Iterator[Bar]:
    """A bar a case and candidate; where nothing is compared, one a payload too."""
    found: dict[tuple[str, str], list[float]] = {}
    for group in groups:
        base = group.median(group.baseline) if group.baseline is not None else None
        for row in group.rows:
            if row.name != group.baseline and not row.name.endswith(TWIN):
                name = row.name if compared else _label(group, row.name)
                values = [row.median / base] if base else [row.low, row.median, row.high]
                case = f"{group.case}, against {group.baseline}" if compared else group.case
                found.setdefault((case, name), []).extend(values)
    for (case, name), values in found.items():
        middle = geometric_mean(values) if compared else values[1]
        yield Bar(case, name, middle, min(values), max(values))


def _label(group: Group, name: str) -> str:
    return f"{group.payload}, {name}" if len(group.rows) > 1 else group.payload


class _Scale:
    """From figures to places on the page."""

    def __init__(self, bars: Iterable[Bar], compared: bool) -> None:
        ends = [end for bar in bars for end in (bar.low, bar.high)] + [1.0] * compared
        self.low, self.high = floor(log10(min(ends))), max(ceil(log10(max(ends))), floor(log10(min(ends))) + 1)
        self.zero = self.x(1.0) if compared else None

    def x(self, value: float) -> float:
        """Where a figure stands."""
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def grid(self, height: int, unit: str) -> Iterator[str]:
        """A line a power of ten, and what it stands for."""
        for power in range(self.low, self.high + 1):
            x = self.x(10.0**power)
            kind = "z" if x == self.zero else "g"
            told = f"{10.0**power:g}x" if self.zero is not None else figures.figure(10.0**power, unit)
            yield f'<text class="u" x="{x}" y="{TOP - 2}" text-anchor="middle">{told}</text>'
            yield f'<line class="{kind}" x1="{x}" x2="{x}" y1="{TOP + 4}" y2="{height - 8}"/>'


def _lines(bars: list[Bar], scale: _Scale, unit: str, compared: bool) -> Iterator[str]:
    y = TOP
    for case, of_case in groupby(bars, key=lambda bar: bar.case):
        yield f'<text class="c" x="16" y="{y + 14}">{escape(case)}</text>'
        y += LINE
        for bar in of_case:
            told = figures.ratio(bar.value) if compared else figures.figure(bar.value, unit)
            yield from _bar(bar, y, scale, told)
            y += LINE


def _bar(bar: Bar, y: int, scale: _Scale, told: str) -> Iterator[str]:
    start, end = scale.zero if scale.zero is not None else LEFT, scale.x(bar.value)
    low, high = scale.x(bar.low), scale.x(bar.high)
    kind = "l" if bar.name == "louver" else "b"
    width = max(1, round(abs(end - start), 1))
    yield f'<text class="n" x="28" y="{y + 14}">{escape(bar.name)}</text>'
    yield f'<rect class="{kind}" x="{min(start, end)}" y="{y + 4}" width="{width}" height="12" rx="2"/>'
    yield f'<line class="w" x1="{low}" x2="{high}" y1="{y + 10}" y2="{y + 10}"/>'
    yield f'<text x="{max(high, start) + 6}" y="{y + 14}">{told}</text>'
