import pytest

from client.servers import MODES


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    """How a client opens, for each protocol revision."""
    return request.param
