"""Times, phone numbers, addresses and sentences, all reserved for examples: 555-01xx, RFC 2606, RFC 5737."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from examples.company.rows import words

if TYPE_CHECKING:
    from random import Random

# Column name -> value.
Row: TypeAlias = dict[str, Any]

# The tracker and the shop opened then, and every user had joined before.
EPOCH = datetime(2023, 1, 2, 8, 0, tzinfo=UTC)


def time(minutes: int) -> str:
    """The instant `minutes` after `EPOCH`, as ISO 8601 text in UTC."""
    return (EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(minutes: int) -> str:
    return time(minutes)[:10]


def phone(random: Random) -> str:
    return f"+1-{random.choice(words.AREA_CODES)}-555-01{random.randrange(100):02d}"


def full_names(random: Random, count: int) -> list[str]:
    pairs = [f"{first} {last}" for first in words.FIRST_NAMES for last in words.LAST_NAMES]
    return random.sample(pairs, count)


def address(random: Random) -> Row:
    """The columns street, city, zip, country, lat and lon."""
    city = random.choice(words.CITIES)
    return {
        "street": f"{random.randrange(1, 400)} {random.choice(words.STREETS)}",
        "city": city.name,
        "zip": "".join(str(random.randrange(10)) if mark == "#" else mark for mark in city.zip),
        "country": city.country,
        "lat": round(city.lat + random.uniform(-0.05, 0.05), 4),
        "lon": round(city.lon + random.uniform(-0.05, 0.05), 4),
    }


def sentences(random: Random, count: int, stock: tuple[str, ...]) -> str:
    return " ".join(random.sample(stock, count))
