"""README's pictures show what the example server answers today, and what the doctor says of stock servers."""

import asyncio
import re
import runpy

import pytest

from docs.pages import ROOT


def test_the_picture_is_drawn_from_todays_answers():
    command = runpy.run_path(str(ROOT / ".ci" / "picture.py"))

    drawn = command["picture"](*asyncio.run(command["outputs"]()))

    assert command["PICTURE"].read_text("utf-8") == drawn, "draw it again: uv run python .ci/picture.py"


@pytest.mark.deep
def test_the_table_is_what_the_doctor_prints_today():
    """Of eight stock servers, whose versions are pinned; a sampled answer can differ by its time."""
    command = runpy.run_path(str(ROOT / ".ci" / "doctor_picture.py"))

    drawn, printed = command["PICTURE"].read_text("utf-8"), command["picture"](command["printed"]())

    assert _lists(drawn) == _lists(printed), "draw it again: uv run python .ci/doctor_picture.py"


def _lists(picture):
    """The rows of the table, by server: its tools, and the tokens of its list."""
    return re.findall(r">   (\w+) +(\d+) +([\d,]+)", picture)
