import sys

import pytest

from fixtures.forking import PYTHON


@pytest.fixture(autouse=True)
def forked_helpers(monkeypatch):
    """The suite starts its validator and its stock client for each server."""
    monkeypatch.setattr(sys, "executable", PYTHON)
