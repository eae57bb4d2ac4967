import sys

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def _digits():
    """A gateway sets for its whole process how long integers may be; here others come after it."""
    before = sys.get_int_max_str_digits()
    yield
    sys.set_int_max_str_digits(before)
