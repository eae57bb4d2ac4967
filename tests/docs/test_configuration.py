"""The tables of the configuration's page, generated from `schemas/config.schema.json`.

Each table is between `<!-- name -->` and `<!-- end -->`. After a change of the schema, generate them with::

    PYTHONPATH=tests uv run python tests/docs/test_configuration.py
"""

import json
from pathlib import Path

from docs.generated import names, table, with_parts

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
SCHEMA = json.loads((ROOT / "schemas" / "config.schema.json").read_text(encoding="utf-8"))
DEFINITIONS = SCHEMA["$defs"]

SECTIONS = {
    "server": "a server",
    "gateway": "settings of the gateway",
    "upstream": "settings for a server",
    "toolRule": "a rule for tools",
    "who": "callers",
    "oauth": "logins",
    "rule": "a rule of guidance",
    "when": "when a rule fires",
    "auth": "authentication",
    "tokens": "a file of tokens",
    "token": "a token",
    "principal": "a principal",
    "audit": "audit",
}
"""Definition -> the heading of its table."""

LIKE = {"principal": "token"}
"""Definition without a table -> the one whose table has its members."""


def tables():
    """Every table, by its name."""
    headings = {name: heading for name, heading in SECTIONS.items() if name not in LIKE}
    parts = {"the file": SCHEMA, **{heading: DEFINITIONS[name] for name, heading in headings.items()}}
    ours = {name: table(("key", "value", "default", "meaning"), _ours(part)) for name, part in parts.items()}
    passed_over = ", ".join(f"`{key}`" for part in (DEFINITIONS["server"], SCHEMA) for key in _passed_over(part))
    return {**ours, "keys that are passed over": f"{passed_over}\n"}


def _ours(part):
    for key, rules in part["properties"].items():
        if "x-of" not in rules:
            default = f"`{json.dumps(rules['default'])}`" if "default" in rules else ""
            needed = "required" if key in part.get("required", ()) else default
            yield f"`{key}`", _value(rules), needed, rules["description"]


def _passed_over(part):
    """Keys of hosts without effect. Errors explain those that are refused."""
    for key, rules in part["properties"].items():
        if "x-of" in rules and not rules.keys() & {"not", "const", "type"}:
            yield key


def _value(rules):
    if "$ref" in rules:
        heading = SECTIONS[rules["$ref"].rpartition("/")[2]]
        return f"[{heading}](#{heading.replace(' ', '-')})"
    if "enum" in rules:
        return ", ".join(f"`{value}`" for value in rules["enum"])
    if "title" in rules:
        return "string" if rules["title"] == "a text that is not empty" else rules["title"]
    if rules["type"] == "array":
        return f"list: {_value(rules['items'])}"
    if rules["type"] == "object":
        return f"object: {rules['propertyNames']['title']} -> {_value(rules['additionalProperties'])}"
    return "`true`, `false`" if rules["type"] == "boolean" else rules["type"]


def test_the_tables_are_those_of_the_schema():
    """*Ours*: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    assert names(page) == tables().keys()
    assert page == with_parts(page, tables())


def test_every_key_of_a_configuration_stands_in_atable():
    """*Ours*."""
    text = "".join(tables().values())
    parts = (SCHEMA, *DEFINITIONS.values())
    keys = {key for part in parts for key, rules in part["properties"].items() if "x-of" not in rules}
    assert {key for key in keys if f"| `{key}` |" not in text} == set()
    for name, like in LIKE.items():
        properties = DEFINITIONS[like]["properties"]
        assert DEFINITIONS[name]["properties"].items() <= properties.items()


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
