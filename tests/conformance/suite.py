"""Runs of the suite: in this process, against a target in another one."""

from pathlib import Path

import pytest

from fixtures.forking import PYTHON
from louver_conformance.checks import GROUPS
from louver_conformance.fixture import Fixture
from louver_conformance.run import run
from louver_conformance.session import HANDSHAKE, STATELESS, Target

BROKEN = Path(__file__).parents[2] / "conformance" / "broken"
OLD, NEW = HANDSHAKE, STATELESS
LOUVER = (PYTHON, "-m", "louver")

HONEST = f"""\
import json, sys
sys.path.insert(0, {str(BROKEN)!r})
from honest import *
from server import serve
class Server(Honest):
 """
"""Code of a class that a method follows."""

PEOPLE = Fixture(
    {
        "get_user_profile": [{"user_id": 7}, {"user_id": 8}],
        "get_issue": [{"number": 1}, {"number": 2}],
        "list_issues": [{"limit": 3}],
        "gateway": [{"action": "list"}],
        "list-server-tools": [{"luaServerName": "upstream"}],
    }
)
"""Arguments for the tools of the example, and for those of the gateway before it."""


def script(path):
    """A target that is a file of Python."""
    return Target(command=(PYTHON, str(path)))


def broken(name):
    """A server of `conformance/broken`, over standard input and output."""
    return Target(command=(PYTHON, str(BROKEN / "server.py"), name))


def inline(code):
    """A target that is a few lines of Python."""
    return Target(command=(PYTHON, "-c", code))


def found(report, *statuses):
    """The checks that came out so."""
    return {outcome.check.id for outcome in report.outcomes if outcome.status in statuses}


OWN = GROUPS[:-1]
in_groups = pytest.mark.parametrize(
    "groups", [pytest.param(OWN, id="own"), pytest.param((), id="all", marks=pytest.mark.deep)]
)
"""Without the stock client, which takes longer to start than all else together; and with it."""


async def failures(target, *revisions, groups=(), fixture=None):
    """The checks that a target does not pass."""
    return found(await run(target, revisions=revisions, groups=groups, fixture=fixture), "fail", "warn")
