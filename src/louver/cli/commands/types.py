"""`louver types`: typed stubs of the tools that a caller has, for hosts whose models write code.

What the caller may not see is not in them, so a type checker finds code that uses it.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from louver.catalogue.files.open_regular import regular
from louver.cli import process, servers, terminal, upstreams
from louver.cli.stubs.functions import StubbedTool, functions, identifier, learnt_schema, one_line, unique
from louver.cli.stubs.languages import LANGUAGES
from louver.core.paths.path import FieldPath
from louver.errors import InvalidInput
from louver.policy.principal import NOBODY, read_principal
from louver.wire.jsonrpc.errors import JsonRpcError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping

    from louver.gateway.gateway import Gateway, UpstreamState
    from louver.policy.principal import Principal

_MARK: Final = "Written by 'louver types', which replaces this file."
_LEARNT: Final = "Its result is learnt from answers: where it is an object, it may be an array of them."


def run(arguments: Namespace) -> int:
    """Write the stubs; return 1 if a server is unavailable, which gets none."""
    return process.run(_run(arguments))


async def _run(arguments: Namespace) -> int:
    principal = None if arguments.who is None else read_principal("--as", arguments.who)
    config, taken, out = servers.read(arguments), set[str](), Path(arguments.out)
    stems = {each.name: unique(identifier(each.name, "server").lower(), taken) for each in config.upstreams}
    for stem, suffix in product(stems.values(), LANGUAGES):
        _check_is_ours(out / f"{stem}{suffix}")
    texts: dict[Path, str] = {}
    async with upstreams.open_gateway(config) as (gateway, states):
        for state in states:
            if state.problem is not None:
                terminal.print_stderr(f"server {state.name!r} is not there: {state.problem}")
                continue
            found = functions(await _tools(gateway, state, principal or config.principal or NOBODY))
            about = one_line(f"Server {state.name!r}, for {arguments.who or 'the default caller'}.")
            for suffix, (mark, parts) in LANGUAGES.items():
                head = f"{mark} {_MARK}\n{mark} {about}\n"
                texts[out / f"{stems[state.name]}{suffix}"] = "\n".join([head, *parts(found)])
    _write(out, texts)
    return 1 if any(state.problem is not None for state in states) else 0


async def _tools(gateway: Gateway, state: UpstreamState, principal: Principal) -> list[StubbedTool]:
    try:
        # A server without tools may have no list.
        listed = await gateway.tools_for(state.name, principal) if state.own_tools else []
    except JsonRpcError as error:
        raise InvalidInput(f"server {state.name!r}: 'tools/list' fails with {error.code}") from None
    return [_tool(gateway, state.name, each) for each in listed]


def _tool(gateway: Gateway, server: str, listed: dict[str, Any]) -> StubbedTool:
    """A listed tool with its output schema, as far as one is known."""
    if (schema := gateway.output_schema(server, listed)) is not None:
        return StubbedTool(listed, schema, "" if "outputSchema" in listed else "Its result is declared in a file.")
    fields = [FieldPath.parse(path).steps for path in gateway.learnt_fields(server, listed)]
    return StubbedTool(listed, learnt_schema(fields), _LEARNT) if fields else StubbedTool(listed, None)


def _check_is_ours(file: Path) -> None:
    """Refuse to replace a file that something else wrote."""
    try:
        with open(file, encoding="utf-8", errors="replace", opener=regular) as opened:
            is_ours = _MARK in opened.readline(2 * len(_MARK))
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InvalidInput(f"{file} cannot be replaced: {error.strerror}") from None
    if not is_ours:
        raise InvalidInput(f"{file} is not of 'louver types', and is not replaced: name another folder by --out")


def _write(folder: Path, texts: Mapping[Path, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in texts.items():
            part = file.with_name(f"{file.name}.part")
            part.write_text(text, "utf-8")
            part.replace(file)
            terminal.print_stderr(f"{file} is written")
    except OSError as error:
        raise InvalidInput(f"{error.filename} cannot be written: {error.strerror}") from None
