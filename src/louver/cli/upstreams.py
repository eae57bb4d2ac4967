"""A gateway opened for one command, and reports on the state of its servers."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from louver.cli import logs, terminal
from louver.cli.process import LOGINS, state
from louver.core.nearest import instead, nearest
from louver.errors import UnknownName
from louver.gateway.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from rich.table import Table

    from louver.gateway.config.model import Config
    from louver.gateway.gateway import UpstreamState


@asynccontextmanager
async def open_gateway(
    config: Config,
    opener: Callable[[Gateway], Awaitable[list[UpstreamState]]] = Gateway.open,
    catalogues: Path | None = None,  # where lists are kept for the next start of `louver serve`; `None`: nowhere
    stderr_tail: logs.StderrTail | None = None,
    log_level: int = logging.WARNING,
) -> AsyncGenerator[tuple[Gateway, list[UpstreamState]]]:
    """A gateway without clients, and its upstreams' states; at the end, last lines of unavailable ones are printed."""
    logs.configure("plain", log_level)
    stderr_tail = stderr_tail or logs.StderrTail()
    logging.getLogger().addHandler(stderr_tail)
    gateway = Gateway(config, single_client=False, catalogues=catalogues, logins=state(LOGINS))
    try:
        states = await opener(gateway)
        yield gateway, states
    finally:
        await gateway.close()
    for each in states:
        for line in stderr_tail.lines_of(each.name) if each.problem is not None else ():
            terminal.print_stderr(f"{each.name}: {line}")


def unknown_tool_error(name: str, tools: Iterable[str]) -> UnknownName:
    """The error for an unknown tool name, with a suggestion."""
    names = list(tools)
    return UnknownName(f"there is no tool {name[:80]!r}: {instead(name, names)}", nearest=nearest(name, names))


def table(states: Sequence[UpstreamState]) -> Table:
    # Imported here: the long-running gateway reports in plain lines.
    from rich.table import Table

    heading, *rows = _rows(states)
    found = Table()
    for name in heading:
        found.add_column(name, justify="right" if name in _COUNTS else "left")
    for row in rows:
        found.add_row(*map(terminal.literal_text, row))
    return found


def lines(states: Sequence[UpstreamState]) -> str:
    """The same table as plain text."""
    rows = _rows(states)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "".join("  ".join(map(str.ljust, row, widths)).rstrip() + "\n" for row in rows)


def sentences(states: Sequence[UpstreamState]) -> list[str]:
    """The same as one sentence per upstream, for JSON logs."""
    heading, *rows = _rows(states)
    labelled_cells = (zip(heading[1:], row[1:], strict=True) for row in rows)
    return [
        f"server {state.name!r}: {', '.join(f'{name} {cell}' for name, cell in cells if cell)}"
        for state, cells in zip(states, labelled_cells, strict=True)
    ]


_COUNTS: Final = ("tools", "projectable")


def _rows(states: Sequence[UpstreamState]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("server", "transport", "protocol", *_COUNTS, "state")]
    for each in states:
        counts = (str(len(each.tools)), str(each.projectable)) if each.problem is None else ("", "")
        rows.append((each.name, each.transport, each.version or "", *counts, each.problem or "ready"))
    return rows
