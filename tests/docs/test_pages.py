"""What holds for the text of every page."""

import re
from functools import cache

from docs.pages import DOCS, PAGES, ROOT, blocks, name_of, numbered, placed, prose, site

HOSTS = (
    "127.0.0.1",
    "code.claude.com",
    "code.visualstudio.com",
    "cursor.com",
    "datatracker.ietf.org",
    "developers.openai.com",
    "docs.windsurf.com",
    "geminicli.com",
    "github.com",
    "gateway.example",
    "gofastmcp.com",
    "google.aip.dev",
    "id.example",
    "json-schema.org",
    "louver.dev",
    "mcp.example",
    "modelcontextprotocol.io",
    "opencode.ai",
    "qwenlm.github.io",
    "toonformat.dev",
    "www.rfc-editor.org",
    "www.stainless.com",
    "zed.dev",
)
"""Where a page may point."""

TOP = ("README.md", "CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md")

_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def test_every_link_of_a_page_resolves():
    """*Ours*: to a file of this repository, and to a heading in it."""
    faults = [
        f"{name_of(page)}:{number}: {found['target']}"
        for page in PAGES
        for number, line in prose(page)
        for found in _LINK.finditer(line)
        if not found["target"].startswith("https://") and not _resolves(page, *found["target"].partition("#"))
    ]
    assert not faults, "\n".join(faults)


def test_the_index_has_each_page_once_with_a_line_about_it():
    """*Ours*: navigation and `llms.txt` of the site follow the index."""
    index = [page for *_, page, _ in site.index()]
    assert sorted(index) == sorted(
        page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS) and page != DOCS / "README.md"
    )
    assert {part for part, *_ in site.index()} == {"Start", "How-to", "Reference", "Explanation"}


PHRASES = re.compile(
    r"\b(likewise|for who|of which|by then|anew|is told|are told|tells|stands? in|beside it|as it is|in words|whoever"
    r"|is asked|as ever)\b",
    re.IGNORECASE,
)
"""Openings and fillers of no sentence."""


def test_no_sentence_of_the_reference_has_a_filler():
    """VOCABULARY.md, "Prose"."""
    pages = [page for page in PAGES if page.is_relative_to(DOCS / "reference")]
    faults = [place for place, line in placed(pages) if PHRASES.search(line)]
    assert not faults, "\n".join(faults)


def test_a_page_names_no_machine_and_points_nowhere_unexpected():
    """*Ours*: nothing in a page is true at one desk only."""
    faults = [
        place
        for place, line in placed(PAGES, numbered)
        if set(re.findall(r"\bhttps?://([\w.-]+)", line)) - set(HOSTS)
        or re.search(r"(?<![\w.~}/])/(work|root|home|tmp|usr|var)/", line)
        or set(re.findall(r"\b[A-Z]{4,}\.md\b", line)) - set(TOP)
    ]
    assert not faults, "\n".join(faults)


def test_no_text_holds_two_sides_of_a_merge():
    """*Ours*: a tool that merges leaves them, and nothing reads them but people."""
    texts = {*PAGES, *ROOT.glob("*.md"), *(ROOT / "conformance").glob("*.md")}
    assert [place for place, line in placed(texts, numbered) if re.match(r"[<>]{7} ", line)] == []


SCENARIO = r"--scenario sessions|performance-sessions[\w.]*"
"""A scenario of the benchmarks, and the files of its figures."""


def test_a_session_is_that_of_the_protocol():
    """*Ours*: the word has one meaning here, and stands where the protocol is named."""
    faults = [
        place
        for place, line in placed(PAGES, numbered)
        if re.search(r"\bsessions?\b", re.sub(SCENARIO, "", line), re.IGNORECASE)
        and not re.search(r"MCP|protocol|2025-11-25|2026-07-28", line)
    ]
    assert not faults, "\n".join(faults)


def test_each_door_is_a_few_lines():
    """Issue 41: at most 15, without blank ones."""
    page = DOCS / "how-to" / "in-your-own-server.md"
    lengths = {block.file: len(list(filter(None, block.text.split("\n")))) for block in blocks(page) if block.file}
    assert {file: length for file, length in lengths.items() if file.endswith(".py") and length > 15} == {}


def _resolves(page, path, _, heading):
    file = (page.parent / path).resolve() if path else page
    return file.exists() and file.is_relative_to(ROOT) and (not heading or heading in _headings(file))


@cache
def _headings(page):
    """The anchors of a page's headings."""
    titles = [line.lstrip("#").strip() for _, line in prose(page) if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
