"""`louver token`."""

import pytest

from fixtures.command import louver


@pytest.mark.parametrize("option", ["--scopes", "--roles"])
def test_words_with_commas_between_are_refused(option):
    """Ours: as one word they would be a role that nobody has."""
    status, out, err = louver("token", "--subject", "ann", option, "support,sales")
    assert (status, out, f"{option} takes words with spaces between" in err) == (2, "", True)
