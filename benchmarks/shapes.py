"""Values of four shapes, each of an exact size, from a seeded source of numbers.

    issue_page(rng, 1_000)    {"total": 1, "items": [{"id": ..., "title": ..., "body": ...}]}

A size is in bytes of compact JSON. What structure does not fill is filled by text, so that it
is met at 1 kB as well as at 10 MB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.models import COLUMNS
from benchmarks.words import date, text
from louver.core.json import compact

if TYPE_CHECKING:
    from random import Random

    from louver.core.json import Json

ISSUE_BYTES = 4_000
"""Mean size of an issue with its long text; GitHub's are of 4 to 6 kB."""

BRANCH_BYTES = 4_000
BRANCH_LEVELS = 19

_HOST = "https://api.example.dev"
_LABELS = ("bug", "docs", "feature", "good first issue", "help wanted")


def issue_page(rng: Random, size: int) -> Json:
    """A page of issues, newest first."""
    count = max(1, size // ISSUE_BYTES)
    issue = _issue if size >= ISSUE_BYTES else _small_issue
    items = [issue(rng, count - position) for position in range(count)]
    return _filled(rng, {"total": count, "items": items}, items, "body", size)


def _issue(rng: Random, number: int) -> dict[str, Any]:
    issue = _small_issue(rng, number)
    issue["title"] = text(rng, rng.randint(30, 70))
    issue["labels"] = [_label(rng, name, text(rng, 40)) for name in rng.sample(_LABELS, rng.randint(0, 3))]
    if rng.random() < 0.4:
        issue["assignee"] = _user(rng)
        issue["assignees"] = [issue["assignee"], _user(rng)]
    if rng.random() < 0.4:
        issue |= {"state": "closed", "state_reason": "completed", "closed_at": date(rng), "closed_by": _user(rng)}
    return issue


def _small_issue(rng: Random, number: int) -> dict[str, Any]:
    url = f"{_HOST}/issues/{number}"
    return {
        "id": rng.randint(10**6, 10**7),
        "node_id": f"I_{number}",
        "url": url,
        "html_url": f"{url}.html",
        "number": number,
        "title": text(rng, 10),
        "user": _user(rng),
        "labels": [_label(rng, "bug", None)],
        "state": "open",
        "state_reason": None,
        "locked": False,
        "lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": rng.randint(0, 40),
        "created_at": date(rng),
        "updated_at": date(rng),
        "closed_at": None,
        "closed_by": None,
        "association": "MEMBER",
        "body": "",
        "draft": False,
        "reactions": {"total_count": 3, "laugh": 1, "heart": 2},
        "timeline_url": f"{url}/timeline",
        "type": None,
        "score": rng.randint(1, 99) + 0.5,
        "pinned": False,
        "sub_issues": 0,
        "language": "en",
    }


def _user(rng: Random) -> dict[str, Any]:
    number = rng.randint(100, 999)
    url = f"{_HOST}/u/{number}"
    user = {"login": f"user{number}", "id": number, "url": url, "avatar_url": f"{url}.png"}
    return {**user, "type": "User", "site_admin": False}


def _label(rng: Random, name: str, described: str | None) -> dict[str, Any]:
    return {"id": rng.randint(1, 99), "name": name, "color": "d73a4a", "default": True, "description": described}


def profile(rng: Random, size: int) -> Json:
    """One wide object: three quarters of it history, most of the rest a long text."""
    value = {
        "id": rng.randint(1, 10**6),
        "login": "octavia",
        "name": "Octavia Example",
        "company": None,
        "bio": "",
        "created_at": date(rng),
        "contact": {"email": "o@example.dev", "phone": "+1 555 0100", "website": None},
        "address": {"street": "1 Long Road", "city": "Lyon", "zip": "69001", "country": "FR"},
        "preferences": {"language": "fr", "theme": "dark", "timezone": "Europe/Paris", "digest": True},
        "badges": ["founder", "speaker"],
        "followers": 120,
        "following": 80,
        "history": [_event(rng) for _ in range(max(1, size * 3 // 4 // 200))],
    }
    return _filled(rng, value, [value], "bio", size)


def _event(rng: Random) -> dict[str, Any]:
    return {
        "at": date(rng),
        "action": rng.choice(("push", "merge", "review")),
        "target": "repo/main",
        "note": text(rng, rng.randint(0, 200)),
    }


def table(rng: Random, size: int) -> Json:
    """Rows of 60 columns; the last holds what is missing to `size`."""
    rows = [_row(rng)]
    rows += [_row(rng) for _ in range(size // (len(compact(rows[0])) + 8) - 1)]
    return _filled(rng, {"total": len(rows), "rows": rows}, rows[-1:], "label_14", size)


def _row(rng: Random) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name in COLUMNS:
        number = rng.randint(0, 9)
        kinds = {"count": number, "ratio": number + 0.5, "label": "abcdefghi"[:number], "flag": number > 4}
        row[name] = kinds[name.split("_")[0]]
    return row


def tree(rng: Random, size: int) -> Json:
    """A root with branches 20 levels deep."""
    nodes: list[dict[str, Any]] = []
    root = _node(nodes)
    for _ in range(max(1, size // BRANCH_BYTES)):
        at = root
        for _ in range(BRANCH_LEVELS):
            at["children"].append(_node(nodes))
            at = at["children"][-1]
    return _filled(rng, root, nodes, "note", size)


def _node(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    number = len(nodes)
    nodes.append({"id": number, "name": f"n{number}", "note": "", "children": []})
    return nodes[-1]


def _filled(rng: Random, value: Json, holders: list[dict[str, Any]], name: str, size: int) -> Json:
    """`value` with texts in the member `name` of `holders`, so that it has `size` bytes."""
    each, rest = divmod(max(0, size - len(compact(value))), len(holders))
    for position, holder in enumerate(holders):
        holder[name] += text(rng, each + (position < rest))
    return value
