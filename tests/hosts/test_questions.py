"""Questions about a list that is too long to send, each answered by one call of a real host's model."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter

import pytest

from louver.example import list_issues
from louver.wire.names import ARGUMENT, RESULT_TOOL
from stock.run import StockError

from .scenes import plain
from .stacks import Run, run_all

pytestmark = pytest.mark.deep

ALL = {"state": "all", "limit": 100}
KEPT = {"handle": "$handle"}
CALLS = [
    {"tool": "list_issues", "arguments": ALL},
    {
        "tool": "list_issues",
        "arguments": {**ALL, ARGUMENT: ["$.issues[?@.state == 'open' && @.comments > 10].title"]},
    },
    {"tool": RESULT_TOOL, "arguments": {**KEPT, "count_by": "user.login"}},
    {"tool": RESULT_TOOL, "arguments": {**KEPT, "sort_by": "-created_at", "limit": 5, ARGUMENT: ["issues.title"]}},
]


@pytest.mark.parametrize("host", ["claude-code", "gemini-cli"])
def test_each_question_is_one_call(host, tmp_path):
    """Issue 57: the titles of open issues with more than ten comments; issues by author; the five newest."""
    server = {"command": sys.executable, "args": ["-m", "louver", "serve", "--example"]}
    (file := tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"tracker": server}, "louver": {"argument": "all"}}), "utf-8"
    )
    gateway = {"command": sys.executable, "args": ["-m", "louver", "serve", "--config", str(file)]}
    try:
        [seen] = run_all(host, [Run(gateway, CALLS)], tmp_path)
    except StockError as error:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(str(error))
    assert len(seen.results) == len(CALLS), seen.failed
    page = list_issues(**ALL)
    preview, commented, by_author, newest = map(plain, seen.results)
    busy = [issue.title for issue in page.issues if issue.state == "open" and issue.comments > 10]
    assert [commented.count(f'"{title}"') for title in busy] == [busy.count(title) for title in busy]
    assert commented.count('"title"') == len(busy)
    assert '"handle"' in preview
    authors = Counter(issue.user.login for issue in page.issues)
    assert all(f'{{"value":"{login}","count":{count}}}' in by_author for login, count in authors.items())
    assert newest.count('"title"') == 5
    assert all(f'"{issue.title}"' in newest for issue in page.issues[:5])
    sizes = [len(page.model_dump_json()), *map(len, seen.results)]
    assert max(sizes[1:]) < sizes[0] / 10, sizes
