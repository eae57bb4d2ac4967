"""The parser of the command line: its errors say what was meant.

    louver serv --config mcp.json      there is no command 'serv': did you mean 'serve'?
    louver serve --confg mcp.json      unknown option '--confg': did you mean '--config'?
    louver serve npx -y some-server    put '--' before the command that starts a server: louver serve -- npx ...

A word is repeated only where no secret can stand: what follows an unknown option may be one.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from louver.core.nearest import instead, meant, nearest
from louver.errors import InvalidInput
from louver.wire.uris import is_like_url

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from typing import NoReturn

SEPARATOR = "--"
_SHOWN = 80  # characters of a wrong word

# Commands that there were, and what to do instead.
_PLAN = "in a program 'compile_projection' does it; 'louver call' projects what a tool answers"
GONE = {
    "audit": "'louver report FILE' tells of audit records",
    "completion": "'louver --help' lists the commands",
    "conformance": "'louver-conformance' is a distribution of its own, in the folder 'conformance'",
    "derive": _PLAN,
    "explain": "'louver check --as WHO --tool TOOL' tells it",
    "project": _PLAN,
    "saved": "'louver report' tells it",
}
GONE_OPTIONS = {
    "--workers": "a second process behind a proxy serves more, with 'state' and 'keys' as replicas have them",
}
_UNITS = {"d": 86_400, "h": 3600, "m": 60}


@dataclass(frozen=True, slots=True)
class _ServerOptions:
    is_required: bool
    others: tuple[str, ...]  # options that replace a server

    @property
    def expected(self) -> str:
        *names, last = ("-- COMMAND", "--url URL", "--config FILE", *self.others)
        return f"{', '.join(names)} or {last}"


class Parser(argparse.ArgumentParser):
    """The parser of one command. `trailing` is the positional that takes words between and after the options."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        self.trailing: str | None = None
        self._servers: _ServerOptions | None = None
        self._words: Sequence[str] = ()

    def add_server_group(self, others: tuple[str, ...], *, required: bool) -> Any:
        """The group for the options that name servers; `others` are options that replace them."""
        self._servers = _ServerOptions(required, others)
        return self.add_argument_group("the server", f"one of {self._servers.expected}")

    def take_command(self, arguments: Namespace, command: list[str] | None) -> None:
        """Store the words after the separator, and refuse what does not name servers as this command takes them."""
        if self._servers is None:
            if command is not None:
                self.error(f"{self.prog} starts no server: leave out '--' and what follows")
            return
        arguments.command_line = command or []
        values = vars(arguments)
        named = ["-- COMMAND"] if command is not None else []
        named += [each for each in ("--url", "--config", *self._servers.others) if values[each[2:]]]
        if len(named) > 1:
            self.error(f"name the server once: {' and '.join(named)} exclude each other")
        if self._servers.is_required and not named:
            self.error(f"name the server: {self._servers.expected}")
        if command == []:
            self.error("a command is missing after '--', for example: -- npx -y some-server")
        for option, needed in (("--header", "--url"), ("--token", "--url"), ("--server", "--config")):
            if values[option[2:]] and needed not in named:
                self.error(f"{option} goes with {needed}")

    # The library declares two more signatures, which differ only in types.
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parse as the library does, but refuse words that are left over."""
        self._words = args
        parsed, extra = super().parse_known_args(args, namespace)
        if self._servers is not None and self.trailing is None and extra and not extra[0].startswith("-"):
            super().error(self._separated(extra))
        if (unknown := next((word for word in extra if word.startswith("-")), None)) is not None:
            super().error(self._unknown(unknown))
        if extra and self.trailing is None:
            super().error("there is a word too many")
        if self.trailing is not None:
            getattr(parsed, self.trailing).extend(extra)
        return parsed, []

    def error(self, message: str) -> NoReturn:
        """Exit as the library does; an unknown option may be the reason why another argument is missing."""
        unknown = None if self._subparsers else next(filter(self._is_unknown, self._words), None)
        super().error(message if unknown is None else f"{message}; {self._unknown(unknown)}")

    def _is_unknown(self, word: str) -> bool:
        name = word.partition("=")[0]
        return word[:2] == "--" and not any(option.startswith(name) for option in self._option_string_actions)

    def _unknown(self, word: str) -> str:
        # Without the value that an option may hold: `--token=...`, `-p...`.
        name = word[:2] if word[1:2] != "-" else word.partition("=")[0]
        if name in GONE_OPTIONS:
            return f"{name} is gone: {GONE_OPTIONS[name]}"
        near = nearest(name, self._option_string_actions.keys() - {SEPARATOR}, 1)
        return f"unknown option {name!r}: " + meant(near, f"'{self.prog} --help' lists them")

    def _separated(self, words: Sequence[str]) -> str:
        if is_like_url(words[0]):
            return "name the URL of a server by --url"
        command = "COMMAND" if "=" in words[0] else words[0]
        rest = " ..." if len(words) > 1 else ""
        return f"put '--' before the command that starts a server: {self.prog} -- {command}{rest}"


def one_of(*choices: str) -> Callable[[str], str]:
    """A type of argument: one of the choices."""

    def read(text: str) -> str:
        if text not in choices:
            raise argparse.ArgumentTypeError(f"there is no {text[:_SHOWN]!r}: {instead(text, choices)}")
        return text

    return read


def read_since(text: str | None) -> float:
    """`--since` in seconds since the epoch: an age such as `7d`, or an ISO 8601 time (by default in UTC); 0 without."""
    if text is None:
        return 0.0
    if match := re.fullmatch(r"(?P<number>[0-9]{1,6})(?P<unit>[dhm])", text):
        return max(0.0, time.time() - int(match["number"]) * _UNITS[match["unit"]])
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"--since takes 7d, 12h or 30m, or a time like 2026-01-31T12:00, not {text!r}") from None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def parse(parser: Parser, commands: dict[str, Parser], line: Sequence[str]) -> Namespace:
    """Parse a command line; the words after the first `--` are the command of a server."""
    place = line.index(SEPARATOR) if SEPARATOR in line else len(line)
    words, command = line[:place], [*line[place + 1 :]] if place < len(line) else None
    name = next((word for word in words if not word.startswith("-")), None)
    if name in GONE:
        parser.error(f"'louver {name}' is gone: {GONE[name]}")
    if name is not None and name not in commands:
        suggestion = meant(nearest(name, commands, 1), "'louver --help' lists them")
        parser.error(f"there is no command {name[:_SHOWN]!r}: {suggestion}")
    if not words:
        parser.error("name a command: 'louver --help' lists them; begin with: louver demo")
    arguments = parser.parse_args(words)
    commands[arguments.command].take_command(arguments, command)
    return arguments
