"""`louver init`: a configuration with the servers that an MCP host has, and what to put into the host instead.

The host's file is read and left as it is; what is written is a new file, for the user alone to read, since it holds
the secrets that the host's file holds.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.cli import terminal
from louver.cli.hosts import KEYS, NAMES, Machine, Source, sources, sources_of
from louver.cli.imported import Found
from louver.cli.jsonc import plain
from louver.cli.request import write_text
from louver.core.json import is_object, levels, strings
from louver.errors import InvalidInput
from louver.gateway.config_check import parsed
from louver.gateway.config_env import variables
from louver.gateway.config_read import text_of

if TYPE_CHECKING:
    from argparse import Namespace

    from louver.core.json import Json


def run(arguments: Namespace) -> int:
    """Write the file; print what to put into the host.

    Raises:
        LouverError: There are no servers, they cannot be taken over, or the file is there already.
    """
    machine = Machine(Path.cwd(), Path.home(), sys.platform, os.environ)
    host, out = arguments.host, Path(arguments.out)
    found = _found(host, machine, arguments.file)
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
    enabled = {name: server for name, server in servers.items() if not server.get("disabled")}
    needed = sorted({name for level in levels(enabled) for text in strings(level) for name in variables(text)})
    if needed:
        terminal.say(f"where Louver runs, these environment variables must be set: {', '.join(needed)}")
    instead = ", ".join(map(repr, taken.names.values()))
    terminal.say(f"into {found.source.path}, put this instead of {instead}:")
    write_text(json.dumps(_snippet(host, out), indent=2, ensure_ascii=False) + "\n")
    return 0


def _found(host: str, machine: Machine, file: str | None) -> Found:
    """The first file that holds servers.

    Raises:
        InvalidInput: None does.
        InvalidConfig: A file cannot be read.
    """
    places = sources(host, machine) if file is None else sources_of(host, machine, Path(file))
    for source in places:
        if file is not None or source.path.is_file():
            text = plain(text_of(source.path))
            servers = _at(parsed(text, str(source.path)), source)
            if servers:
                return Found(source, text, servers)
    looked = ", ".join(dict.fromkeys(str(source.path) for source in places))
    hint = "" if file is not None else "; name the file by --file"
    raise InvalidInput(f"no servers of {NAMES[host]} under {KEYS[host]!r} in {looked}{hint}")


def _at(content: Json, source: Source) -> Json:
    for key in source.place:
        content = content.get(str(key)) if is_object(content) else None
    return content


def _write(out: Path, config: dict[str, Any]) -> None:
    text = json.dumps(config, indent=2, ensure_ascii=False) + "\n"
    try:
        opened = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{out} is there already, and stays as it is: name another file by --out") from None
    except OSError as error:
        raise InvalidInput(f"{out} cannot be written: {error.strerror}") from None
    with open(opened, "wb") as file:
        # Only strings can hold a lone surrogate, and there the escape is JSON's own.
        file.write(text.encode("utf-8", "backslashreplace"))


def _snippet(host: str, out: Path) -> dict[str, Any]:
    # Hosts with a window do not have the PATH of a shell, nor has it what an environment that is not active holds.
    beside = Path(sys.executable).with_name("louver")
    command = shutil.which("louver") or (str(beside) if beside.is_file() else "louver")
    server: dict[str, Any] = {"command": command, "args": ["serve", "--config", str(out.absolute())]}
    return {KEYS[host]: {"louver": {"type": "stdio", **server} if host == "vscode" else server}}


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
