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
from louver.cli.host_import import HostServers
from louver.cli.hosts import KEYS, NAMES, Machine, sources, sources_in_file, variable
from louver.cli.request import write_text
from louver.core.json import levels, strings
from louver.errors import InvalidConfig, InvalidInput
from louver.gateway.config.env import variables

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    host, out = arguments.host, Path(arguments.out)
    host_servers, others = _find_servers(host, machine, arguments.file)
    imported = host_servers.import_servers(machine.home)
    servers = imported.servers
    for name, reason in imported.left_out.items():
        terminal.print_stderr(f"server {name!r} is left out, and stays where it is: {reason}")
    if not servers:
        others = "those left out" if imported.left_out else "Louver itself"
        raise InvalidInput(f"{host_servers.source.path} holds no server but {others}")
    _write(out, {"mcpServers": servers})
    terminal.print_stderr(
        f"{out} has the {_count(len(servers), 'server')} of {host_servers.source.path}, with its secrets"
    )
    for new, old in imported.names.items():
        if new != old:
            terminal.print_stderr(f"server {old!r} is called {new!r} in it")
    _report_others(host_servers, others)
    env = _env(host, host_servers, servers)
    replaced = ", ".join(map(repr, imported.names.values()))
    name = _free_name(host, machine, host_servers)
    terminal.print_stderr(
        f"into {host_servers.source.path}, under {_place_text(host_servers)}, put {name!r} instead of {replaced}:"
    )
    snippet: dict[str, Any] = {name: _entry(host, out, env)}
    for key in reversed(host_servers.source.place):
        snippet = {str(key): snippet}
    write_text(json.dumps(snippet, indent=2, ensure_ascii=False) + "\n")
    return 0


def _find_servers(host: str, machine: Machine, file: str | None) -> tuple[HostServers, list[HostServers]]:
    """The nearest place with servers to import, and the other such places."""
    places = sources(host, machine) if file is None else sources_in_file(host, machine, Path(file))
    candidates: list[HostServers] = []
    for source in places:
        if file is not None or source.path.is_file():
            try:
                candidates.append(HostServers.read(source))
            except InvalidConfig:
                # A broken file matters only if no nearer one has servers to import.
                if all(each.is_louver_alone for each in candidates if each.servers):
                    raise
    candidates = [each for each in candidates if each.servers]
    if not candidates:
        searched = ", ".join(dict.fromkeys(str(source.path) for source in places))
        hint = "" if file is not None else "; name the file by --file"
        raise InvalidInput(f"no servers of {NAMES[host]} under {KEYS[host]!r} in {searched}{hint}")
    importable = [each for each in candidates if not each.is_louver_alone]
    return (importable or candidates)[0], importable[1:]


def _report_others(host_servers: HostServers, others: list[HostServers]) -> None:
    """Report the places of servers that are not imported."""
    seen_paths = {host_servers.source.path}
    for other in others:
        path = other.source.path
        # Of several places in one file, each run imports the nearest.
        first = ", once Louver has the others there" if path in seen_paths else ""
        seen_paths.add(path)
        hint = f"--file {shlex.quote(str(path))} takes them, with another --out{first}"
        terminal.print_stderr(f"servers stand in {path} too, under {_place_text(other)}, and are not taken: {hint}")


def _env(host: str, host_servers: HostServers, servers: dict[str, Any]) -> dict[str, str]:
    """The environment variables that the host passes to Louver; those that the user must set are reported."""
    enabled = {name: server for name, server in servers.items() if not server.get("disabled")}
    needed = sorted({name for level in levels(enabled) for text in strings(level) for name in variables(text)})
    env = {name: reference for name in needed if (reference := variable(host, host_servers.source, name)) is not None}
    if env:
        message = f"where {NAMES[host]} runs, these environment variables must be set, and 'env' passes them on"
    else:
        message = "Claude Desktop puts in no variables: write the values of these under 'env'"
    if needed:
        terminal.print_stderr(f"{message}: {', '.join(needed)}")
    return env


def _free_name(host: str, machine: Machine, host_servers: HostServers) -> str:
    """A name for Louver that the host uses nowhere: of two equal names the nearer hides the other."""
    used = set(host_servers.names)
    for source in sources(host, machine):
        with suppress(InvalidConfig):
            used.update(HostServers.read(source).names)
    return next(name for name in ("louver", *(f"louver-{n}" for n in range(2, len(used) + 3))) if name not in used)


def _place_text(host_servers: HostServers) -> str:
    return ", ".join(map(repr, host_servers.source.place))


def _write(out: Path, config: dict[str, Any]) -> None:
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    try:
        descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{out} already exists, and is not overwritten: name another file by --out") from None
    except OSError as error:
        raise InvalidInput(f"{out} cannot be written: {error.strerror}") from None
    with open(descriptor, "wb") as file:
        # A lone surrogate occurs only in strings, where the escape written is JSON's own.
        file.write(text.encode("utf-8", "backslashreplace"))


def _entry(host: str, out: Path, env: dict[str, str]) -> dict[str, Any]:
    # Graphical hosts lack the shell's PATH, and PATH lacks the programs of an inactive environment.
    sibling = Path(sys.executable).with_name("louver")
    command = shutil.which("louver") or (str(sibling) if sibling.is_file() else "louver")
    server: dict[str, Any] = {"command": command, "args": ["serve", "--config", str(out.absolute())]}
    if env:
        server["env"] = env
    return {"type": "stdio", **server} if host == "vscode" else server


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
