"""The system prompt that the documentation recommends."""

from docs.pages import DOCS, blocks
from louver.steps.disclosure.texts import ENFORCED


def test_the_page_shows_the_guidance_that_servers_give():
    """000 section 8.2: word for word."""
    shown = [
        block.text for block in blocks(DOCS / "how-to" / "describe-tools-on-demand.md") if block.language == "text"
    ]
    assert f"{ENFORCED.instructions}\n" in shown
