"""Rows of the tracker tables: issues of one repository, with labels and milestones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from examples.company.rows import make, words
from examples.company.rows.counts import ISSUES, USERS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from examples.company.rows.make import Row

# Minutes from one issue to the next.
PACE = 12 * 60

REACTIONS = ("plus_one", "minus_one", "laugh", "hooray", "confused", "heart", "rocket", "eyes")

BODY = """\
### What happens

The {component} {fault}. {first}

### Steps to reproduce

1. Sign in as {role} and open the {component}.
2. Choose a customer with at least {count} open orders.
3. Save, wait for the notice to go away, and load the page again.

### What should happen

{second}

### Environment

- Harbor {version}, {device}
- Database with {rows} rows

```text
{time} WARN  {component}: attempt 1 of 3 gave no answer within {wait} ms
{time} ERROR {component}: giving up, {count} entries left
```

{third}
"""


def content(random: Random) -> Iterator[tuple[str, list[Row]]]:
    yield "labels", _labels()
    yield "milestones", _milestones()
    issues = [_issue(random, number) for number in range(1, ISSUES + 1)]
    yield "issues", issues
    yield "issue_labels", [row for issue in issues for row in _labelled(random, issue["number"])]
    yield "issue_assignees", [row for issue in issues for row in _assigned(random, issue["number"])]


def _labels() -> list[Row]:
    return [
        {"id": number, "name": name, "color": color, "description": description, "is_default": is_default}
        for number, (name, color, description, is_default) in enumerate(words.LABELS, start=1)
    ]


def _milestones() -> list[Row]:
    last = len(words.MILESTONES)
    return [
        {
            "number": number,
            "title": title,
            "description": description,
            "state": state,
            "due_on": make.day(number * 180 * 24 * 60) if number < last else None,
        }
        for number, (title, description, state) in enumerate(words.MILESTONES, start=1)
    ]


def _issue(random: Random, number: int) -> Row:
    component, fault = random.choice(words.COMPONENTS), random.choice(words.FAULTS)
    created = number * PACE + random.randrange(PACE)
    closed = created + random.randrange(60, 60 * PACE) if random.random() < 0.6 else None
    return {
        "number": number,
        "title": f"The {component} {fault}",
        "body": _body(random, component, fault, created),
        "state": "closed" if closed else "open",
        "state_reason": random.choice(("completed", "completed", "not_planned")) if closed else None,
        "locked": random.random() < 0.03,
        "author_id": random.randrange(1, USERS + 1),
        "closed_by_id": random.randrange(1, USERS + 1) if closed else None,
        "milestone_number": random.randrange(1, len(words.MILESTONES) + 1) if random.random() < 0.4 else None,
        "comments": min(random.randrange(12), random.randrange(40)),
        "created_at": make.time(created),
        "updated_at": make.time((closed or created) + random.randrange(PACE)),
        "closed_at": make.time(closed) if closed else None,
        **{reaction: max(0, random.randrange(-12, 9)) for reaction in REACTIONS},
    }


def _body(random: Random, component: str, fault: str, created: int) -> str:
    return BODY.format(
        component=component,
        fault=fault,
        first=make.sentences(random, random.randrange(2, 5), words.REMARKS),
        second=make.sentences(random, random.randrange(1, 3), words.REMARKS),
        third=make.sentences(random, random.randrange(2, 5), words.REMARKS),
        role=random.choice(("an administrator", "a planner", "a guest")),
        count=random.randrange(2, 80),
        version=f"{random.randrange(1, 3)}.{random.randrange(10)}.{random.randrange(20)}",
        device=random.choice(words.DEVICES),
        rows=random.randrange(1, 900) * 1000,
        wait=random.choice((250, 500, 1000, 5000)),
        time=make.time(created - random.randrange(60)),
    )


def _labelled(random: Random, number: int) -> list[Row]:
    chosen = random.sample(range(1, len(words.LABELS) + 1), random.randrange(4))
    return [{"issue_number": number, "label_id": label_id} for label_id in chosen]


def _assigned(random: Random, number: int) -> list[Row]:
    chosen = random.sample(range(1, USERS + 1), random.choice((0, 0, 1, 1, 2)))
    return [{"issue_number": number, "user_id": user_id} for user_id in chosen]
