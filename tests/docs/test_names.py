"""Whatever has a name that a user meets stands in the reference."""

import argparse
import ast
import re
from importlib import import_module
from pathlib import Path

import louver
from docs.pages import DOCS
from louver import errors
from louver.cli.options import build_parser

SRC = Path(louver.__file__).parents[1]
REFERENCE = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").rglob("*.md")))

CODES = sorted({value.code for value in vars(errors).values() if isinstance(value, type) and hasattr(value, "code")})

BOUNDS = (
    "MAX_PATHS",
    "MAX_PATH_CHARACTERS",
    "MAX_SEGMENTS",
    "MAX_ROW_CHARACTERS",
    "MAX_ROW_STEPS",
    "MAX_NESTED_BRACKETS",
    "MAX_VIEWS",
    "MAX_SHAPING_VIEWS",
    "MAX_MASK_STATES",
    "MAX_MASK_STEPS",
    "MAX_JSON_DEPTH",
    "MAX_TOOLS_READ",
    "MAX_URI_BYTES",
    "READS_PER_MINUTE",
    "GRANT_S",
    "MAX_QUERY_CHARACTERS",
    "QUERIES_PER_MINUTE",
    "MAX_SCRIPT_BYTES",
    "SCRIPT_WALL_S",
    "SCRIPT_HARD_WALL_S",
    "SCRIPT_CPU_S",
    "MAX_SCRIPT_HEAP",
    "MAX_SCRIPT_CALLS",
    "MAX_SCRIPT_CALLS_AT_ONCE",
    "MAX_SCRIPT_ARGUMENTS",
    "MAX_SCRIPT_REPLY",
    "MAX_SCRIPT_TRAFFIC",
    "MAX_SCRIPT_PATH_LISTS",
    "MAX_SCRIPT_RESULT",
    "MAX_SCRIPT_RESULT_DEPTH",
    "MAX_SCRIPTS",
    "MAX_SCRIPTS_WAITING",
    "KEPT_OVER_BYTES",
    "MAX_RESULTS",
    "MAX_RESULTS_BYTES",
    "ITEMS_A_PAGE",
    "MAX_TOKEN_CHARACTERS",
    "MAX_CLIENT_LINE",
    "MAX_CLIENT_VALUES",
    "MAX_CLIENT_CONTAINERS",
    "MAX_CLIENT_DEPTH",
)
"""The bounds for which a client can be refused."""


def bounds():
    """The bounds of the reference, each from the module where it stands, beside its use."""
    for file in sorted(SRC.rglob("*.py")):
        for node in ast.parse(file.read_text("utf-8")).body:
            if isinstance(node, ast.Assign) and (name := ast.unparse(node.targets[0])) in BOUNDS:
                module = import_module(".".join(file.relative_to(SRC).with_suffix("").parts))
                yield name, getattr(module, name)


def _usages(parser, name):
    """The command's name with each of its options, and those of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command, below in action.choices.items():
                yield f"{name} {command}", None
                yield from _usages(below, f"{name} {command}")
        else:
            for option in action.option_strings:
                if not (isinstance(action, argparse._HelpAction) and " " in name):
                    yield name, option


def test_every_command_and_option_stands_in_the_reference():
    """*Ours*: the option in the section whose heading is the command."""
    sections = dict(re.findall(r"^#+ `(louver[^`\n]*)`\n(.*?)(?=^#+ |\Z)", REFERENCE, re.MULTILINE | re.DOTALL))
    faults = [
        f"`{command}`: no {option or 'section'}"
        for command, option in sorted(set(_usages(build_parser()[0], "louver")), key=str)
        if command not in sections or (option and not re.search(rf"`{re.escape(option)}[` ]", sections[command]))
    ]
    assert not faults, "\n".join(faults)


def test_every_error_code_stands_in_the_reference():
    """*Ours*."""
    missing = [code for code in CODES if f"`{code}`" not in REFERENCE]
    assert not missing, ", ".join(missing)


def test_every_bound_that_a_client_can_meet_stands_in_the_reference_with_its_value():
    """*Ours*."""
    values = {bound: f"{value:,}" for bound, value in bounds()}
    assert sorted(values) == sorted(BOUNDS)
    missing = [
        f"{bound} = {value}"
        for bound, value in values.items()
        if not re.search(rf"^\|.*\b{value}\b.*`{bound}`", REFERENCE, re.MULTILINE)
    ]
    assert not missing, "\n".join(missing)


def test_every_public_name_stands_in_the_reference():
    """*Ours*."""
    errors = [name for name, each in vars(louver.errors).items() if getattr(each, "__module__", "") == "louver.errors"]
    names = [name for name in (*louver.__all__, *errors) if name[0] != "_" or name == "__version__"]
    missing = [name for name in names if not re.search(rf"`(louver\.(errors\.)?)?{name}\b", REFERENCE)]
    assert not missing, ", ".join(missing)
