"""The site of the documentation, built as it is published."""

import re
import subprocess
import tomllib

import pytest

from docs.pages import DOCS, PAGES, ROOT, site
from stock.run import python_with

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def python():
    """An interpreter with the packages of the group `docs`."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    return str(python_with(*(each for each in groups["docs"] if isinstance(each, str))))


@pytest.fixture(scope="module")
def built(python, tmp_path_factory):
    """The folder of the build: `docs`, the configuration, and `site`."""
    folder = tmp_path_factory.mktemp("build")
    done = subprocess.run([python, DOCS / "site.py", folder], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_page_is_in_the_site_and_its_navigation(built):
    """*Ours*: under four parts."""
    navigation = tomllib.loads((built / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    assert [name for part in navigation for name in part] == ["Start", "How-to", "Reference", "Explanation"]
    pages = {page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS)}
    assert set(_pages(navigation)) == pages
    for page in pages - {"README.md"}:
        assert (built / "site" / page.removesuffix(".md") / "index.html").is_file()


def test_llms_txt_has_a_line_for_each_page_and_its_markdown(built):
    """*Ours*."""
    lines = (built / "site" / "llms.txt").read_text(encoding="utf-8").split("\n")
    for *_, page, line in site.index():
        address = f"{page.removesuffix('.md')}/index.md"
        assert len([found for found in lines if f"/{address}>" in found and found.endswith(f"): {line}")]) == 1, page
        assert (built / "site" / address).is_file()


def test_a_page_loads_nothing_from_another_host(built):
    """*Ours*: no fonts, scripts, styles or images."""
    for file in [*(built / "site").rglob("*.html"), *(built / "site").rglob("*.css")]:
        text = file.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="?((?:https?:)?//[^">\s]+)', text)
        loaded += re.findall(
            r'<link\b(?![^>]*rel="?(?:canonical|next|prev|alternate))[^>]*href="?((?:https?:)?//[^">\s]+)', text
        )
        loaded += re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')\s]+)", text)
        assert loaded == [], file


def test_a_broken_link_stops_the_build(python, built):
    """*Ours*, of these tests themselves."""
    with (built / "docs" / "reference" / "views.md").open("a", encoding="utf-8") as page:
        page.write("\n[nowhere](requests.md#nowhere)\n")
    command = [python, "-m", "zensical", "build", "--strict", "--config-file", built / "zensical.toml"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode != 0
    assert "anchor does not exist" in done.stdout + done.stderr


def _pages(navigation):
    for entry in navigation:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else _pages(below)
