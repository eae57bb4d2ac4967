"""TARGET of `louver call`: the server's URL, or its command in one word.

http://127.0.0.1:8080/mcp
"npx -y some-server"
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Final

from louver.client.target import url_or_words
from louver.errors import InvalidInput

_ADDRESS: Final = re.compile(r"[^/\s]+(?::\d+(?:/.*)?|/mcp/?)")
"""What is probably a URL without its beginning."""


def target_of(text: str, tool: str) -> str | list[str]:
    """The URL that a text is, or the words of the command.

    Args:
        text: What stands for TARGET.
        tool: What stands for TOOL.

    Raises:
        InvalidInput: It is neither, or there is no such command.
    """
    found = url_or_words(text)
    if isinstance(found, str) or shutil.which(found[0]) is not None:
        return found
    expected = "TARGET is a URL that begins with http:// or https://, or the command that starts a server"
    raise InvalidInput(f"there is no such command: {expected}; {_meant(found[0], tool)}")


def _meant(command: str, tool: str) -> str:
    # What may hold a secret is not repeated.
    if "=" in command and "/" not in command.partition("=")[0]:
        return "a variable is set before louver itself, and not in TARGET"
    if _ADDRESS.fullmatch(command):
        return "for a URL, put http:// before it"
    if tool.startswith(("{", "[")):
        return f"if {command!r} is the tool, TARGET is missing before it: louver call TARGET {command} ARGS"
    if Path(command).is_file():
        return f'{command!r} is a file: put before it what runs it, as in "python server.py"'
    return f"{command!r} is none"
