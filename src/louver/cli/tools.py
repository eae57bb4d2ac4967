"""`louver tools`: the tools of servers, and what each costs to list."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from rich.table import Table

from louver.cli import terminal, upstreams
from louver.cli.request import write
from louver.core.json import compact
from louver.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from louver.gateway.gateway import Gateway, State


def run(arguments: Namespace) -> int:
    """Print the catalogue; 1 if a server is not there.

    Raises:
        LouverError: The configuration cannot be used, or has no such server.
    """
    return asyncio.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    config = upstreams.read(arguments)
    names = [each.name for each in config.upstreams]
    if arguments.upstream is not None and arguments.upstream not in names:
        raise InvalidInput(f"there is no server {arguments.upstream!r}: there are {', '.join(map(repr, names))}")
    async with upstreams.opened(config) as (gateway, states):
        chosen = [state for state in states if arguments.upstream in (None, state.name)]
        rows = [_row(gateway, state, tool) for state in chosen for tool in state.tools]
    if arguments.json:
        write(rows)
    else:
        _show(chosen, rows)
    return 1 if any(state.problem is not None for state in chosen) else 0


def _row(gateway: Gateway, state: State, tool: dict[str, Any]) -> dict[str, Any]:
    size = len(compact(tool).encode("utf-8", "backslashreplace"))
    return {
        "server": state.name,
        "tool": tool["name"],
        "bytes": size,
        "tokens": terminal.tokens(size),
        "projectable": "outputSchema" in tool,
        "views": gateway.views_of(state.name, tool),
    }


def _show(states: Sequence[State], rows: Sequence[dict[str, Any]]) -> None:
    console = terminal.console()
    console.print(upstreams.table(states))
    if not rows:
        return
    tools = Table("server")
    # A name that is cut off cannot be called.
    tools.add_column("tool", overflow="fold")
    for heading in ("bytes", "tokens"):
        tools.add_column(heading, justify="right")
    for heading in ("projectable", "views"):
        tools.add_column(heading)
    for row in rows:
        projectable = "yes" if row["projectable"] else "as JSON text"
        counts = (str(row["bytes"]), str(row["tokens"]))
        tools.add_row(row["server"], row["tool"], *counts, projectable, ", ".join(row["views"]))
    console.print(tools)
    console.print(f"Tokens are an estimate: bytes / {terminal.CHARACTERS_A_TOKEN}.")
