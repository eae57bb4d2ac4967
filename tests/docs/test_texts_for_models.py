"""The texts of the page on what models read, each from a gateway in this process (`model_texts.py`).

Each section is between `<!-- name -->` and `<!-- end -->`. After a change of a text, write them with::

    uv run --group bench python tests/docs/test_texts_for_models.py
"""

import re
import sys
import textwrap
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import anyio
import pytest

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "tests"))

from docs.generated import names, with_parts  # noqa: E402
from docs.model_texts import all_texts  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "texts-for-models.md"

MAX_CELL = 200
"""Characters of a text that a table has room for; a longer one, or one of several lines, is a block."""

_COUNT = re.compile(r"(?<= \| )\d+(?= \|$)|(?<=: )\d+(?= tokens$)", re.MULTILINE)


def made(page, count):
    """The page with its texts as they are, and their tokens."""
    return with_parts(page, {name: _section(each, count) for name, each in texts().items()})


@cache
def texts():
    return anyio.run(all_texts)


def tokens(text):
    """The tokens of a text with o200k."""
    import bpe_openai

    return len(bpe_openai.get_encoding("o200k_base").encode_ordinary(text))


def _section(texts, count):
    cells = {when: text for when, text in texts.items() if "\n" not in text and len(text) <= MAX_CELL}
    rows = ["| when | text | tokens |", "|---|---|---|"]
    rows += [f"| {when} | {_code(text)} | {count(text)} |" for when, text in cells.items()]
    found = ["\n".join(rows)] if cells else []
    found += [
        f"{when}: {count(text)} tokens\n\n```text\n{_wrapped(text)}\n```"
        for when, text in texts.items()
        if when not in cells
    ]
    return "\n\n".join(found) + "\n"


def _code(text):
    """The text as code in a table."""
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}".replace("|", "\\|")


def _wrapped(text):
    wrap = textwrap.TextWrapper(120, break_long_words=False, break_on_hyphens=False)
    return "\n".join(wrap.fill(line) for line in text.split("\n"))


def test_the_page_has_the_texts_that_models_read():
    """*Ours*: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    assert names(page) == texts().keys()
    assert _COUNT.sub("", page) == _COUNT.sub("", made(page, lambda _: 0))


@pytest.mark.filterwarnings("ignore:open_binary:DeprecationWarning")
@pytest.mark.skipif(find_spec("bpe_openai") is None, reason="the tokenizer is of the dependency group `bench`")
def test_the_page_has_their_tokens():
    """*Ours*."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == made(page, tokens)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8"), tokens), encoding="utf-8")
