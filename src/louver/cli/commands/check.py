"""`louver check`: whether a configuration can be served, without serving it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.catalogue.files.folder import read_json
from louver.catalogue.files.views import SUFFIX
from louver.cli import signals, terminal, upstreams
from louver.core.json import members
from louver.errors import InvalidView

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path


def run(arguments: Namespace) -> int:
    """Print the servers and the problems found; return 1 if there are problems."""
    return signals.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    config = upstreams.read(arguments)
    if config.auth is not None:
        # Imported here: without tokens no cryptography is needed.
        from louver.gateway.auth.authenticated import build_verifier

        build_verifier(config.auth)
    async with upstreams.open_gateway(config) as (gateway, states):
        problems = [problem for state in states for problem in gateway.problems_of(state)]
    problems += [
        f"{each.name}: 'views': {problem}" for each in config.upstreams for problem in _folder_problems(each.views)
    ]
    terminal.console().print(upstreams.table(states))
    for problem in problems:
        terminal.print_stderr(problem)
    return 1 if problems or any(state.problem is not None for state in states) else 0


def _folder_problems(folder: Path | None) -> list[str]:
    """The problems of a folder of views: it has no file of views, or has views in a file with another suffix."""
    if folder is None:
        return []
    is_read_by_name = {path.name: path.name.endswith(SUFFIX) for path in sorted(folder.glob("*.json"))}
    misnamed = [name for name, is_read in is_read_by_name.items() if not is_read and _has_views(folder / name)]
    if not misnamed and not any(is_read_by_name.values()):
        return [f"the folder has no file <tool>{SUFFIX}"]
    return [f"{name!r} is not read: a file of views is called <tool>{SUFFIX}" for name in misnamed]


def _has_views(file: Path) -> bool:
    try:
        content, _ = read_json(file, "views", InvalidView)
    except InvalidView:
        return False
    return "views" in members(content)
