"""Queries on users."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from examples.company.models import UserProfile
from examples.company.queries.nest import nest

if TYPE_CHECKING:
    from examples.company.data import Database

PROFILE = """
    SELECT
        u.id, u.login, u.name, u.email, u.phone, u.status, u.title, u.department, u.bio, u.joined_on,
        u.street AS "address.street",
        u.city AS "address.city",
        u.zip AS "address.zip",
        u.country AS "address.country",
        u.lat AS "address.geo.lat",
        u.lon AS "address.geo.lon",
        m.id AS "manager.id",
        m.name AS "manager.name",
        m.email AS "manager.email",
        u.preferences,
        u.last_seen_at AS "activity.last_seen_at",
        (SELECT count(*) FROM activities a WHERE a.user_id = u.id) AS "activity.events",
        u.created_at AS "metadata.created_at",
        u.updated_at AS "metadata.updated_at",
        u.source AS "metadata.source",
        u.revision AS "metadata.revision"
    FROM users u
    LEFT JOIN users m ON m.id = u.manager_id
    WHERE u.id = ?
"""

ACTIVITIES = "SELECT kind, at, details FROM activities WHERE user_id = ? ORDER BY at DESC LIMIT 14"

TAGS = "SELECT tag FROM user_tags WHERE user_id = ? ORDER BY tag"

CONSENTS = "SELECT purpose, given_on FROM consents WHERE user_id = ? ORDER BY purpose"


def profile(database: Database, user_id: int) -> UserProfile:
    [row] = database.read(PROFILE, (user_id,))
    record = nest(row)
    record["preferences"] = json.loads(record["preferences"])
    record["activity"]["recent"] = [
        {"kind": row["kind"], "at": row["at"], **json.loads(row["details"])}
        for row in database.read(ACTIVITIES, (user_id,))
    ]
    record["metadata"]["tags"] = [row["tag"] for row in database.read(TAGS, (user_id,))]
    record["metadata"]["consents"] = {row["purpose"]: row["given_on"] for row in database.read(CONSENTS, (user_id,))}
    return UserProfile.model_validate(record)
