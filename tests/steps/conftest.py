import pytest

from steps.profiles import LOWLEVEL, MCPSERVER, build
from steps.wire import NEW, OLD


@pytest.fixture(params=[OLD, NEW])
def era(request):
    """Each protocol revision."""
    return request.param


@pytest.fixture(params=[MCPSERVER, LOWLEVEL])
def profiles(request):
    """The server of profiles, made in each of the two ways."""
    return build(request.param)
