"""Queries on issues and labels."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from examples.company.models import Issue, IssuePage, Label
from examples.company.queries.nest import group, nest

if TYPE_CHECKING:
    from examples.company.data import Database

API = "https://api.code.example.com/repos/lantern/harbor"

PAGES = "https://code.example.com/lantern/harbor"


def _account(table: str, path: str = "") -> str:
    """Columns of an account from a row of `users`, all NULL if an outer join found none."""
    # Leaders administer the site; `AND` with the id turns a missing row into NULL.
    return f"""
        {table}.login AS "{path}login",
        {table}.id AS "{path}id",
        'https://avatars.example.com/u/' || {table}.id || '?v=4' AS "{path}avatar_url",
        'https://api.code.example.com/users/' || {table}.login AS "{path}url",
        'https://code.example.com/' || {table}.login AS "{path}html_url",
        CASE WHEN {table}.id THEN 'User' END AS "{path}type",
        {table}.manager_id IS NULL AND {table}.id AS "{path}site_admin"
    """


LABEL = f"""
    l.id, l.name, l.color, l.description, l.is_default AS "default",
    '{API}/labels/' || replace(replace(l.name, ' ', '%20'), ':', '%3A') AS url
"""

ISSUE = f"""
    SELECT
        i.number, i.title, i.state, i.state_reason, i.locked,
        {_account("u", "user.")},
        m.number AS "milestone.number",
        m.title AS "milestone.title",
        m.description AS "milestone.description",
        m.state AS "milestone.state",
        m.due_on || 'T00:00:00Z' AS "milestone.due_on",
        '{PAGES}/milestone/' || m.number AS "milestone.html_url",
        i.comments, i.created_at, i.updated_at, i.closed_at,
        {_account("c", "closed_by.")},
        '{API}/issues/' || i.number || '/reactions' AS "reactions.url",
        i.plus_one + i.minus_one + i.laugh + i.hooray
            + i.confused + i.heart + i.rocket + i.eyes AS "reactions.total_count",
        i.plus_one AS "reactions.+1",
        i.minus_one AS "reactions.-1",
        i.laugh AS "reactions.laugh",
        i.hooray AS "reactions.hooray",
        i.confused AS "reactions.confused",
        i.heart AS "reactions.heart",
        i.rocket AS "reactions.rocket",
        i.eyes AS "reactions.eyes",
        '{API}/issues/' || i.number AS url,
        '{PAGES}/issues/' || i.number AS html_url,
        '{API}/issues/' || i.number || '/comments' AS comments_url,
        '{API}/issues/' || i.number || '/events' AS events_url,
        i.body
    FROM issues i
    JOIN users u ON u.id = i.author_id
    LEFT JOIN users c ON c.id = i.closed_by_id
    LEFT JOIN milestones m ON m.number = i.milestone_number
"""

LABELS_OF = f"""
    SELECT il.issue_number AS issue, {LABEL}
    FROM issue_labels il JOIN labels l ON l.id = il.label_id
    WHERE il.issue_number IN (SELECT value FROM json_each(?))
    ORDER BY il.issue_number, l.id
"""

ASSIGNEES_OF = f"""
    SELECT ia.issue_number AS issue, {_account("u")}
    FROM issue_assignees ia JOIN users u ON u.id = ia.user_id
    WHERE ia.issue_number IN (SELECT value FROM json_each(?))
    ORDER BY ia.issue_number, u.id
"""

IN_STATE = "(:state = 'all' OR i.state = :state)"


def labels(database: Database) -> list[Label]:
    return [Label.model_validate(row) for row in database.read(f"SELECT {LABEL} FROM labels l ORDER BY l.id")]


def issue(database: Database, number: int) -> Issue:
    [record] = _issues(database, database.read(f"{ISSUE} WHERE i.number = ?", (number,)))
    return Issue.model_validate(record)


def issue_page(database: Database, state: str, limit: int, before: int) -> IssuePage:
    """Up to `limit` issues with numbers below `before`, newest first."""
    [counted] = database.read(f"SELECT count(*) AS total FROM issues i WHERE {IN_STATE}", {"state": state})
    # One more than asked for tells whether another page follows.
    rows = database.read(
        f"{ISSUE} WHERE {IN_STATE} AND i.number < :before ORDER BY i.number DESC LIMIT :limit",
        {"state": state, "before": before, "limit": limit + 1},
    )
    page = rows[:limit]
    return IssuePage.model_validate(
        {
            "total": counted["total"],
            "issues": _issues(database, page),
            "nextCursor": str(page[-1]["number"]) if len(rows) > limit else None,
        }
    )


def _issues(database: Database, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    numbers = json.dumps([row["number"] for row in rows])
    labels_of = group(database.read(LABELS_OF, (numbers,)), "issue")
    assignees_of = group(database.read(ASSIGNEES_OF, (numbers,)), "issue")
    return [nest(row) | {"labels": labels_of[row["number"]], "assignees": assignees_of[row["number"]]} for row in rows]
