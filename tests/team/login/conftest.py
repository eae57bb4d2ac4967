"""One server that wants a login, for all tests of a module: one of the SDK, or ours with a certified issuer."""

import pytest

from gateway.served import at_a_url
from team.login.servers import authorization_server, protected_server, upstream


@pytest.fixture(scope="module", params=["sdk", pytest.param("oidc-provider", marks=pytest.mark.deep)])
def server_and_issuer(request, tmp_path_factory):
    if request.param == "sdk":
        with at_a_url("sdk_authorization") as url:
            yield upstream(url), url.removesuffix("/mcp")
        return
    with (
        authorization_server() as issuer,
        protected_server(tmp_path_factory.mktemp("server"), issuer) as served,
    ):
        yield upstream(served.url), issuer


@pytest.fixture(scope="module")
def server(server_and_issuer):
    return server_and_issuer[0]


@pytest.fixture(scope="module")
def issuer(server_and_issuer):
    return server_and_issuer[1]
