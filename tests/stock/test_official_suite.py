"""The official conformance suite against the fixture server and with the fixture client, nothing in between.

The scores that a gateway between the two must not lower are these. They are full; where a number changes, the
suite's version in `package.json` has changed, or the SDK.
"""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from gateway.gateways import gateway
from gateway.served import stateless

from .run import HANDSHAKE, STATELESS, StockError
from .suite import client_score, server_score

pytestmark = pytest.mark.deep

FIXTURES = Path(__file__).parents[1] / "fixtures"

CLIENT = [sys.executable, str(FIXTURES / "suite_client.py")]

SERVER_CHECKS = {HANDSHAKE: (33, 84), STATELESS: (40, 152)}
"""How many scenarios a revision has, and how many checks these make of the fixture server."""

CLIENT_CHECKS = {
    ("tools_call", HANDSHAKE): 2,
    ("tools_call", STATELESS): 2,
    ("elicitation-sep1034-client-defaults", HANDSHAKE): 5,
    ("sse-retry", HANDSHAKE): 3,
    ("request-metadata", STATELESS): 8,
    ("http-standard-headers", STATELESS): 9,
    ("http-custom-headers", STATELESS): 18,
    ("http-invalid-tool-headers", STATELESS): 12,
    ("json-schema-ref-no-deref", STATELESS): 1,
    ("json-schema-2020-12-preservation", HANDSHAKE): 9,
    ("json-schema-2020-12-preservation", STATELESS): 9,
    ("sep-2322-client-request-state", STATELESS): 5,
}
"""How many checks a scenario makes of the fixture client."""

NOT_SENT = {"ClientMcpMethodHeader_initialize", "ClientMcpMethodHeader_notifications_initialized"}
"""Skipped by the suite, because 2026-07-28 has no such messages."""


@contextmanager
def everything():
    """The URL of the fixture server, with a tool that can be projected; it lives as long as the block."""
    command = [sys.executable, str(FIXTURES / "everything.py"), "--structured", "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = process.stdout.readline().strip()
            if not url:
                pytest.fail("the fixture server ended before it served; its stderr says why")
            yield url
        finally:
            process.terminate()


@pytest.mark.parametrize("revision", SERVER_CHECKS)
def test_the_fixture_server_passes_every_check_of_the_official_suite(revision):
    """The suite's own sentences, `--suite all`."""
    with everything() as url:
        score = server_score(url, revision)
    assert score.others == {}
    assert (len(score), score.passed) == SERVER_CHECKS[revision]


@pytest.mark.parametrize(("scenario", "revision"), CLIENT_CHECKS)
def test_the_fixture_client_passes_every_check_of_a_scenario(scenario, revision):
    """The suite's own sentences."""
    score = client_score(CLIENT, scenario, revision)
    missed = [check for checks in score.others.values() for check in checks if check.name not in NOT_SENT]
    assert missed == []
    assert score.passed == CLIENT_CHECKS[scenario, revision]


def test_a_server_that_does_not_answer_passes_no_scenario():
    """Ours: it is a score, and one that shows it; single checks pass, such as that no message was malformed."""
    score = server_score("http://127.0.0.1:9/mcp", HANDSHAKE)
    assert len(score) == SERVER_CHECKS[HANDSHAKE][0]
    assert score.others.keys() == score.keys()


def test_a_client_that_breaks_off_is_no_score():
    """Ours: some checks pass by what was not done, so what a broken client did not do must not count."""
    with pytest.raises(StockError, match="CLIENT EXITED WITH ERROR"):
        client_score([sys.executable, "-c", "raise SystemExit(3)"], "http-standard-headers", STATELESS)


def test_a_scenario_that_a_revision_does_not_have_is_no_score():
    """Ours: the suite skips it and is content."""
    with pytest.raises(StockError, match="SKIPPED"):
        client_score(CLIENT, "sse-retry", STATELESS)


def without_streams(score):
    """Without the check that is made only where an answer is a stream: the gateway's is JSON if it comes at once."""
    return {
        scenario: [check for check in checks if check.id != "server-sse-streams-functional"]
        for scenario, checks in score.items()
    }


@pytest.mark.parametrize("revision", [HANDSHAKE, STATELESS])
def test_through_the_gateway_the_score_is_the_same(revision):
    """GATEWAY.md, "Transparency first": in its default configuration, check by check."""
    with everything() as url:
        direct = without_streams(server_score(url, revision))
        with gateway("--url", url) as through:
            assert without_streams(server_score(through, revision)) == direct
            listed = {
                tool["name"]: tool for tool in httpx2.post(through, **stateless("tools/list")).json()["result"]["tools"]
            }
    # It was so though one of the tools is not listed as the server lists it.
    assert "output_fields" in listed["test_structured_content"]["inputSchema"]["properties"]


@pytest.mark.parametrize(("scenario", "revision"), CLIENT_CHECKS)
def test_a_server_of_the_suite_sees_a_good_client_through_the_gateway(scenario, revision):
    """GATEWAY.md: and what it checks of a client it checks of the gateway."""
    score = client_score([sys.executable, str(FIXTURES / "through_gateway.py")], scenario, revision)
    missed = [check for checks in score.others.values() for check in checks if check.name not in NOT_SENT]
    assert missed == []
    assert score.passed == CLIENT_CHECKS[scenario, revision]
