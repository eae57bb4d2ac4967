"""`louver completion`: a script by which a shell completes commands, options and file names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import shtab

from louver.cli.json_streams import write_text
from louver.cli.options import build_parser

if TYPE_CHECKING:
    from argparse import Namespace

_COMPLETIONS: Final = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}  # metavar -> what completes it


def run(arguments: Namespace) -> int:
    parser, commands = build_parser()
    actions: list[Any] = [action for command in commands.values() for action in command.actions]
    for action in actions:
        if action.metavar in _COMPLETIONS:
            # The attribute that shtab looks for.
            action.complete = _COMPLETIONS[action.metavar]
    write_text(shtab.complete(parser, shell=arguments.shell))
    return 0
