"""Rows of the people tables: users, their tags, consents and activities."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from examples.company.rows import make, words
from examples.company.rows.counts import ISSUES, ORDERS, USERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from examples.company.rows.make import Row

# The first users report to nobody.
LEADERS = 5

# In minutes.
DAY = 24 * 60
# The time since `EPOCH`.
YEARS = 3 * 365 * DAY


def content(random: Random) -> Iterator[tuple[str, list[Row]]]:
    names = make.full_names(random, USERS)
    users = [_user(random, number, name) for number, name in enumerate(names, start=1)]
    yield "users", users
    yield "user_tags", [row for user in users for row in _tags(random, user["id"])]
    yield "consents", [row for user in users for row in _consents(random, user["id"])]
    yield "activities", [row for user in users for row in _activities(random, user["id"])]


def _user(random: Random, number: int, name: str) -> Row:
    first, last = name.lower().split(" ")
    department = random.choice(tuple(words.DEPARTMENTS))
    joined = -random.randrange(2 * 365 * DAY)
    return {
        "id": number,
        "login": f"{first[0]}{last}{number}",
        "name": name,
        "email": f"{first}.{last}@{random.choice(('example.com', 'example.org'))}",
        "phone": make.phone(random),
        "status": random.choices(("active", "away", "invited", "suspended"), (85, 8, 4, 3))[0],
        "title": random.choice(words.DEPARTMENTS[department]),
        "department": department,
        "bio": make.sentences(random, 3, words.BIOS),
        "joined_on": make.day(joined),
        **make.address(random),
        "manager_id": None if number <= LEADERS else random.randrange(1, number),
        "preferences": _compact(_preferences(random)),
        "last_seen_at": make.time(YEARS + random.randrange(7 * DAY)),
        "created_at": make.time(joined - random.randrange(DAY)),
        "updated_at": make.time(YEARS - random.randrange(90 * DAY)),
        "source": random.choice(("import", "invite", "signup")),
        "revision": random.randrange(1, 60),
    }


def _preferences(random: Random) -> dict[str, Any]:
    return {
        "theme": random.choice(("dark", "light", "system")),
        "language": random.choice(words.LANGUAGES),
        "time_zone": random.choice(words.TIME_ZONES),
        "week_starts_on": random.choice(("monday", "sunday")),
        "items_per_page": random.choice((10, 25, 50, 100)),
        "notifications": {
            channel: {
                "enabled": random.random() < 0.6,
                "frequency": random.choice(("daily", "immediate", "weekly")),
            }
            for channel in ("email", "push", "sms")
        },
        "privacy": {
            "profile_visibility": random.choice(("company", "public", "team")),
            "show_email": random.random() < 0.5,
            "share_usage": random.random() < 0.5,
        },
        "shortcuts": {name: words.SHORTCUTS[name] for name in random.sample(tuple(words.SHORTCUTS), 3)},
    }


def _tags(random: Random, user_id: int) -> list[Row]:
    return [{"user_id": user_id, "tag": tag} for tag in random.sample(words.TAGS, random.randrange(1, 5))]


def _consents(random: Random, user_id: int) -> list[Row]:
    return [
        {
            "user_id": user_id,
            "purpose": purpose,
            "given_on": make.day(random.randrange(YEARS)) if random.random() < 0.7 else None,
        }
        for purpose in words.CONSENTS
    ]


def _activities(random: Random, user_id: int) -> list[Row]:
    # A sample has no minute twice: the time is part of the key.
    minutes = random.sample(range(YEARS - 60 * DAY, YEARS), random.randrange(14, 40))
    return [_activity(random, user_id, minute) for minute in minutes]


def _activity(random: Random, user_id: int, minute: int) -> Row:
    kind = random.choice(tuple(_DETAILS))
    return {
        "user_id": user_id,
        "at": make.time(minute),
        "kind": kind,
        "details": _compact(_DETAILS[kind](random)),
    }


def _sign_in(random: Random) -> dict[str, Any]:
    return {"device": random.choice(words.DEVICES), "ip": f"203.0.113.{random.randrange(1, 255)}"}


def _purchase(random: Random) -> dict[str, Any]:
    return {
        "order_id": random.randrange(1, ORDERS + 1),
        "total": {"currency": random.choice(("EUR", "GBP", "USD")), "cents": random.randrange(1000, 90000)},
    }


def _comment(random: Random) -> dict[str, Any]:
    return {"issue_number": random.randrange(1, ISSUES + 1), "excerpt": random.choice(words.REMARKS)}


_DETAILS = {"sign_in": _sign_in, "purchase": _purchase, "comment": _comment}


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
