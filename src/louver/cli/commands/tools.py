"""`louver tools`: the tools of servers and the size of each in a list; with `--query`, the ranked matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table

from louver.catalogue.search.meaning_extra import word_vectors
from louver.catalogue.search.ranking import Ranking, alone
from louver.cli import process, servers, terminal, upstreams
from louver.cli.json_streams import write
from louver.cli.process import SAVINGS, state
from louver.core.json import compact
from louver.gateway.routing.aggregate import SEPARATOR, split_name
from louver.limits import CHARACTERS_A_TOKEN, MATCHES_A_PAGE
from louver.wire.names import QUERY
from louver.wire.requests import queried

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from louver.gateway.config.model import Config
    from louver.gateway.gateway import Gateway, UpstreamState


def run(arguments: Namespace) -> int:
    """Print the tools, or the matches of a query; return 1 if a server is unavailable."""
    return process.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    query = None if arguments.query is None else queried({QUERY: arguments.query})
    config = servers.read(arguments)
    async with upstreams.open_gateway(config) as (gateway, states):
        rows = [_row(gateway, each, tool) for each in states for tool in each.tools]
    if config.exposure == "deferred":
        _add_listing(config, rows)
    if query is not None:
        rows = _ranked(query, config.meaning, gateway, states, rows)
    if arguments.json:
        write(rows)
    else:
        _show(states, rows)
    return 1 if any(each.problem is not None for each in states) else 0


def _row(gateway: Gateway, of: UpstreamState, tool: dict[str, Any]) -> dict[str, Any]:
    size = len(compact(tool).encode("utf-8", "backslashreplace"))
    return {
        "server": of.name,
        "tool": tool["name"],
        "bytes": size,
        "tokens": terminal.tokens(size),
        "projectable": gateway.output_schema(of.name, tool) is not None,
        "views": gateway.views_of(of.name, tool),
    }


def _add_listing(config: Config, rows: Sequence[dict[str, Any]]) -> None:
    """Add to each row whether the tool is listed, and why."""
    # Lazy import: only this exposure needs it.
    from louver.gateway.builtin.deferred import choose_pinned, choose_used
    from louver.steps.savings.tool_use import read_use

    names = {_name(config, row): (row["server"], row["tool"]) for row in rows}
    if config.pinned is not None:
        listed, reason = choose_pinned(config.pinned, [*names]), "pinned"
    else:
        file = state(SAVINGS) if config.savings is None else config.savings or None
        servers = {row["server"] for row in rows}
        listed = {*names} if file is None else choose_used(read_use(file), names.__getitem__, lambda: servers, [*names])
        reason = "in use" if len(listed) < len(names) else "listed"
    for row in rows:
        row["listing"] = reason if _name(config, row) in listed else "deferred"


def _name(config: Config, row: dict[str, Any]) -> str:
    """A tool's name as clients have it."""
    return row["tool"] if len(config.upstreams) == 1 else f"{row['server']}{SEPARATOR}{row['tool']}"


def _ranked(
    query: str, meaning: Path | None, gateway: Gateway, states: Sequence[UpstreamState], rows: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows of matching tools, best first, with their scores."""
    listed = [(each.name, tool) for each in states for tool in each.tools]
    tools = [{**tool, "name": f"{server}{SEPARATOR}{tool['name']}"} for server, tool in listed]
    terms = {
        named["name"]: gateway.search_terms_of(server, tool)
        for named, (server, tool) in zip(tools, listed, strict=True)
    }
    row_by_name = {tool["name"]: row for tool, row in zip(tools, rows, strict=True)}
    ranking = Ranking(
        tools, split_name if len(states) > 1 else _split_single, search_terms=terms, vectors=word_vectors(meaning)
    )
    matches = ranking.search_needs(ranking.needs_of(query))
    return [{**row_by_name[match.tool["name"]], "score": match.score} for match in matches]


def _split_single(name: str) -> tuple[str, str]:
    return alone(split_name(name)[1])


def _show(states: Sequence[UpstreamState], rows: Sequence[dict[str, Any]]) -> None:
    console = terminal.console()
    console.print(upstreams.table(states))
    if not rows:
        return
    is_ranked = "score" in rows[0]
    displayed = rows[:MATCHES_A_PAGE] if is_ranked else rows
    console.print(_table(displayed, is_ranked=is_ranked, width=console.width))
    if len(displayed) < len(rows):
        console.print(f"The best {len(displayed)} of {len(rows)}; all with --json.")
    console.print(f"Tokens are an estimate: bytes / {CHARACTERS_A_TOKEN}.")


def _table(rows: Sequence[dict[str, Any]], *, is_ranked: bool, width: int) -> Table:
    tools = Table("server")
    # A truncated name cannot be called, and a folded one not copied: the views wrap first.
    fits = max(len(row["tool"]) for row in rows) <= width // 3
    tools.add_column("tool", overflow="fold", no_wrap=fits)
    for heading in ("score", "bytes", "tokens") if is_ranked else ("bytes", "tokens"):
        tools.add_column(heading, justify="right")
    has_listing = "listing" in rows[0]
    for heading in ("listing", "projectable", "views") if has_listing else ("projectable", "views"):
        tools.add_column(heading)
    for row in rows:
        score = [f"{row['score']:.3g}"] if is_ranked else []
        projectable = "yes" if row["projectable"] else "as JSON text"
        counts = (str(row["bytes"]), str(row["tokens"]))
        listing = [row["listing"]] if has_listing else []
        cells = (row["server"], row["tool"], *score, *counts, *listing, projectable, ", ".join(row["views"]))
        tools.add_row(*map(terminal.literal_text, cells))
    return tools
