"""The servers of `conformance/broken`: each breaks one sentence, and fails just that."""

import json

import pytest

from conformance.suite import BROKEN, NEW, OLD, OWN, broken, found, in_groups
from louver_conformance.checks import all_checks
from louver_conformance.fixture import Fixture
from louver_conformance.run import run

EXPECTED = json.loads((BROKEN / "expected.json").read_text("utf-8"))
CHECKS = {check.id: check.group for check in all_checks()}
VALUES = ("Ann", "Ben", "example.com", "Lisbon", "Porto", "Rua", "door", "bell", "coming")
"""Of what the tool of these servers answers: none is ever told."""
FIXTURE = Fixture.read(BROKEN / "fixture.json")

pytestmark = pytest.mark.anyio


def is_of_the_client(name):
    """Whether the check that a server fails needs the stock client; and one other server in eight."""
    return CHECKS[EXPECTED[name]["fails"]] not in OWN or list(EXPECTED).index(name) % 8 == 0


@in_groups
@pytest.mark.parametrize("era", [OLD, NEW])
async def test_the_honest_server_passes_every_check(era, groups):
    """Ours: so that what fails beside it is the one change."""
    report = await run(broken("honest"), revisions=[era], groups=groups, fixture=FIXTURE)
    assert found(report, "fail", "warn", "not tried") == set()
    assert found(report, "not offered") == ({"grant-in-the-schema"} if era == OLD else set())


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        *((name, OWN) for name in EXPECTED),
        # The stock client takes longer to start than all else together.
        *(pytest.param(name, (), marks=pytest.mark.deep) for name in EXPECTED if is_of_the_client(name)),
    ],
)
async def test_a_broken_server_fails_the_check_of_its_sentence_and_no_other(name, groups):
    """Ours: STYLE, "a test that proves a guard shows it biting"."""
    expected = EXPECTED[name]
    report = await run(broken(name), revisions=[expected.get("era", OLD)], groups=groups, fixture=FIXTURE)
    is_tried = not groups or CHECKS[expected["fails"]] in groups
    assert found(report, "fail", "warn") == ({expected["fails"]} if is_tried else set())
    told = " ".join(outcome.detail for outcome in report.outcomes)
    assert not [value for value in VALUES if value in told]


async def test_every_server_is_expected_to_fail_something():
    """Ours."""
    assert {path.stem for path in BROKEN.glob("*.py")} == {*EXPECTED, "honest"}


async def test_nearly_every_check_is_failed_by_a_server():
    """Ours: a check that never fails proves nothing. Of the rest, the first two are failed in `test_run.py`."""
    unbroken = {check.id for check in all_checks()} - {expected["fails"] for expected in EXPECTED.values()}
    assert unbroken == {"connects", "tools-answer", "gate-opens", "request-is-of-one-client"}
