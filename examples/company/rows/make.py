"""What the generators share: times, phone numbers, addresses, sentences.

All of it is reserved for examples: phone numbers are 555-01xx, mail and web addresses are below
example.com and example.org, network addresses are from 203.0.113.0/24 (RFC 5737).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from examples.company.rows import words

if TYPE_CHECKING:
    from random import Random

Row: TypeAlias = dict[str, Any]
"""Column name -> value."""

EPOCH = datetime(2023, 1, 2, 8, 0, tzinfo=UTC)
"""When the tracker and the shop opened; by then every user had joined. All times count from here."""


def time(minutes: int) -> str:
    """The instant so many minutes after `EPOCH`, as ISO 8601 text in UTC."""
    return (EPOCH + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")


def day(minutes: int) -> str:
    """The date of that instant."""
    return time(minutes)[:10]


def phone(random: Random) -> str:
    """A number that nobody has."""
    return f"+1-{random.choice(words.AREA_CODES)}-555-01{random.randrange(100):02d}"


def full_names(random: Random, count: int) -> list[str]:
    """So many different names."""
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
    """So many different sentences of the stock in a row."""
    return " ".join(random.sample(stock, count))
