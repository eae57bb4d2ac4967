"""Stock clients accept what each of three principals may see."""

import json
import sys
from itertools import cycle

import pytest

from policy.end_to_end import FIELDS, PRINCIPALS, written
from stock.run import CLIENTS, run_driver

pytestmark = pytest.mark.deep

INCLUDE = {"mode": "include", "fields": ["name", "email"]}


@pytest.mark.parametrize(("client", "era", "who"), [(*each, who) for each, who in zip(CLIENTS, cycle(PRINCIPALS))])
def test_a_stock_client_accepts_what_its_principal_sees(client, era, who, tmp_path):
    """PRIVACY.md: masking changes the schema with it; each client has listed it, and throws at what does not fit."""
    options = written(tmp_path, principal=PRINCIPALS[who])
    server = {"command": sys.executable, "args": ["-m", "louver", "serve", *options]}
    calls = [
        {"tool": "get_user_profile", "arguments": {"user_id": 1}},
        {"tool": "get_user_profile", "arguments": {"user_id": 1}, "meta": {"projection": INCLUDE}},
    ]
    whole, projected = run_driver(client, {"target": server, "era": era, "calls": calls})["calls"]
    assert whole["ok"], whole
    assert projected["ok"], projected
    assert set(whole["structuredContent"]) == FIELDS.get(who, set(whole["structuredContent"]))
    assert json.loads(whole["content"][0]["text"]) == whole["structuredContent"]
    assert set(projected["structuredContent"]) == {"name", "email"} & set(whole["structuredContent"])
