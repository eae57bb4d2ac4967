"""The tables of the command line in the reference, made of its help.

Each table is between `<!-- louver NAME -->` and `<!-- end -->`. After a change of the options, generate them with::

    PYTHONPATH=tests uv run python tests/docs/test_command_line.py
"""

import argparse

from docs.generated import names, table, with_parts
from docs.pages import DOCS
from louver.cli.options import COMMANDS, GROUPS, build_parser

PAGE = DOCS / "reference" / "command-line.md"

SERVER = ("--", "--url", "--header", "--token", "--config", "--server")
"""The options that name servers."""


def tables():
    """Every table, by its name."""
    _, commands = build_parser()
    summaries = [(f"[`louver {name}`](#louver-{name})", summary) for name, summary in _summaries()]
    servers = filter(_names_server, commands["check"]._actions)
    return {
        "louver commands": table(("command", "does"), summaries),
        "louver servers": table(("option", "names"), map(_row, servers)),
        **{f"louver {name}": table(("option", "does"), _rows(each)) for name, each in commands.items()},
    }


def _summaries():
    by_name = {each.usage.partition(" ")[0]: each.summary for each in COMMANDS}
    return [(name, by_name[name]) for group in GROUPS.values() for name in group]


def _rows(parser):
    of_servers = [each for each in parser._actions if _names_server(each)]
    for each in parser._actions:
        if each in of_servers[:1]:
            yield ", ".join(f"`{one.option_strings[0]}`" for one in of_servers), "[the server](#the-server)"
        elif each not in of_servers and not isinstance(each, argparse._HelpAction):
            yield _row(each)


def _names_server(action):
    return set(action.option_strings) <= set(SERVER) and bool(action.option_strings)


def _row(action):
    return f"`{_usage(action)}`", action.help + (f": `{'`, `'.join(action.choices)}`" if action.choices else "")


def _usage(action):
    words = action.metavar or action.dest.upper()
    words = " ".join(words) if isinstance(words, tuple) else words
    value = "" if action.nargs == 0 else f"[{words}]" if action.nargs == "?" else words
    return " ".join((*action.option_strings[:1], value)).strip()


def test_the_tables_are_those_of_the_help():
    """*Ours*: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    grouped = [name for group in GROUPS.values() for name in group]
    assert sorted(grouped) == sorted(each.usage.partition(" ")[0] for each in COMMANDS), "a command is in one group"
    assert names(page) == {name for name, text in tables().items() if text.count("\n") > 2}
    assert page == with_parts(page, tables())


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
