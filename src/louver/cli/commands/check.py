"""`louver check`: whether a configuration can be served, without serving it; or what a policy shows to a caller."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from louver.catalogue.files.folder import read_json
from louver.catalogue.files.line_numbers import last_line
from louver.catalogue.files.views import SUFFIX
from louver.cli import process, servers, terminal, upstreams
from louver.core.json import members
from louver.errors import InvalidInput, InvalidPolicy, InvalidView

if TYPE_CHECKING:
    from argparse import Namespace
    from pathlib import Path

    from louver.policy.policy import Policy

_ADVICE: Final = 'to show them fields, add a last rule here: {"name": "others", "allow": ["FIELD"]}'


def run(arguments: Namespace) -> int:
    """Print the servers, the problems found, and notes about policies; return 1 if there are problems.

    With a caller and a tool print what the caller sees of it.
    """
    if arguments.who is not None and arguments.tool is not None:
        # Imported here: most checks are of servers alone.
        from louver.cli.visible_fields import show

        return show(arguments)
    about_caller = {f"--{name}": getattr(arguments, name) for name in ("tool", "against", "policy", "schema", "json")}
    if arguments.who is not None or any(about_caller.values()):
        given = "--as" if arguments.who is not None else next(name for name, value in about_caller.items() if value)
        raise InvalidInput(f"{given} is of what a caller sees, which takes --as WHO and --tool TOOL")
    return process.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    config = servers.read(arguments)
    if config.auth is not None:
        # Imported here: without tokens no cryptography is needed.
        from louver.gateway.front.auth.authenticated import build_verifier

        build_verifier(config.auth)
    async with upstreams.open_gateway(config) as (gateway, states):
        problems = [problem for state in states for problem in gateway.problems_of(state)]
        logins = {each.name: await gateway.login(each.name) for each in config.upstreams}
    problems += [
        f"{each.name}: 'views': {problem}" for each in config.upstreams for problem in _folder_problems(each.views)
    ]
    terminal.console().print(upstreams.table(states))
    for name, login in logins.items():
        if login is not None:
            print(f"{name}: logged in {login.described}")
    for line in [*problems, *(note for each in config.upstreams for note in _policy_notes(each.policy))]:
        terminal.print_stderr(line)
    return 1 if problems or any(state.problem is not None for state in states) else 0


def _policy_notes(policy: Policy | None) -> list[str]:
    """A note for each tool whose rules are all for some callers, which hides it from the others."""
    if policy is None or policy.file is None:
        return []
    _, text = read_json(policy.file, "policy", InvalidPolicy)
    notes: list[str] = []
    for name, tool in policy.tools.items():
        if not tool.is_for_everybody:
            line = last_line(text, ("tools", name, "rules", len(tool.rules) - 1))
            notes.append(
                f"{policy.file}:{line}: note: tool {name!r} is hidden from callers who meet no rule; {_ADVICE}"
            )
    return notes


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
