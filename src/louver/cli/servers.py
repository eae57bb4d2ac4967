"""The servers that the options of a command name, as a configuration.

    -- npx -y some-server                            a command, with the environment of `louver`
    --url https://mcp.example/mcp --token token.txt  a URL, with headers
    --config mcp.json --server tracker               the servers of a file, or one of them

What cannot be meant is refused before anything starts, and no error repeats what may be a secret.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from louver.catalogue.files.open_regular import secret
from louver.core.nearest import did_you_mean, meant, nearest
from louver.errors import InvalidInput
from louver.gateway.config.model import Config
from louver.limits import MAX_TOKEN_CHARACTERS
from louver.wire.uris import is_like_url, is_url

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

_SHOWN: Final = 80  # characters of a wrong word
_SCHEMES: Final = ("http", "https")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2


def read(arguments: Namespace) -> Config:
    """The configuration of the servers that the options name."""
    if arguments.config is not None:
        # Imported only now: a long-running gateway without a file does not need it.
        from louver.gateway.config.read import read_config

        return read_config(Path(arguments.config)).only(arguments.server)
    if arguments.url is not None:
        _check_url(arguments.url)
        return Config.from_url(arguments.url, _headers(arguments))
    _check_command(arguments.command_line)
    return Config.from_command(arguments.command_line)


def read_for_client(arguments: Namespace, *serve_options: str) -> Config:
    """One server for a client: a command or a URL itself; for a file, `louver serve` with these options."""
    config = read(arguments)
    if arguments.config is None:
        return config
    words = ["--config", arguments.config, *([] if arguments.server is None else ["--server", arguments.server])]
    return Config.from_command([sys.executable, "-m", "louver", "serve", *serve_options, *words])


def _check_url(text: str) -> None:
    """Refuse what is no URL; the error does not quote it, since it may hold a secret."""
    if is_url(text):
        return
    scheme, separator, _ = text.partition("://")
    if not separator:
        hint = "put http:// before it" if is_like_url(text) else "a command stands after '--' instead"
    elif scheme.lower() in _SCHEMES:
        hint = "it has a host, and a port of at most 65535, for example http://[::1]:8080/mcp"
    else:
        hint = meant([f"{near}://" for near in nearest(scheme, _SCHEMES, 1)], "no other is spoken")
    raise InvalidInput(f"--url takes a URL that begins with http:// or https://: {hint}")


def _check_command(words: Sequence[str]) -> None:
    """Refuse a command that does not exist; the error does not quote what may hold a secret."""
    command = words[0]
    if shutil.which(command) is not None:
        return
    if is_like_url(command):
        raise InvalidInput("a URL is named by --url, and the command that starts a server follows '--'")
    if "=" in command and "/" not in command.partition("=")[0]:
        raise InvalidInput("a variable is set before louver itself, and not after '--'")
    if Path(command).is_file():
        hint = f"{command!r} is a file: put before it what runs it, as in -- python server.py"
    elif " " in command:
        hint = "leave out the quotes around the command, as in -- python server.py"
    else:
        place = "there" if "/" in command else "on the PATH"
        hint = f"{command[:_SHOWN]!r} is not {place}{did_you_mean(command, _programs())}"
    raise InvalidInput(f"there is no such command: {hint}")


def _programs() -> set[str]:
    """The names in the folders of the PATH."""
    found: set[str] = set()
    for folder in os.get_exec_path():
        with suppress(OSError):
            found.update(os.listdir(folder))
    return found


def _headers(arguments: Namespace) -> dict[str, str]:
    """The headers of `--header` and `--token`; an error quotes no value."""
    headers: dict[str, str] = {}
    for text in arguments.header:
        name, separator, value = text.partition("=")
        if not separator or not _HEADER_NAME.fullmatch(name):
            raise InvalidInput("--header takes NAME=VALUE, for example X-Tenant=acme")
        headers[name] = value
    if arguments.token is not None:
        if any(name.lower() == "authorization" for name in headers):
            raise InvalidInput("--token sends the header Authorization: leave out that --header")
        headers["Authorization"] = f"Bearer {_token(Path(arguments.token))}"
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            raise InvalidInput(f"--header {name}: expected printable ASCII, in one line")
    return headers


def _token(file: Path) -> str:
    """The token in a file that only its owner can read; the error names no file, since it may be the token itself."""
    expected = "--token takes a file that holds only the token"
    try:
        with open(file, "rb", opener=secret) as opened:
            token = opened.read(MAX_TOKEN_CHARACTERS + 1).decode("latin-1").strip()
    except OSError as error:
        raise InvalidInput(f"{expected}, and this one cannot be read: {error.strerror}") from None
    if not token or len(token) > MAX_TOKEN_CHARACTERS or not re.fullmatch(r"[!-~]+", token):
        raise InvalidInput(f"{expected}: at most {MAX_TOKEN_CHARACTERS:,} letters, digits and signs without spaces")
    return token
