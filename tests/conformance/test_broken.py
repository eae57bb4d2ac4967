"""The servers of `conformance/broken`: each breaks one sentence, and fails just that; each alteration is found."""

import sys
import threading

import pytest

from conformance.suite import BROKEN, NEW, OLD, OWN, broken, found, in_groups
from louver_conformance.checks import all_checks
from louver_conformance.fixture import Fixture
from louver_conformance.run import run
from louver_conformance.session import Target

sys.path.insert(0, str(BROKEN))
from alterations import ALTERATIONS, EQUAL
from lies import LIES
from server import SERVERS, over_http

CHECKS = {check.id: check.group for check in all_checks()}
VALUES = ("Ann", "Ben", "example.com", "Lisbon", "Porto", "Rua", "door", "bell", "coming", "shelf", "window", "ribbon")
"""Of what the tools of these servers answer: none is ever told."""
FIXTURE = Fixture.read(BROKEN / "fixture.json")

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def at():
    """The URL of a server, by its name."""
    SERVERS.update({str(number): server for number, server in enumerate(ALTERATIONS.values())})
    with over_http() as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield lambda name: Target(url=f"http://127.0.0.1:{http.server_port}/{name}")
        http.shutdown()
        thread.join()


def is_of_the_client(name):
    """Whether the check that a server fails needs the stock client; and one other server in eight."""
    return CHECKS[LIES[name].fails] not in OWN or list(LIES).index(name) % 8 == 0


@in_groups
@pytest.mark.parametrize("era", [OLD, NEW])
@pytest.mark.parametrize("over", ["stdio", "HTTP"])
async def test_the_honest_server_passes_every_check(era, groups, over, at):
    """Ours: so that what fails beside it is the one change."""
    target = broken("Honest") if over == "stdio" else at("Honest")
    report = await run(target, revisions=[era], groups=groups, fixture=FIXTURE)
    assert found(report, "fail", "warn", "not tried") == set()
    assert found(report, "not offered") == ({"grant-in-the-schema"} if era == OLD else set())


@pytest.mark.parametrize(
    ("name", "over"),
    [
        *((name, "HTTP") for name in LIES),
        # There each client of that one has a process.
        *(pytest.param(name, "stdio", marks=pytest.mark.deep) for name in LIES if name != "GrantsShared"),
    ],
)
async def test_a_broken_server_fails_the_check_of_its_sentence_and_no_other(name, over, at):
    """Ours: STYLE, "a test that proves a guard shows it biting"."""
    lie = LIES[name]
    target = broken(name) if over == "stdio" else at(name)
    # The stock client takes longer to start than all else together.
    groups = () if over == "stdio" and is_of_the_client(name) else OWN
    report = await run(target, revisions=[lie.era], groups=groups, fixture=FIXTURE)
    is_tried = not groups or CHECKS[lie.fails] in groups
    assert found(report, "fail", "warn") == ({lie.fails} if is_tried else set())
    told = " ".join(outcome.detail for outcome in report.outcomes)
    assert not [value for value in VALUES if value in told]


NAMES = list(ALTERATIONS)
FIRST = {name.partition(" ")[0]: number for number, name in reversed([*enumerate(NAMES)])}
"""One of each kind."""


@pytest.mark.parametrize(
    ("number", "era"),
    [
        *((number, OLD) for number in FIRST.values()),
        *(pytest.param(number, era, marks=pytest.mark.deep) for number in range(len(NAMES)) for era in (OLD, NEW)),
    ],
)
async def test_an_altered_answer_fails_some_check(number, era, at):
    """Issue 60: but for those that break no sentence."""
    report = await run(at(number), revisions=[era], groups=OWN, fixture=FIXTURE)
    assert bool(found(report, "fail", "warn")) is (NAMES[number] not in EQUAL), NAMES[number]


async def test_nearly_every_check_is_failed_by_a_server():
    """Ours: a check that never fails proves nothing. Of the rest, the first two are failed in `test_run.py`."""
    unbroken = {check.id for check in all_checks()} - {lie.fails for lie in LIES.values()}
    assert unbroken == {"connects", "tools-answer", "gate-opens", "request-is-of-one-client"}
