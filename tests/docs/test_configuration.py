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


def tables():
    """Every table, by its name."""
    parts = {"the file": SCHEMA, **{heading: DEFINITIONS[name] for name, heading in SECTIONS.items()}}
    ours = {name: table(("key", "value", "default", "meaning"), _ours(part)) for name, part in parts.items()}
    theirs = [*_of_hosts(DEFINITIONS["server"]), *_of_hosts(SCHEMA)]
    heads = ("key", "host", "meaning")
    return {
        **ours,
        "keys that are passed over": table(heads, [row[1:] for row in theirs if row[0]]),
        "keys that are refused": table(heads, [row[1:] for row in theirs if not row[0]]),
    }


def _ours(part):
    for key, rules in part["properties"].items():
        if "x-of" not in rules:
            default = f"`{json.dumps(rules['default'])}`" if "default" in rules else ""
            needed = "required" if key in part.get("required", ()) else default
            yield f"`{key}`", _value(rules), needed, rules["description"]


def _of_hosts(part):
    """Whether a key is passed over, then its row."""
    for key, rules in part["properties"].items():
        if "x-of" in rules:
            passed = not rules.keys() & {"not", "const", "type"}
            only = rules.get("const", [] if "type" in rules else None)
            but = "" if only is None else f" Only `{json.dumps(only)}` is possible."
            yield passed, f"`{key}`", ", ".join(rules["x-of"]), rules["description"] + but


def _value(rules):
    if "$ref" in rules:
        heading = SECTIONS[rules["$ref"].rpartition("/")[2]]
        return f"[{heading}](#{heading.replace(' ', '-')})"
    if "enum" in rules:
        return ", ".join(f"`{value}`" for value in rules["enum"])
    if "title" in rules:
        return rules["title"]
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
    keys = {key for part in (SCHEMA, *DEFINITIONS.values()) for key in part["properties"]}
    assert {key for key in keys if f"| `{key}` |" not in text} == set()


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
