"""The page of each host in `docs/reference/hosts` says what the code and the runs say."""

from __future__ import annotations

import re
from pathlib import Path

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
    rows = {stack: rf"^\| \[.*\]\(hosts/{stack}\.md\) .*{re.escape(version_of(stack))}" for stack in PAGES}
    assert [stack for stack, row in rows.items() if not re.search(row, OVERVIEW, re.MULTILINE)] == []


def test_a_page_names_the_version_that_was_tried():
    """HOSTS.md."""
    rows = {stack: rf"^\| \| .* {re.escape(version_of(stack))}\b.*\|$" for stack in PAGES}
    assert [stack for stack, row in rows.items() if not re.search(row, PAGES[stack], re.MULTILINE)] == []


def test_a_page_says_what_the_gateway_assumes(subtests):
    """HOSTS.md: what is shown, and whether the host searches tools itself."""
    for name, host in HOSTS.items():
        with subtests.test(name):
            row = re.compile(rf"^\| `clientInfo\.name` \| `{name}[`-]", re.MULTILINE)
            (page,) = (text for text in PAGES.values() if row.search(text))
            assert re.search(rf"^\| its model sees of an answer \| {SHOWN[host.shown]}", page, re.MULTILINE)
            assert f"| searches tools itself | {'yes' if host.defers else 'no'} |" in page


def test_a_page_names_what_does_not_work(subtests):
    """HOSTS.md: the cells of `known.py`, and no others."""
    for stack, page in PAGES.items():
        with subtests.test(stack):
            _, _, section = page.partition("## What works\n")
            rows = re.findall(r"^\| ([a-z ,-]+) \|", section, re.MULTILINE)
            named = {cell for row in rows for cell in row.split(", ")} - {"feature"}
            assert named == {cell for known, cell in KNOWN if known == stack}
