"""The server of `louver demo` and `louver serve --example`: an invented company with users, issues and orders.

It is an ordinary MCP server that knows nothing of field projection. Each record is made from its number with a fixed
seed, so answers are the same on every machine.
"""

import json
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from functools import cache
from random import Random
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

USERS, ISSUES, ORDERS = 200, 300, 150

FIRST_NAMES = (
    "Ada Edith Ruben Amara Jun Beatriz Oskar Priya Lars Mina Felix Greta Hamza Ingrid Kaya Mateo Noor Rosa Tomas Zoe"
).split()
LAST_NAMES = (
    "Abara Moreau Berg Dahl Keller Farkas Gallo Hoang Ibarra Jansen Kato Lowe Novak Okafor Pereira Rossi Silva Torres "
    "Weiss Zeman"
).split()
CITIES = (
    ("Seattle", "98101", "US", 47.61, -122.33),
    ("Bergen", "5014", "NO", 60.39, 5.32),
    ("Porto", "4050-012", "PT", 41.16, -8.63),
    ("Wellington", "6011", "NZ", -41.29, 174.78),
)
COMPONENTS = ("importer", "label printer", "price list", "stock ledger", "search index", "return form", "login page")
FAULTS = ("drops the last line", "rounds the wrong way", "sends a message twice", "stops after an update")
REMARKS = (
    "The second attempt goes through, the first one never does.",
    "It began after the move to the new warehouse layout.",
    "The log is quiet while it happens, even at debug level.",
    "We have a workaround, but it is a manual step every morning.",
    "It depends on the time zone: in UTC all is well.",
    "The retry does not wait, so the queue fills within seconds.",
)
BODY = """\
### What happens

The {component} {fault}. {remarks}

### Steps to reproduce

1. Sign in as a planner and open the {component}.
2. Choose a customer with at least {count} open orders.
3. Save, wait for the notice to go away, and load the page again.

```text
WARN  {component}: attempt 1 of 3 gave no answer within 500 ms
ERROR {component}: giving up, {count} entries left
```
"""
LABELS = ("bug", "enhancement", "documentation", "performance", "needs triage")
PRODUCTS = (
    ("FUR-001", "Oak desk", 48900),
    ("FUR-002", "Folding chair", 5900),
    ("LIG-003", "Reading lamp", 7450),
    ("KIT-004", "Tea kettle", 4990),
    ("TEX-005", "Wool blanket", 8900),
)


class ExampleModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Count = Annotated[int, Field(ge=0)]
# pydantic's `EmailStr` needs another package, and its `HttpUrl` rewrites the text.
Email = Annotated[str, Field(json_schema_extra={"format": "email"})]
Url = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class Geo(ExampleModel):
    lat: float = Field(ge=-90, le=90, description="Degrees north.")
    lon: float = Field(ge=-180, le=180, description="Degrees east.")


class Address(ExampleModel):
    street: str
    city: str
    zip: str = Field(description="Postal code in the form of the country.")
    country: str = Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1 alpha-2 code.")
    geo: Geo


class Person(ExampleModel):
    id: int
    name: str
    login: str = Field(description="Name in the tracker.")
    email: Email
    avatar_url: Url


class Event(ExampleModel):
    kind: Literal["sign_in", "purchase", "comment"]
    at: AwareDatetime
    device: str
    ip: str = Field(json_schema_extra={"format": "ipv4"})


class UserProfile(ExampleModel):
    id: int
    name: str = Field(min_length=1, max_length=60, description="Full name.")
    email: Email
    phone: str
    login: str = Field(description="Name in the tracker.")
    status: Literal["active", "away", "suspended"] = Field(description="State of the account.")
    department: Literal["Design", "Engineering", "Operations", "Support"]
    joined_on: date
    address: Address
    manager: Person | None = Field(description="Null for users who report to nobody.")
    preferences: dict[str, str] = Field(description="Setting -> its value.")
    consents: dict[str, date | None] = Field(description="Purpose -> day of consent, null if withheld.")
    activity: list[Event] = Field(description="The latest events, newest first.")


class Issue(ExampleModel):
    number: int
    title: str
    state: Literal["open", "closed"]
    user: Person = Field(description="The author.")
    labels: list[str]
    assignees: list[Person]
    comments: Count
    reactions: dict[str, Count] = Field(description="Reaction -> how often it was given.")
    created_at: AwareDatetime
    closed_at: AwareDatetime | None = Field(description="Null while the issue is open.")
    url: Url
    body: str = Field(description="Markdown.")


class IssuePage(ExampleModel):
    total: Count = Field(description="Number of issues in that state, on all pages.")
    issues: list[Issue]
    nextCursor: int | None = Field(description="`cursor` of the next page, null on the last.")


class Item(ExampleModel):
    sku: str = Field(description="Stock keeping unit.")
    name: str
    quantity: int = Field(ge=1)
    unit_cents: Count


class Order(ExampleModel):
    id: int
    status: Literal["placed", "shipped", "delivered", "cancelled"]
    placed_at: AwareDatetime
    currency: Literal["EUR", "USD"]
    total_cents: Count
    customer: Person
    items: list[Item] = Field(min_length=1)


class OrderSearch(ExampleModel):
    total: Count = Field(description="Number of orders that match, beyond `limit` too.")
    orders: list[Order]


def _time(days: float) -> datetime:
    return datetime(2024, 1, 2, 8, tzinfo=UTC) + timedelta(minutes=round(days * 24 * 60))


def _address(random: Random) -> Address:
    city, code, country, lat, lon = random.choice(CITIES)
    street = f"{random.randrange(1, 400)} Harbor Street"
    return Address(street=street, city=city, zip=code, country=country, geo=Geo(lat=lat, lon=lon))


@cache
def _person(number: int) -> Person:
    first, last = FIRST_NAMES[number % 20], LAST_NAMES[(number + number // 20) % 20]
    return Person(
        id=number,
        name=f"{first} {last}",
        login=f"{first[0]}{last}{number}".lower(),
        email=f"{first}.{last}@example.com".lower(),
        avatar_url=f"https://avatars.example.com/u/{number}?v=4",
    )


def _event(random: Random, days: float) -> Event:
    return Event(
        kind=random.choice(("sign_in", "purchase", "comment")),
        at=_time(days),
        device=random.choice(("Chrome on Windows", "Firefox on Linux", "Safari on iPhone")),
        ip=f"203.0.113.{random.randrange(1, 255)}",
    )


@cache
def _user(number: int) -> UserProfile:
    random, person = Random(f"user {number}"), _person(number)
    return UserProfile(
        **person.model_dump(exclude={"avatar_url"}),
        phone=f"+1-206-555-01{random.randrange(100):02d}",
        status=random.choice(("active", "active", "active", "active", "active", "away", "suspended")),
        department=random.choice(("Design", "Engineering", "Operations", "Support")),
        joined_on=_time(-random.randrange(700)).date(),
        address=_address(random),
        manager=None if number <= 5 else _person(random.randrange(1, number)),
        preferences={
            "theme": random.choice(("light", "dark", "system")),
            "language": random.choice(("de-DE", "en-GB", "en-US", "pt-PT")),
            "time_zone": random.choice(("America/New_York", "Europe/Berlin", "Europe/Lisbon")),
        },
        consents={
            purpose: _time(random.randrange(600)).date() if random.random() < 0.7 else None
            for purpose in ("newsletter", "product_research", "usage_statistics")
        },
        activity=[_event(random, 700 - 3 * past - random.random()) for past in range(18)],
    )


@cache
def _issue(number: int) -> Issue:
    random = Random(f"issue {number}")
    component, fault = random.choice(COMPONENTS), random.choice(FAULTS)
    created = 2 * number + random.random()
    closed = _time(created + random.randrange(1, 60)) if random.random() < 0.5 else None
    remarks = " ".join(random.sample(REMARKS, random.randrange(3, 6)))
    return Issue(
        number=number,
        title=f"The {component} {fault}",
        state="closed" if closed else "open",
        user=_person(random.randrange(1, USERS + 1)),
        labels=random.sample(LABELS, random.randrange(4)),
        assignees=[_person(random.randrange(1, USERS + 1)) for _ in range(random.randrange(3))],
        comments=random.randrange(12),
        reactions={kind: random.randrange(5) for kind in ("+1", "-1", "laugh", "heart", "rocket", "eyes")},
        created_at=_time(created),
        closed_at=closed,
        url=f"https://code.example.com/lantern/issues/{number}",
        body=BODY.format(component=component, fault=fault, remarks=remarks, count=random.randrange(2, 80)),
    )


@cache
def _order(number: int) -> Order:
    random = Random(f"order {number}")
    items = [
        Item(sku=sku, name=name, quantity=random.randrange(1, 7), unit_cents=cents)
        for sku, name, cents in random.sample(PRODUCTS, random.randrange(1, 5))
    ]
    return Order(
        id=number,
        status=random.choice(("placed", "shipped", "shipped", "delivered", "delivered", "delivered", "cancelled")),
        placed_at=_time(4 * number + random.random()),
        currency=random.choice(("EUR", "USD")),
        total_cents=sum(item.quantity * item.unit_cents for item in items),
        customer=_person(random.randrange(USERS + 1, 2 * USERS)),
        items=items,
    )


def get_user_profile(user_id: Annotated[int, Field(ge=1, le=USERS, description="Id of the user.")]) -> UserProfile:
    """Get all that is known of one user: contact, address, manager, preferences, activity."""
    return _user(user_id)


def list_users() -> list[Person]:
    """List the users of the company."""
    return [_person(number) for number in range(1, USERS + 1)]


def list_issues(
    state: Annotated[Literal["open", "closed", "all"], Field(description="Which issues.")] = "open",
    limit: Annotated[int, Field(ge=1, le=ISSUES, description="Most issues to return.")] = 100,
    cursor: Annotated[int | None, Field(description="`nextCursor` of the page before.")] = None,
) -> IssuePage:
    """List issues with their full texts, newest first."""
    found = [issue for issue in map(_issue, range(ISSUES, 0, -1)) if state in (issue.state, "all")]
    rest = [issue for issue in found if cursor is None or issue.number < cursor]
    last = rest[limit - 1].number if len(rest) > limit else None
    return IssuePage(total=len(found), issues=rest[:limit], nextCursor=last)


def get_issue(number: Annotated[int, Field(ge=1, le=ISSUES, description="Number of the issue.")]) -> Issue:
    """Get one issue with its text, people, labels and reactions."""
    return _issue(number)


def search_orders(
    text: Annotated[str, Field(min_length=1, description="Part of a customer's name, or of a product's.")],
    limit: Annotated[int, Field(ge=1, le=ORDERS, description="Most orders to return.")] = 20,
) -> OrderSearch:
    """Search orders by customer or product; upper and lower case are the same."""
    found = [
        order
        for order in map(_order, range(1, ORDERS + 1))
        if any(text.lower() in name.lower() for name in (order.customer.name, *(item.name for item in order.items)))
    ]
    return OrderSearch(total=len(found), orders=found[:limit])


def export_stats() -> str:
    """Export counts of users, issues and orders as JSON text."""
    counts = {
        "users": Counter(_user(number).status for number in range(1, USERS + 1)),
        "issues": Counter(_issue(number).state for number in range(1, ISSUES + 1)),
        "orders": Counter(_order(number).status for number in range(1, ORDERS + 1)),
    }
    return json.dumps({name: {"total": count.total(), **count} for name, count in counts.items()})


def build_server() -> MCPServer:
    """The server with its six tools, which only read."""
    server = MCPServer("louver-example", version="1.0.0", instructions="Read-only access to an invented company.")
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (get_user_profile, list_users, list_issues, get_issue, search_orders):
        server.add_tool(tool, annotations=hints)
    server.add_tool(export_stats, annotations=hints, structured_output=False)
    return server
