"""Environment variables and files in the strings of a configuration, in the forms that hosts read.

    ${TOKEN}, ${env:TOKEN}    the variable, which must be set; `env:` is the form of Cursor and VS Code
    ${TOKEN:-none}            with a default if it is not set or empty, as in a shell
    $${TOKEN}                 the text `${TOKEN}` itself
    ${file:token}             the content of a file

A value is not expanded again, so it may hold anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# What does not end is read to the end at once: looked for from each of its beginnings, it would take quadratic time.
_REFERENCE = re.compile(
    r"""\$\$\{
      | \$\{(?:env:)?(?P<name>[A-Za-z_]\w*+)(?P<other>:-(?P<default>[^}]*+))?\}
      | \$\{(?:(?:env:)?[A-Za-z_]\w*+:-[^}]*+\Z)?""",
    re.ASCII | re.VERBOSE,
)

# No path holds U+0000, or half a surrogate pair.
_FILE = re.compile(r"\$\$\{|\$\{file:(?:(?P<path>[^}\0\ud800-\udfff]++)\}|[^}]++\Z)")

# Variables that only Cursor and VS Code know; `louver doctor --apply` resolves them.
HOST_VARIABLES = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")


class UnresolvedVariable(ValueError):
    """A variable cannot be resolved; the message names the variable, never a value."""


def expand_variables(text: str, environ: Mapping[str, str]) -> str:
    """The text with the values of its variables."""
    return _REFERENCE.sub(lambda found: _value(found, environ), text)


def split_files(text: str) -> Iterator[tuple[str, str | None]]:
    """The parts of a text, each with the path of the file (`${file:PATH}`) that follows it; the last has none."""
    start = 0
    for found in _FILE.finditer(text):
        if found["path"] is not None:
            yield text[start : found.start()], found["path"]
            start = found.end()
    yield text[start:], None


def variables(text: str) -> list[str]:
    """The names of the variables in a text that must be set, in order."""
    return [match["name"] for match in _REFERENCE.finditer(text) if match["name"] and match["other"] is None]


def _value(match: re.Match[str], environ: Mapping[str, str]) -> str:
    if match.group() == "$${":
        return "${"
    name: str | None = match["name"]
    if name is None:
        raise UnresolvedVariable(
            "a '${' that begins no variable: expected '${NAME}', '${NAME:-default}', or '$${' for itself"
        )
    value = environ.get(name)
    if match["other"] is not None:
        return value or match["default"]
    if value is None:
        raise UnresolvedVariable(_not_set(name))
    return value


def _not_set(name: str) -> str:
    if name in HOST_VARIABLES:
        return f"'${{{name}}}' is known to editors only: write the path, or let `louver doctor --apply` do so"
    return f"the environment variable {name!r} is not set: set it, or write '${{{name}:-default}}'"
