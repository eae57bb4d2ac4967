"""One authorization server, and one server that takes its tokens, for all tests of a module."""

import pytest

from gateway.login.servers import authorization_server, protected_server, upstream


@pytest.fixture(scope="module")
def issuer():
    with authorization_server() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def server(issuer, tmp_path_factory):
    with protected_server(tmp_path_factory.mktemp("server"), issuer) as served:
        yield upstream(served.url)
