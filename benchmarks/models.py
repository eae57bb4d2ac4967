"""The payloads as an author of a server would declare them: pydantic models.

Their JSON Schemas are what plans are made from. The peers' models and structs, which declare
only what is asked for, stand in `benchmarks.peers`.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, create_model


class User(BaseModel):
    """Who opened an issue."""

    login: str
    id: int
    url: str
    avatar_url: str
    type: str
    site_admin: bool


class Label(BaseModel):
    """A label of an issue."""

    id: int
    name: str
    color: str
    default: bool
    description: str | None


class Reactions(BaseModel):
    """Counts of reactions."""

    total_count: int
    laugh: int
    heart: int


class Issue(BaseModel):
    """An issue in the form of GitHub's, 30 fields."""

    id: int
    node_id: str
    url: str
    html_url: str
    number: int
    title: str
    user: User
    labels: list[Label]
    state: str
    state_reason: str | None
    locked: bool
    lock_reason: str | None
    assignee: User | None
    assignees: list[User]
    milestone: str | None
    comments: int
    created_at: str
    updated_at: str
    closed_at: str | None
    closed_by: User | None
    association: str
    body: str
    draft: bool
    reactions: Reactions
    timeline_url: str
    type: str | None
    score: float
    pinned: bool
    sub_issues: int
    language: str


class Issues(BaseModel):
    """A page of issues."""

    total: int
    items: list[Issue]


class Contact(BaseModel):
    """How somebody is reached."""

    email: str
    phone: str
    website: str | None


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    city: str
    zip: str
    country: str


class Preferences(BaseModel):
    """What somebody chose."""

    language: str
    theme: str
    timezone: str
    digest: bool


class Event(BaseModel):
    """Something that somebody did."""

    at: str
    action: str
    target: str
    note: str


class Profile(BaseModel):
    """One wide object with a long text and a history."""

    id: int
    login: str
    name: str
    company: str | None
    bio: str
    created_at: str
    contact: Contact
    address: Address
    preferences: Preferences
    badges: list[str]
    followers: int
    following: int
    history: list[Event]


class Node(BaseModel):
    """A node of a tree."""

    id: int
    name: str
    note: str
    children: list[Node]


COLUMNS = tuple(f"{kind}_{number:02}" for number in range(15) for kind in ("count", "ratio", "label", "flag"))
"""The 60 columns of a wide row."""

_TYPES: dict[str, Any] = {"count": int, "ratio": float, "label": str, "flag": bool}

Row = create_model("Row", **{name: (_TYPES[name.split("_")[0]], ...) for name in COLUMNS})


class Rows(BaseModel):
    """A table."""

    total: int
    rows: list[Row]
