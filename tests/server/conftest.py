from pathlib import Path
from zlib import crc32

import pytest

from fixtures.tables import rows_in_turn
from server.profiles import LOWLEVEL, MCPSERVER, build
from server.wire import NEW, OLD


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    rows_in_turn(config, items, Path(__file__).parent, "era")


@pytest.fixture(params=[OLD, NEW])
def era(request):
    """Each protocol revision; of a table of a test, each row has one."""
    return request.param


@pytest.fixture
def profiles(request, era):
    """The server of profiles, in each revision made in one of the two ways; in which, the name of the test decides."""
    is_first = crc32(request.function.__name__.encode()) % 2 == 0
    return build(MCPSERVER if is_first == (era == OLD) else LOWLEVEL)
