"""README's picture shows what the example server answers today."""

import asyncio
import runpy

from docs.pages import ROOT


def test_the_picture_is_drawn_from_todays_answers():
    command = runpy.run_path(str(ROOT / ".ci" / "picture.py"))

    drawn = command["picture"](*asyncio.run(command["outputs"]()))

    assert command["PICTURE"].read_text("utf-8") == drawn, "draw it again: uv run python .ci/picture.py"
