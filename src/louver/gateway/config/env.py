"""Environment variables in the strings of a configuration.

::

    ${TOKEN}            the variable; it must be set
    ${TOKEN:-none}      likewise, or `none` where it is not set or empty, as in a shell
    ${env:TOKEN}        as Cursor and VS Code write it
    $${TOKEN}           the text `${TOKEN}` itself

These are the forms that hosts read. What stands for a variable is not read again, so a value may hold anything.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_MARK = re.compile(r"\$\$\{|\$\{(?:(?:env:)?(?P<name>[A-Za-z_]\w*)(?P<other>:-(?P<default>[^}]*))?\})?", re.ASCII)

HOST_VARIABLES = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")
"""Variables of Cursor and VS Code, which only they can tell; `louver init` does away with them."""


class Unresolved(ValueError):
    """A text cannot be made from the environment; the message names the variable, and no value."""


def resolved(text: str, environ: Mapping[str, str]) -> str:
    """`text` with the values of the variables that it names.

    Raises:
        Unresolved: A variable is not set, or a `${` begins none.
    """
    return _MARK.sub(lambda found: _value(found, environ), text)


def variables(text: str) -> list[str]:
    """The names of the variables in `text` that must be set, in order."""
    return [found["name"] for found in _MARK.finditer(text) if found["name"] and found["other"] is None]


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    if found.group() == "$${":
        return "${"
    name: str | None = found["name"]
    if name is None:
        raise Unresolved("a '${' that begins no variable: expected '${NAME}', '${NAME:-default}', or '$${' for itself")
    value = environ.get(name)
    if found["other"] is not None:
        return value or found["default"]
    if value is None:
        raise Unresolved(_not_set(name))
    return value


def _not_set(name: str) -> str:
    if name in HOST_VARIABLES:
        return f"'${{{name}}}' is known to editors only: write the path, or let `louver init` do so"
    return f"the environment variable {name!r} is not set: set it, or write '${{{name}:-default}}'"
