"""The official conformance suite's scenarios for clients that log in, with a gateway as the client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stock.run import HANDSHAKE, STATELESS
from stock.suite import client_score

pytestmark = pytest.mark.deep

CLIENT = [sys.executable, str(Path(__file__).parent / "suite_login.py")]

CHECKS = {
    ("auth/metadata-default", STATELESS): 18,
    ("auth/metadata-default", HANDSHAKE): 19,
    ("auth/metadata-var1", STATELESS): 18,
    ("auth/metadata-var2", STATELESS): 18,
    ("auth/metadata-var3", STATELESS): 18,
    ("auth/basic-cimd", STATELESS): 12,
    ("auth/scope-from-www-authenticate", STATELESS): 14,
    ("auth/scope-from-scopes-supported", STATELESS): 14,
    ("auth/scope-omitted-when-undefined", STATELESS): 14,
    ("auth/scope-step-up", STATELESS): 24,
    ("auth/scope-step-up", HANDSHAKE): 22,
    ("auth/scope-retry-limit", STATELESS): 23,
    ("auth/token-endpoint-auth-basic", STATELESS): 19,
    ("auth/token-endpoint-auth-post", STATELESS): 19,
    ("auth/token-endpoint-auth-none", STATELESS): 19,
    ("auth/pre-registration", STATELESS): 12,
    ("auth/resource-mismatch", STATELESS): 2,
    ("auth/offline-access-scope", STATELESS): 15,
    ("auth/offline-access-not-supported", STATELESS): 14,
    ("auth/authorization-server-migration", STATELESS): 27,
    ("auth/iss-supported", STATELESS): 14,
    ("auth/iss-not-advertised", STATELESS): 14,
    ("auth/iss-supported-missing", STATELESS): 8,
    ("auth/iss-wrong-issuer", STATELESS): 8,
    ("auth/iss-unexpected", STATELESS): 8,
    ("auth/iss-normalized", STATELESS): 8,
    ("auth/metadata-issuer-mismatch", STATELESS): 3,
    ("auth/client-credentials-basic", None): 9,
}
"""How many checks a scenario makes."""


@pytest.mark.parametrize(
    ("scenario", "revision"),
    CHECKS,
)
def test_a_gateway_passes_every_check_of_a_scenario(scenario, revision):
    """Step 17: the suite's own sentences."""
    score = client_score(CLIENT, scenario, revision)
    assert score.others == {}
    assert score.passed == CHECKS[scenario, revision]
