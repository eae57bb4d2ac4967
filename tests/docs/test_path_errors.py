"""The table of refused paths in the reference, made of what the core says.

After a change of what it says, generate it with::

    PYTHONPATH=tests uv run python tests/docs/test_path_errors.py
"""

import re

import pytest

from docs.pages import DOCS
from louver import Projection
from louver.errors import InvalidPath

PAGE = DOCS / "reference" / "paths.md"

INCLUDED = (
    *("", "items..sku", "items.", "na*", "items]", "items[0]", "items[?(@.id==1)]", "items[sku]", "items['sku"),
    *(
        "items.[*]",
        "`items",
        "/items~2",
        "**.sku",
        "$.items[?(@.sku)]",
        "$..sku",
        "$.prénom",
        r"$.a\b",
        "a\0",
        "a\ud800",
    ),
)
EXCLUDED = ("**", "**.*", "**.price.amount", "items.**")

_TABLE = re.compile(r"(?<=<!-- paths that are refused -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def made(page):
    """The page with its table as the core has it."""
    rows = [_row(path, "include") for path in INCLUDED]
    rows += [_row(path, "exclude", " (excluded)") for path in EXCLUDED]
    return _TABLE.sub(lambda _: "\n| path | is refused with |\n|---|---|\n" + "".join(rows) + "\n", page)


def _row(path, mode, use=""):
    with pytest.raises(InvalidPath) as refused:
        Projection(**{mode: [path]})
    shown = path if path.isprintable() else repr(path)[1:-1]
    shown = f"`` {shown} ``" if "`" in shown else f"`{shown}`" if shown else "an empty text"
    return f"| {shown}{use} | {refused.value.message.removeprefix(f'field path {path!r}: ')} |\n"


def test_the_table_is_what_the_core_says():
    """*Ours*: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    assert _TABLE.search(page)
    assert page == made(page)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
