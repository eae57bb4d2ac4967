"""Stems, in any thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from louver.catalogue.search.text_index import stems


def test_words_of_one_stem_are_one():
    """Ours: Porter's stemmer, for words of three letters or more."""
    assert stems(["reports", "reporting", "report", "v2.0", "", "js"]) == ["report"] * 3 + ["v2.0", "", "js"]
    assert stems([]) == []


def test_no_stem_depends_on_what_was_stemmed_before_or_at_the_same_time():
    """Ours: every worker of a server ranks alike."""
    words = [f"{word}{number}" for number in range(50) for word in ("reports", "issues", "files")]
    expected = stems(words)
    with ThreadPoolExecutor(8) as threads:
        assert (
            list(threads.map(stems, [words, words[:10], words[::-1]] * 20))
            == [
                expected,
                expected[:10],
                expected[::-1],
            ]
            * 20
        )
