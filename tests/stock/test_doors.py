"""Stock clients accept each server that `docs/how-to/in-your-own-server.md` shows."""

import pytest

from stock.doors import DOORS, doors
from stock.run import ERAS, run_driver

pytestmark = pytest.mark.deep

CALLS = [
    {"tool": "get_person", "arguments": {"id": 7}},
    {"tool": "get_person", "arguments": {"id": 7}, "meta": {"projection": {"mode": "include", "fields": ["name"]}}},
]
WHOLE = {"id": 7, "name": "Ada", "email": "ada@example.com", "city": "London"}
ALLOWED = {"name": "Ada", "city": "London"}


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    with doors(tmp_path_factory.mktemp("doors")) as found:
        yield found


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(("client", "eras"), ERAS.items(), ids=ERAS)
def test_a_stock_client_accepts_whole_and_projected_answers(client, eras, door, targets):
    """Issue 41: each door, with the newest revision of each client."""
    answer = run_driver(client, {"target": targets[door], "era": eras[-1], "calls": CALLS})
    whole, projected = answer["calls"]
    assert whole["ok"], whole
    assert whole["structuredContent"] == (ALLOWED if door == "policy" else WHOLE)
    assert projected["ok"], projected
    assert projected["structuredContent"] == {"name": "Ada"}
