"""The table of refused paths in the reference, made of what the core says.

After a change of what it says, generate it with::

    PYTHONPATH=tests uv run python tests/docs/test_path_errors.py
"""

import pytest

from docs.generated import names, table, with_parts
from docs.pages import DOCS
from louver import Projection
from louver.errors import InvalidPath

PAGE = DOCS / "reference" / "paths.md"

INCLUDED = (
    *("", "items..sku", "items.", "na*", "items]", "items[0]", "items[sku]", "items['sku", "items.[*]", "`items"),
    *("/items~2", "**.sku", "$.items[?@.sku = 1]", "$.items[?@.sku and @.price]"),
    *("$.items[?length(@.sku) > 3]", "$.items[?@.price + 1 > 3]", "$.items[0,'sku']", "a\0", "a\ud800"),
)
EXCLUDED = ("**", "**.*", "**.price.amount", "items.**")


def parts():
    rows = [_row(path, "include") for path in INCLUDED]
    rows += [_row(path, "exclude", " (excluded)") for path in EXCLUDED]
    return {"paths that are refused": table(("path", "is refused with"), rows)}


def _row(path, mode, use=""):
    with pytest.raises(InvalidPath) as refused:
        Projection(**{mode: [path]})
    shown = path if path.isprintable() else repr(path)[1:-1]
    shown = f"`` {shown} ``" if "`" in shown else f"`{shown}`" if shown else "an empty text"
    return f"{shown}{use}", refused.value.message.removeprefix(f"field path {path!r}: ")


def test_the_table_is_what_the_core_says():
    """*Ours*: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    assert names(page) == parts().keys()
    assert page == with_parts(page, parts())


if __name__ == "__main__":
    PAGE.write_text(with_parts(PAGE.read_text(encoding="utf-8"), parts()), encoding="utf-8")
