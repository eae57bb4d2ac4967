"""The page of each host in `docs/reference/hosts` says what the code and the runs say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from louver.catalogue.hosts import HOSTS

from . import stacks
from .known import KNOWN

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OVERVIEW = (REFERENCE / "hosts.md").read_text("utf-8")
PAGES = {page.stem: page.read_text("utf-8") for page in sorted((REFERENCE / "hosts").glob("*.md"))}
SHOWN = {"structured": r"structured content only", "text": r"text", "both": r"both", "whole": r"the whole result"}


def version_of(stack):
    """The version of a stack's first package, as it is installed for the runs."""
    versions = stacks.VERSIONS[stack]
    return next(iter(versions["npm"].values())) if "npm" in versions else versions["pypi"][0].partition("==")[2]


def test_every_stack_has_a_page_that_the_overview_links():
    """*Ours*."""
    assert PAGES.keys() == set(stacks.STACKS)
    for stack in PAGES:
        assert re.search(rf"^\| \[.*\]\(hosts/{stack}\.md\) .*{re.escape(version_of(stack))}", OVERVIEW, re.MULTILINE)


@pytest.mark.parametrize("stack", PAGES)
def test_a_page_names_the_version_that_was_tried(stack):
    """HOSTS.md."""
    assert re.search(rf"^\| \| .* {re.escape(version_of(stack))}\b.*\|$", PAGES[stack], re.MULTILINE)


@pytest.mark.parametrize("name", HOSTS)
def test_a_page_says_what_the_gateway_assumes(name):
    """HOSTS.md: what is shown, and whether the host searches tools itself."""
    (page,) = (
        text for text in PAGES.values() if re.search(rf"^\| `clientInfo\.name` \| `{name}[`-]", text, re.MULTILINE)
    )
    assert re.search(rf"^\| its model sees of an answer \| {SHOWN[HOSTS[name].shown]}", page, re.MULTILINE)
    assert f"| searches tools itself | {'yes' if HOSTS[name].defers else 'no'} |" in page


@pytest.mark.parametrize("stack", PAGES)
def test_a_page_names_what_does_not_work(stack):
    """HOSTS.md: the cells of `known.py`, and no others."""
    _, _, section = PAGES[stack].partition("## What works\n")
    rows = re.findall(r"^\| ([a-z ,-]+) \|", section, re.MULTILINE)
    named = {cell for row in rows for cell in row.split(", ")} - {"feature"}
    assert named == {cell for known, cell in KNOWN if known == stack}
