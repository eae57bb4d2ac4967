"""Stock clients accept previews of results that are kept, and what is said beside answers."""

import json
import sys
from pathlib import Path

import pytest

from stock.run import CLIENTS, run_driver

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
COMPANY = {"command": sys.executable, "args": ["-m", "tests.fixtures.company"], "cwd": str(ROOT)}
RULE = {"when": {"overBytes": 1}, "note": "There is something in it.", "workflow": ["Look."]}
GUIDANCE = "GUIDANCE: There is something in it.\n1. Look."

CALLS = [
    ("get_user_profile", {"user_id": 7}),
    ("list_issues", {"limit": 50}),
    ("search_orders", {"text": "a", "limit": 50}),
    ("get_order_tree", {"order_id": 1}),
    ("list_labels", {}),
    ("export_stats", {}),
]


def answers(client, era, folder, **louver):
    """What a client makes of the company's answers, through a gateway."""
    path = folder / "mcp.json"
    servers = {"shop": {**COMPANY, "louver": {"guidance": [RULE]}}}
    path.write_text(json.dumps({"mcpServers": servers, "louver": louver}))
    server = {"command": sys.executable, "args": ["-m", "louver", "serve", "--config", str(path)]}
    calls = [{"tool": tool, "arguments": arguments} for tool, arguments in CALLS]
    return run_driver(client, {"target": server, "era": era, "calls": calls})["calls"]


def seen(got):
    """What a client that is in no table may see of what is said: in the texts, and in the structured content."""
    member = got["structuredContent"] and got["structuredContent"]["louver"]
    texts = [block["text"] for block in got["content"]]
    if member and len(texts) == 1:
        texts = json.loads(texts[0])["louver"]
    return [shown for shown in (texts, member) if shown]


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_stock_client_accepts_previews(client, era, tmp_path):
    """WIRE.md: each has listed the schemas, and throws at structured content that does not fit."""
    found = answers(client, era, tmp_path, keepResults=10)
    for (tool, _), got in zip(CALLS, found, strict=True):
        assert got["ok"], (tool, got)
        assert not got["isError"]
        for preview, guidance in seen(got):
            assert "read_result {" in preview, tool
            assert guidance == GUIDANCE, tool


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_a_stock_client_accepts_what_is_said_beside_answers(client, era, tmp_path):
    """HOSTS.md: where its host shows it; one that is in no table gets it in both forms."""
    found = answers(client, era, tmp_path, warnings=True, keepResults=False)
    warned = set()
    for (tool, _), got in zip(CALLS, found, strict=True):
        assert got["ok"], (tool, got)
        for shown in seen(got):
            assert GUIDANCE in shown, tool
            warned |= {tool for text in shown if text.startswith("TOKEN_WARNING: About ")}
    assert warned == {"list_issues"}
