"""The answer of `get_user_profile`."""

from datetime import date
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from examples.company.models.base import Address, Count, Email, Id, Money, Phone, Record


class Manager(Record):
    """The colleague to whom a user reports."""

    id: Id
    name: str
    email: Email


class Channel(Record):
    """When one way of notification is used."""

    enabled: bool
    frequency: Literal["immediate", "daily", "weekly"]


class Notifications(Record):
    """The ways in which a user is told of news."""

    email: Channel
    push: Channel
    sms: Channel


class Privacy(Record):
    """What others see of a user."""

    profile_visibility: Literal["public", "company", "team"]
    show_email: bool
    share_usage: bool


class Preferences(Record):
    """How the product looks and behaves for a user."""

    theme: Literal["light", "dark", "system"]
    language: str = Field(pattern=r"^[a-z]{2}-[A-Z]{2}$", description="BCP 47 tag, for example `en-GB`.")
    time_zone: str = Field(description="IANA name, for example `Europe/Lisbon`.")
    week_starts_on: Literal["monday", "sunday"]
    items_per_page: int = Field(ge=10, le=100, multiple_of=5)
    notifications: Notifications
    privacy: Privacy
    shortcuts: dict[str, str] = Field(description="Command -> the keys that start it.")


class SignIn(Record):
    """The user signed in."""

    kind: Literal["sign_in"]
    at: AwareDatetime
    device: str
    ip: str = Field(json_schema_extra={"format": "ipv4"})


class Purchase(Record):
    """The user bought something."""

    kind: Literal["purchase"]
    at: AwareDatetime
    order_id: Id
    total: Money


class Comment(Record):
    """The user wrote below an issue."""

    kind: Literal["comment"]
    at: AwareDatetime
    issue_number: Id
    excerpt: str = Field(max_length=200)


Event = Annotated[SignIn | Purchase | Comment, Field(discriminator="kind")]


class Activity(Record):
    """What a user did lately."""

    last_seen_at: AwareDatetime
    events: Count = Field(description="How many events are recorded.")
    recent: list[Event] = Field(max_length=14, description="The latest events, newest first.")


class Metadata(Record):
    """Where a profile comes from."""

    created_at: AwareDatetime
    updated_at: AwareDatetime
    source: Literal["signup", "import", "invite"]
    revision: int = Field(ge=1, description="Counts the changes made to the profile.")
    tags: list[str] = Field(json_schema_extra={"uniqueItems": True}, description="Words for searching.")
    consents: dict[str, date | None] = Field(description="Purpose -> day of consent, null if withheld.")


class UserProfile(Record):
    """All that is known of one user."""

    id: Id
    login: str = Field(pattern=r"^[a-z0-9]+$", description="Name in the tracker.")
    name: str = Field(min_length=1, max_length=60, description="Full name.")
    email: Email
    phone: Phone
    status: Literal["active", "away", "invited", "suspended"] = Field(description="State of the account.")
    title: str = Field(description="What the user does.")
    department: Literal["Engineering", "Design", "Operations", "Support", "Sales"]
    bio: str = Field(max_length=400, description="Some sentences by the user.")
    joined_on: date
    address: Address
    manager: Manager | None = Field(description="Null for those who report to nobody.")
    preferences: Preferences
    activity: Activity
    metadata: Metadata
