"""The servers that a command is about: by a command, a URL, or a file; and a table of them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from louver.gateway.config import Config
from louver.gateway.config_read import read_config
from louver.gateway.gateway import Gateway

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator, Sequence

    from louver.gateway.gateway import State


def read(arguments: Namespace) -> Config:
    """The configuration that the options name.

    Raises:
        InvalidConfig: It cannot be used.
    """
    if arguments.config is not None:
        return read_config(Path(arguments.config))
    return Config.of_url(arguments.url) if arguments.url is not None else Config.of_command(arguments.command_line)


@asynccontextmanager
async def opened(config: Config) -> AsyncGenerator[tuple[Gateway, list[State]]]:
    """A gateway that serves nobody, and what stands behind it."""
    gateway = Gateway(config, serves_one=False)
    try:
        yield gateway, await gateway.open()
    finally:
        await gateway.close()


def table(states: Sequence[State]) -> Table:
    """The upstreams, a row each."""
    found = Table("server", "transport", "protocol")
    for heading in ("tools", "projectable"):
        found.add_column(heading, justify="right")
    found.add_column("state")
    for state in states:
        projectable = sum("outputSchema" in tool for tool in state.tools)
        counts = (str(len(state.tools)), str(projectable)) if state.problem is None else ("", "")
        found.add_row(state.name, state.transport, state.version or "", *counts, state.problem or "ready")
    return found
