"""What registries and hosts read of the project agrees with the project."""

import json
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))


def test_the_registry_entry_names_this_package_and_version():
    """The MCP registry reads `server.json`; it wants the server's name in the README of the package."""
    (package,) = SERVER["packages"]
    assert (package["identifier"], package["version"]) == (PROJECT["name"], PROJECT["version"])
    assert SERVER["version"] == PROJECT["version"]
    assert len(SERVER["description"]) <= 100
    assert f"<!-- mcp-name: {SERVER['name']} -->" in (ROOT / "README.md").read_text("utf-8")


def test_the_issue_forms_are_what_github_reads():
    """Each field has a unique id and a label; GitHub ignores a form without them."""
    forms = [each for each in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if each.name != "config.yml"]
    assert len(forms) == 3
    for form in forms:
        read = yaml.safe_load(form.read_text("utf-8"))
        fields = [each for each in read["body"] if each["type"] != "markdown"]
        assert read["name"], read["description"]
        assert all(each["attributes"]["label"] for each in fields)
        assert len({each["id"] for each in fields}) == len(fields)
