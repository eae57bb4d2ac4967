import pytest

from client.servers import MODES


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=MODES.values(), ids=MODES)
def mode(request):
    """How a client opens, for each protocol revision."""
    return request.param
