"""The bar chart that `louver suggest` prints: the size of each field, largest first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from louver.cli import terminal
from louver.limits import MAX_CHARTED_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from louver.catalogue.suggest_view import Suggestion

_WIDTH = 24  # columns of the longest bar
_MIN_WIDTH = 8  # the same in a narrow terminal
_OTHER_COLUMNS = 70  # what the rest of the table takes, with paths of a usual length


def show(suggestions: Iterable[Suggestion]) -> None:
    """Print a chart for each suggestion, and what its view would save."""
    console = terminal.console()
    for suggestion in suggestions:
        console.print(_chart(console, suggestion))
        console.print(_saving(suggestion), highlight=False)


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
            bar(console, width * weight.bytes / leaves[0].bytes, "red" if reason else "green"),
            reason,
        )
    if len(leaves) > MAX_CHARTED_FIELDS:
        table.caption = f"The heaviest {MAX_CHARTED_FIELDS} of {len(leaves)} fields; all with --json."
    return table


def bar(console: Console, columns: float, style: str = "green") -> Text:
    """A bar of about so many columns, and at least one."""
    return Text(("#" if console.options.ascii_only else "█") * max(1, round(columns)), style=style)


def _saving(suggestion: Suggestion) -> str:
    if not suggestion.include:
        return "There is no view to suggest: by what was seen, all fields would be kept, or none.\n"
    full, kept = suggestion.full, suggestion.kept
    return (
        f"A view of {len(suggestion.include)} of {len(suggestion.leaves)} fields: {full:,} → {kept:,} bytes, "
        f"{terminal.tokens(full):,} → {terminal.tokens(kept):,} tokens (est.), {suggestion.saved:.1%} saved.\n"
    )
