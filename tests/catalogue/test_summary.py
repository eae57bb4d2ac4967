"""Summaries: one sentence of a description, enough to choose a tool by."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.corpus import catalogue
from fixtures.growth import superlinear
from louver.catalogue.summary import MAX_SUMMARY, summary

CASES = {
    "one sentence": ("Get one issue.", "Get one issue."),
    "the first of two": ("Get one issue. It has a text.", "Get one issue."),
    "without an end": ("Get one issue", "Get one issue"),
    "over two lines": ("Get one\n    issue. More.", "Get one issue."),
    "the first paragraph": ("\n  Get one issue\n\nIt has a text.", "Get one issue"),
    "up to the parameters": ("Get one issue\nArgs:\n    number: of the issue", "Get one issue"),
    "up to an example": ("Get one issue\n  Example usage: get_issue(7)", "Get one issue"),
    "up to a list": ("Get what there is:\n- issues\n- orders", "Get what there is"),
    "up to numbers": ("Get what there is\n1. issues", "Get what there is"),
    "a list from the start": ("- Get one issue.", "- Get one issue."),
    "without Markdown": ("## Get **one** issue.\nMore", "Get one issue."),
    "without tags": ("<usecase>Get one issue.</usecase> <note>More.</note>", "Get one issue."),
    "a comparison is no tag": ("Get issues with n < 7 and m > 5.", "Get issues with n < 7 and m > 5."),
    "a question": ("Which issues are open? This tells.", "Which issues are open?"),
    "in quotes": ('Get the issue "first." Then more.', 'Get the issue "first."'),
    "a point within a word": ("Read config.json of node.js 2.1 now. More.", "Read config.json of node.js 2.1 now."),
    "abbreviations": ("Compare A vs. B, approx. And more. Then C.", "Compare A vs. B, approx. And more."),
    "initials": ("Find works of J. Smith here. More.", "Find works of J. Smith here."),
    "a lower case word after the end": ("Runs npm. pnpm too. More.", "Runs npm. pnpm too."),
    "a short one gets the next": ("Search. Finds orders by text. More.", "Search. Finds orders by text."),
    "without examples": ("Draw a chart of numbers, such as sales. More.", "Draw a chart of numbers."),
    "nor in brackets": ("Find positions (e.g., of a bishop) in a game. More.", "Find positions in a game."),
    "not if nothing else is left": ("Such as it is, a tool.", "Such as it is, a tool."),
    "in Chinese": (
        "\u83b7\u53d6\u4e00\u4e2a\u95ee\u9898\u7684\u5168\u90e8\u5185\u5bb9\u3002\u66f4\u591a\u3002",
        "\u83b7\u53d6\u4e00\u4e2a\u95ee\u9898\u7684\u5168\u90e8\u5185\u5bb9\u3002",
    ),
    "control and direction marks": ("Get\x00 one\x1b \u202eissue\u202c.", "Get one issue."),
}


@pytest.mark.parametrize(("text", "said"), CASES.values(), ids=CASES)
def test_the_summary_is_the_first_sentence(text, said):
    """000 section 3.1: no parameters, examples or instructions; how a sentence is found is ours."""
    assert summary(text, "t") == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("get_user_profile", "Get user profile."),
        ("getHTTPStatus2", "Get http status 2."),
        ("fetch-content", "Fetch content."),
        ("git.log", "Git log."),
        ("\u67e5\u8be2", "\u67e5\u8be2."),
        ("__", "__"),
    ],
)
@pytest.mark.parametrize("text", [None, "", " \n "])
def test_a_tool_without_a_description_is_summed_up_by_its_name(text, name, said):
    """Ours: a model must have something to choose by."""
    assert summary(text, name) == said


def test_a_long_sentence_is_cut_at_a_word():
    """Ours."""
    said = summary("word, " * 100, "t")
    assert said.endswith("word…")
    assert MAX_SUMMARY - 10 < len(said) <= MAX_SUMMARY
    assert len(summary("x" * 500, "t")) == MAX_SUMMARY


@given(
    st.text(max_size=400)
    | st.lists(st.sampled_from(["Get it. ", "e.g. ", "a", "\n\n", "- ", "…", "such as "])).map("".join)
)
@example("A" * 199 + ". B. C")
def test_a_summary_is_short_stands_on_one_line_and_is_its_own(text):
    """Ours, a law."""
    said = summary(text, "get_it")
    assert 0 < len(said) <= MAX_SUMMARY
    assert said == " ".join(said.split())
    assert summary(said, "get_it") == said


def test_real_descriptions_get_shorter_and_none_is_empty():
    """Ours: 527 tools of public servers; in all, a quarter is left."""
    tools = catalogue()
    said = [summary(tool.get("description"), tool["name"]) for tool in tools]
    assert len(said) == 527
    assert min(map(len, said)) >= 5
    assert sum(map(len, said)) < sum(len(tool.get("description") or "") for tool in tools) / 3


def test_the_cost_of_a_summary_is_linear_in_the_description(monkeypatch):
    """TRUST.md, row 15; also if all of a description were read."""
    monkeypatch.setattr("louver.catalogue.summary._READ", 10**9)
    layout = [" ", "\t", "\n", "- ", "1. ", "# ", "`", "<a", "args", ":"]
    sentences = ["a", "A", ".", ". A", "e.g. A", '."', ",", "(", "(such as", "such as "]
    assert superlinear(lambda text: summary(text, "t"), layout + sentences, "Get one ") == {}
    assert superlinear(lambda name: summary("", name), ["A", "a", "0", "_", "\u67e5"]) == {}
