"""Queries across all tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from examples.company.queries.nest import nest

if TYPE_CHECKING:
    from examples.company.data import Database

STATS = """
    SELECT
        (SELECT count(*) FROM users) AS "users.total",
        (SELECT count(*) FROM users WHERE status = 'active') AS "users.active",
        (SELECT count(*) FROM issues) AS "issues.total",
        (SELECT count(*) FROM issues WHERE state = 'open') AS "issues.open",
        (SELECT sum(comments) FROM issues) AS "issues.comments",
        (SELECT count(*) FROM orders) AS "orders.total",
        (SELECT count(*) FROM orders WHERE status = 'cancelled') AS "orders.cancelled",
        (SELECT count(*) FROM shipments WHERE delivered_at IS NULL) AS "orders.parcels_under_way"
"""


def stats(database: Database) -> dict[str, Any]:
    return nest(database.read(STATS)[0])
