"""The answers of `list_issues`, `get_issue` and `list_labels`, in the shape of a code host's API."""

from typing import Literal

from pydantic import AwareDatetime, Field

from examples.company.models.base import Count, Id, Record, Url


class Account(Record):
    """Somebody who writes in the tracker."""

    login: str
    id: Id
    avatar_url: Url
    url: Url = Field(description="The account in the API.")
    html_url: Url = Field(description="The account's page.")
    type: Literal["User", "Bot"]
    site_admin: bool


class Label(Record):
    """A word that sorts issues."""

    id: Id
    name: str = Field(min_length=1, max_length=50)
    color: str = Field(pattern=r"^[0-9a-f]{6}$", description="RGB in hexadecimal.")
    description: str | None = Field(max_length=100)
    default: bool = Field(description="Whether every new repository has it.")
    url: Url


class Milestone(Record):
    """A release, or another goal that issues belong to."""

    number: Id
    title: str
    description: str
    state: Literal["open", "closed"]
    due_on: AwareDatetime | None
    html_url: Url


class Reactions(Record):
    """How often each reaction was given. Two have names that are not words."""

    url: Url
    total_count: Count
    plus_one: Count = Field(alias="+1")
    minus_one: Count = Field(alias="-1")
    laugh: Count
    hooray: Count
    confused: Count
    heart: Count
    rocket: Count
    eyes: Count


class Issue(Record):
    """One report, wish or question."""

    number: Id
    title: str = Field(min_length=1, max_length=256)
    state: Literal["open", "closed"]
    state_reason: Literal["completed", "not_planned"] | None = Field(description="Why it is closed.")
    locked: bool = Field(description="Whether comments are turned off.")
    user: Account = Field(description="Who opened it.")
    labels: list[Label] = Field(max_length=10)
    assignees: list[Account] = Field(max_length=10)
    milestone: Milestone | None
    comments: Count = Field(description="How many comments there are.")
    created_at: AwareDatetime
    updated_at: AwareDatetime
    closed_at: AwareDatetime | None = Field(description="Null while the issue is open.")
    closed_by: Account | None
    reactions: Reactions
    url: Url = Field(description="The issue in the API.")
    html_url: Url = Field(description="The issue's page.")
    comments_url: Url
    events_url: Url
    body: str = Field(description="Markdown.")


class IssuePage(Record):
    """Some of the issues asked for, newest first."""

    total: Count = Field(description="How many issues there are in that state, on all pages.")
    issues: list[Issue]
    next_cursor: str | None = Field(alias="nextCursor", description="`cursor` of the next page, null on the last.")
