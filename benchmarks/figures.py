"""Figures as people read them.

figure(1.234e-05, "s")    "12.3 µs"
figure(0.111, "share")    "11 %"
figure(0.3895, "score")   "0.390"
ratio(1.234)              "1.23x"
size(100_000)             "100 kB"
"""

from __future__ import annotations

_TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((1_000_000, "MB"), (1_000, "kB"), (1, "B"))


def figure(value: float, unit: str) -> str:
    """A value with its unit: `s`, `share`, `score`, `MB`, `tokens`, or what is counted."""
    if unit == "share":
        return f"{value:.0%}".replace("%", " %")
    if unit == "score":
        return f"{value:.3f}"
    if unit == "s":
        step, unit = next((known for known in _TIMES if value >= known[0]), _TIMES[-1])
        value /= step
    return f"{_three(value)} {unit}"


def ratio(value: float) -> str:
    """How many times another."""
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}x"


def size(count: int) -> str:
    """A number of bytes; nothing for 0."""
    step, unit = next((known for known in _SIZES if count >= known[0]), _SIZES[-1])
    return f"{_three(count / step)} {unit}" if count else ""


def _three(value: float) -> str:
    """At least three digits that count, without zeros at the end."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
