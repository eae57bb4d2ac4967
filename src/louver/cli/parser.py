"""Errors of the command line, reported by the subcommand with a suggestion.

    louver serve npx -y some-server     put '--' before the command that starts a server: louver serve -- npx -y ...
    louver serve --confg mcp.json       unknown option '--confg': did you mean '--config'?
    louver conformance louver serve     TARGET is one word: quote a command with its arguments

Words are repeated only up to the first unknown option, since a secret may follow it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING, Any

from louver.core.nearest import meant, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_TARGET = 'TARGET is one word: quote a command with its arguments, as in {} "louver serve --example"'
_ARGS = "ARGS is one word: quote the JSON object, as in '{\"user_id\": 42}'"


class Parser(argparse.ArgumentParser):
    """Refuses unknown words itself; the library leaves them to the parent parser."""

    _argv: Sequence[str] = ()

    # The library declares two more signatures, which differ only in types.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse as the library does, but refuse words that are left over."""
        self._argv = sys.argv[1:] if args is None else [*args]
        parsed, extra = super().parse_known_args(self._argv, namespace)
        if extra:
            super().error(self._leftover_error(parsed, extra[0]))
        return parsed, extra

    def error(self, message: str) -> NoReturn:
        """Exit as the library does; an unknown option may be the reason why another argument is missing."""
        options = self._argv[: self._argv.index("--")] if "--" in self._argv else self._argv
        unknown = None if self._subparsers else next(filter(self._is_unknown, options), None)
        super().error(message if unknown is None else f"{message}; {self._unknown(unknown)}")

    def _is_unknown(self, word: str) -> bool:
        name = word.partition("=")[0]
        return word[:2] == "--" and not any(option.startswith(name) for option in self._option_string_actions)

    def _unknown(self, word: str) -> str:
        name = _name(word)
        near = nearest(name, self._option_string_actions, 1)
        return f"unknown option {name!r}: {meant(near, 'the options are those above')}"

    def _leftover_error(self, parsed: argparse.Namespace, word: str) -> str:
        """The error message for the first word that is left over."""
        message = self._unknown(word) if word.startswith("-") else "there is a word too many"
        if self._subparsers is not None:
            return message
        words: dict[str, Any] = vars(parsed)
        if words.get("command_line") and self._index(words["command_line"][0]) < self._index(word):
            separated = self._with_separator(words["command_line"][0], word)
            return f"put '--' before the command that starts a server: {separated}"
        if str(words.get("arguments")).startswith("{") and not word.startswith("-"):
            return f"{message}: {_ARGS}"
        # A URL is always one word, and a text with a space was quoted.
        if "target" in words and "://" not in words["target"] and " " not in words["target"]:
            return f"{message}{' ' if message.endswith('?') else ': '}{_TARGET.format(self.prog)}"
        return message

    def _with_separator(self, command: str, word: str) -> str:
        """The command line with `--` before the server's command, up to the first word that was not understood."""
        start, end = self._index(command), self._index(word)
        words = [*self._argv[:start], "--", *self._argv[start:end]]
        rest = "..." if end + 1 < len(self._argv) else ""
        return f"{self.prog} {shlex.join([*words, _name(word)])} {rest}".rstrip()

    def _index(self, word: str) -> int:
        return self._argv.index(word)


def _name(word: str) -> str:
    """A word without the value that an option may hold: `--token=...`, `-p...`."""
    return word[:2] if word.startswith("-") and word[1:2] != "-" else word.partition("=")[0]
