from pathlib import Path

import pytest

from client.servers import MODES
from fixtures.tables import rows_in_turn


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    rows_in_turn(config, items, Path(__file__).parent, "mode")


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    """How a client opens, for each protocol revision; of a table of a test, each row has one."""
    return request.param
