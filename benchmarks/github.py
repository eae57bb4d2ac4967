"""Requests for answers of GitHub's public REST description, with the code somebody would write for each.

    REQUESTS["issues/list/200/default"]    (paths, hand-written function)

The answers stand in ../shared/corpus: a page of one or two elements, 9 to 12 kB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json


def _issues(value: Json) -> Json:
    return [
        {
            "id": issue["id"],
            "number": issue["number"],
            "title": issue["title"],
            "user": {"login": issue["user"]["login"]},
            "labels": [{"name": label["name"]} for label in issue["labels"]],
            "state": issue["state"],
            "created_at": issue["created_at"],
        }
        for issue in value
    ]


def _alerts(value: Json) -> Json:
    return [
        {
            "number": alert["number"],
            "state": alert["state"],
            "html_url": alert["html_url"],
            "rule": {"id": alert["rule"]["id"], "severity": alert["rule"]["severity"]},
            "repository": {"full_name": alert["repository"]["full_name"]},
            "most_recent_instance": {"location": {"path": alert["most_recent_instance"]["location"]["path"]}},
        }
        for alert in value
    ]


def _runs(value: Json) -> Json:
    return {
        "total_count": value["total_count"],
        "workflow_runs": [
            {
                "id": run["id"],
                "name": run["name"],
                "status": run["status"],
                "head_branch": run["head_branch"],
                "created_at": run["created_at"],
                "actor": {"login": run["actor"]["login"]},
            }
            for run in value["workflow_runs"]
        ],
    }


REQUESTS: dict[str, tuple[tuple[str, ...], Callable[[Json], Json]]] = {
    "issues/list/200/default": (
        ("id", "number", "title", "user.login", "labels.name", "state", "created_at"),
        _issues,
    ),
    "code-scanning/list-alerts-for-org/200/default": (
        (
            *("number", "state", "html_url", "rule.id", "rule.severity"),
            *("repository.full_name", "most_recent_instance.location.path"),
        ),
        _alerts,
    ),
    "actions/list-workflow-runs-for-repo/200/default": (
        (
            "total_count",
            *(f"workflow_runs.{name}" for name in ("id", "name", "status", "head_branch", "created_at", "actor.login")),
        ),
        _runs,
    ),
}
