"""Options whose value is one of a few words."""

import pytest

from louver.core.nearest import check_choice
from louver.errors import LouverError


def test_a_word_that_there_is_passes():
    """Ours."""
    check_choice("listing", "omit", ("relaxed", "omit"))


@pytest.mark.parametrize("said", ["omits", "", None, ["omit"], {}])
def test_anything_else_is_refused_with_what_there_is(said):
    """STYLE.md: what, where, and what would have been right."""
    with pytest.raises(LouverError) as refused:
        check_choice("listing", said, ("relaxed", "omit"))
    assert refused.value.message == f"'listing' is one of 'relaxed', 'omit', not {said!r}"
