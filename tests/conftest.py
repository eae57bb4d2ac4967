"""How many examples Hypothesis makes: few by default, 1,000 in CI."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import HealthCheck, settings

_SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

settings.register_profile("quick", max_examples=60, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", max_examples=1000, deadline=None, suppress_health_check=_SLOW, derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick"))


@pytest.fixture(scope="session")
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _digits():
    """A gateway sets for its whole process how long integers may be; here others come after it."""
    before = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(before)
