"""Words that are one slip away."""

from hypothesis import given
from hypothesis import strategies as st

from louver.catalogue.search.words import near

WORDS = st.text(st.sampled_from("abcde9"), min_size=1, max_size=8)


def distance(one, other):
    """Damerau and Levenshtein's, where no two letters that changed places change again."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def test_each_kind_of_slip():
    """Ours: a letter too few, too many, another, two that changed places."""
    for slip in ("databse", "databaase", "datavase", "dtaabase"):
        assert near(slip, {"database", "data", "base"}) == ["database"]


@given(WORDS, st.sets(WORDS))
def test_just_the_words_at_a_distance_of_at_most_one_are_near(word, known):
    """Ours."""
    assert near(word, known) == sorted(other for other in known if distance(word, other) <= 1)
