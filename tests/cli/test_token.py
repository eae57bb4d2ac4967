"""`louver token`."""

import pytest

from louver.cli import main


@pytest.mark.parametrize("option", ["--scopes", "--roles"])
def test_words_with_commas_between_are_refused(option, capsys):
    """Ours: as one word they would be a role that nobody has."""
    assert main(["token", "--subject", "ann", option, "support,sales"]) == 2
    told = capsys.readouterr()
    assert (told.out, f"{option} takes words with spaces between" in told.err) == ("", True)
