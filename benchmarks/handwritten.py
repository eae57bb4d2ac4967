"""What somebody would write by hand for one payload and one request: the baseline.

    include    the comprehension that keeps just what is asked for
    exclude    a copy without what is left out, sharing the rest
    delete     `del` within a value that was copied deeply

Each is written for speed, as far as it stays what a person would write.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json


@dataclass(frozen=True, slots=True)
class Hand:
    """The three functions of one payload.

    Args:
        include: Of a value, what is asked for.
        exclude: Of a value, all but what is left out.
        delete: Leaves it out of a value in place.
    """

    include: Callable[[Json], Json]
    exclude: Callable[[Json], Json]
    delete: Callable[[Json], None]

    def copy_and_delete(self, value: Json) -> Json:
        """All but what is left out, of a deep copy."""
        copied = copy.deepcopy(value)
        self.delete(copied)
        return copied


def _issues(value: Json) -> Json:
    return {
        "items": [
            {
                "id": issue["id"],
                "number": issue["number"],
                "title": issue["title"],
                "user": {"login": issue["user"]["login"]},
                "labels": [{"name": label["name"]} for label in issue["labels"]],
                "state": issue["state"],
                "created_at": issue["created_at"],
            }
            for issue in value["items"]
        ]
    }


def issues_with_holes(value: Json) -> Json:
    """The same where every field but `id` and `number` may be missing."""
    items: list[Json] = []
    for issue in value["items"]:
        kept = {"id": issue["id"], "number": issue["number"]}
        if "title" in issue:
            kept["title"] = issue["title"]
        if "user" in issue:
            kept["user"] = {"login": issue["user"]["login"]}
        if "labels" in issue:
            kept["labels"] = [{"name": label["name"]} for label in issue["labels"]]
        if "state" in issue:
            kept["state"] = issue["state"]
        if "created_at" in issue:
            kept["created_at"] = issue["created_at"]
        items.append(kept)
    return {"items": items}


def open_rows(value: Json) -> Json:
    """The titles of open issues with more than three comments."""
    return {
        "items": [
            {"title": issue["title"]} for issue in value["items"] if issue["state"] == "open" and issue["comments"] > 3
        ]
    }


def _without(value: dict[str, Any], *names: str) -> dict[str, Any]:
    kept = value.copy()
    for name in names:
        del kept[name]
    return kept


def _issues_rest(value: Json) -> Json:
    items: list[Json] = []
    for issue in value["items"]:
        kept = _without(issue, "body", "reactions", "url", "timeline_url")
        kept["user"] = _without(issue["user"], "url", "avatar_url")
        kept["labels"] = [_without(label, "description") for label in issue["labels"]]
        items.append(kept)
    return {**value, "items": items}


def _issues_delete(value: Json) -> None:
    for issue in value["items"]:
        del issue["body"], issue["reactions"], issue["url"], issue["timeline_url"]
        del issue["user"]["url"], issue["user"]["avatar_url"]
        for label in issue["labels"]:
            del label["description"]


def _profile(value: Json) -> Json:
    return {
        "id": value["id"],
        "login": value["login"],
        "name": value["name"],
        "contact": {"email": value["contact"]["email"]},
        "address": {"city": value["address"]["city"]},
        "history": [{"at": event["at"], "action": event["action"]} for event in value["history"]],
    }


def _profile_rest(value: Json) -> Json:
    kept = _without(value, "bio", "badges")
    kept["contact"] = _without(value["contact"], "phone")
    kept["address"] = _without(value["address"], "street")
    kept["history"] = [_without(event, "note") for event in value["history"]]
    return kept


def _profile_delete(value: Json) -> None:
    del value["bio"], value["badges"], value["contact"]["phone"], value["address"]["street"]
    for event in value["history"]:
        del event["note"]


def _rows(value: Json) -> Json:
    return {
        "total": value["total"],
        "rows": [
            {
                "count_00": row["count_00"],
                "label_00": row["label_00"],
                "flag_03": row["flag_03"],
                "ratio_07": row["ratio_07"],
                "count_11": row["count_11"],
                "label_13": row["label_13"],
            }
            for row in value["rows"]
        ],
    }


def _rows_rest(value: Json) -> Json:
    gone = ("label_14", "label_12", "label_10", "label_08", "label_06", "label_04", "label_02")
    return {**value, "rows": [_without(row, *gone) for row in value["rows"]]}


def _rows_delete(value: Json) -> None:
    for row in value["rows"]:
        del row["label_14"], row["label_12"], row["label_10"], row["label_08"]
        del row["label_06"], row["label_04"], row["label_02"]


def _tree(value: Json) -> Json:
    return {
        "id": value["id"],
        "name": value["name"],
        "children": [
            {
                "id": first["id"],
                "name": first["name"],
                "children": [
                    {
                        "id": second["id"],
                        "name": second["name"],
                        "children": [{"name": third["name"]} for third in second["children"]],
                    }
                    for second in first["children"]
                ],
            }
            for first in value["children"]
        ],
    }


def _tree_rest(value: Json) -> Json:
    kept = _without(value, "note")
    kept["children"] = [_tree_rest(child) for child in value["children"]]
    return kept


def _tree_delete(value: Json) -> None:
    del value["note"]
    for child in value["children"]:
        _tree_delete(child)


ISSUES = Hand(_issues, _issues_rest, _issues_delete)
PROFILE = Hand(_profile, _profile_rest, _profile_delete)
ROWS = Hand(_rows, _rows_rest, _rows_delete)
TREE = Hand(_tree, _tree_rest, _tree_delete)
