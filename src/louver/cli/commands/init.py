"""`louver init`: write a configuration with the servers of an MCP host, and print the entry that replaces them there.

The host's file is only read. Only the owner can read the new file, since it holds the same secrets.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.cli import terminal
from louver.cli.host_import import Found
from louver.cli.hosts import KEYS, NAMES, Machine, sources, sources_of, variable
from louver.cli.request import write_text
from louver.core.json import levels, strings
from louver.errors import InvalidConfig, InvalidInput
from louver.gateway.config.env import variables

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    host, out = arguments.host, Path(arguments.out)
    found, others = _found(host, machine, arguments.file)
    taken = found.taken_over(machine.home)
    servers = taken.servers
    for name, why in taken.left_out.items():
        terminal.say(f"server {name!r} is left out, and stays where it is: {why}")
    if not servers:
        others = "those left out" if taken.left_out else "Louver itself"
        raise InvalidInput(f"{found.source.path} holds no server but {others}")
    _write(out, {"mcpServers": servers})
    terminal.say(
        f"{out} has the {_count(len(servers), 'server')} of {found.source.path}, with the secrets that stand there"
    )
    for new, old in taken.names.items():
        if new != old:
            terminal.say(f"server {old!r} is called {new!r} in it")
    _tell_others(found, others)
    env = _env(host, found, servers)
    instead = ", ".join(map(repr, taken.names.values()))
    name = _free_name(host, machine, found)
    terminal.say(f"into {found.source.path}, under {_shown(found)}, put {name!r} instead of {instead}:")
    snippet: dict[str, Any] = {name: _entry(host, out, env)}
    for key in reversed(found.source.place):
        snippet = {str(key): snippet}
    write_text(json.dumps(snippet, indent=2, ensure_ascii=False) + "\n")
    return 0


def _found(host: str, machine: Machine, file: str | None) -> tuple[Found, list[Found]]:
    """The nearest place with servers to import, and the other such places."""
    places = sources(host, machine) if file is None else sources_of(host, machine, Path(file))
    found: list[Found] = []
    for source in places:
        if file is not None or source.path.is_file():
            try:
                found.append(Found.read(source))
            except InvalidConfig:
                # A broken file matters only if no nearer one has servers to import.
                if all(each.is_louver_alone for each in found if each.servers):
                    raise
    found = [each for each in found if each.servers]
    if not found:
        looked = ", ".join(dict.fromkeys(str(source.path) for source in places))
        hint = "" if file is not None else "; name the file by --file"
        raise InvalidInput(f"no servers of {NAMES[host]} under {KEYS[host]!r} in {looked}{hint}")
    unserved = [each for each in found if not each.is_louver_alone]
    return (unserved or found)[0], unserved[1:]


def _tell_others(found: Found, others: list[Found]) -> None:
    """Report the places of servers that are not imported."""
    looked_at = {found.source.path}
    for other in others:
        path = other.source.path
        # Of several places in one file, each run imports the nearest.
        first = ", once Louver has the others there" if path in looked_at else ""
        looked_at.add(path)
        how = f"--file {shlex.quote(str(path))} takes them, with another --out{first}"
        terminal.say(f"servers stand in {path} too, under {_shown(other)}, and are not taken: {how}")


def _env(host: str, found: Found, servers: dict[str, Any]) -> dict[str, str]:
    """The environment variables that the host passes to Louver; those that the user must set are reported."""
    enabled = {name: server for name, server in servers.items() if not server.get("disabled")}
    needed = sorted({name for level in levels(enabled) for text in strings(level) for name in variables(text)})
    env = {name: shown for name in needed if (shown := variable(host, found.source, name)) is not None}
    if env:
        where = f"where {NAMES[host]} runs, these environment variables must be set, which 'env' hands on"
    else:
        where = "Claude Desktop puts in no variables: write the values of these under 'env'"
    if needed:
        terminal.say(f"{where}: {', '.join(needed)}")
    return env


def _free_name(host: str, machine: Machine, found: Found) -> str:
    """A name for Louver that the host uses nowhere: of two equal names the nearer hides the other."""
    used = set(found.names)
    for source in sources(host, machine):
        with suppress(InvalidConfig):
            used.update(Found.read(source).names)
    return next(name for name in ("louver", *(f"louver-{n}" for n in range(2, len(used) + 3))) if name not in used)


def _shown(found: Found) -> str:
    return ", ".join(map(repr, found.source.place))


def _write(out: Path, config: dict[str, Any]) -> None:
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    try:
        opened = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{out} is there already, and stays as it is: name another file by --out") from None
    except OSError as error:
        raise InvalidInput(f"{out} cannot be written: {error.strerror}") from None
    with open(opened, "wb") as file:
        # A lone surrogate occurs only in strings, where the escape written is JSON's own.
        file.write(text.encode("utf-8", "backslashreplace"))


def _entry(host: str, out: Path, env: dict[str, str]) -> dict[str, Any]:
    # Graphical hosts lack the shell's PATH, and PATH lacks the programs of an inactive environment.
    beside = Path(sys.executable).with_name("louver")
    command = shutil.which("louver") or (str(beside) if beside.is_file() else "louver")
    server: dict[str, Any] = {"command": command, "args": ["serve", "--config", str(out.absolute())]}
    if env:
        server["env"] = env
    return {"type": "stdio", **server} if host == "vscode" else server


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
