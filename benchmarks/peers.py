"""What a user would pick instead: other libraries, asked for the same seven fields of issues.

    peers(page)    jsonpath-ng, python-jsonpath, jmespath, jq, glom, dpath, pydantic, each as its manual has it

Where a library is faster when it is asked for one issue after the other, that stands beside it (`by item`).
What can be prepared is prepared outside the measured time: paths are compiled, models validated.
A library that is not installed is left out; the dependency group `bench` has them all.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from benchmarks import models
from benchmarks.measuring import Candidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from louver.core.json import Json

    Work = Callable[[], Json]

_DPATHS = ("id", "number", "title", "user/login", "labels/*/name", "state", "created_at")

PYDANTIC_INCLUDE: dict[str, Any] = {
    "items": {
        "__all__": {
            **dict.fromkeys(("id", "number", "title", "state", "created_at"), True),
            "user": {"login"},
            "labels": {"__all__": {"name"}},
        }
    }
}


def peers(page: Json) -> list[Candidate]:
    """A candidate for each way that is installed."""
    return [
        Candidate(name, prepare(page), mended)
        for name, module, prepare, mended in _PEERS
        if find_spec(module) is not None
    ]


def _jsonpath_ng(page: Json) -> Work:
    """Find each field of all issues, and put them together again."""
    from jsonpath_ng import parse

    find = {name: parse(f"$.items[*].{name}").find for name in ("id", "number", "title", "state", "created_at")}
    logins, labels, names = parse("$.items[*].user.login").find, parse("$.items[*].labels").find, parse("[*].name").find

    def work() -> Json:
        columns = [[match.value for match in found(page)] for found in find.values()]
        items = [dict(zip(find, row, strict=True)) for row in zip(*columns, strict=True)]
        for item, login, label in zip(items, logins(page), labels(page), strict=True):
            item["user"] = {"login": login.value}
            item["labels"] = [{"name": name.value} for name in names(label.value)]
        return {"items": items}

    return work


def _jsonpath_ng_by_item(page: Json) -> Work:
    """Find the issues, and the fields of each: of small pages faster."""
    from jsonpath_ng import parse

    items = parse("$.items[*]").find
    find = {name: parse(name).find for name in ("id", "number", "title", "state", "created_at")}
    login, names = parse("user.login").find, parse("labels[*].name").find

    def kept(issue: Json) -> Json:
        fields = {name: found(issue)[0].value for name, found in find.items()}
        labels = [{"name": name.value} for name in names(issue)]
        return {**fields, "user": {"login": login(issue)[0].value}, "labels": labels}

    return lambda: {"items": [kept(issue.value) for issue in items(page)]}


def _python_jsonpath(page: Json) -> Work:
    import jsonpath

    root = jsonpath.compile("$.items[*]")
    fields = ("id", "number", "title", "user.login", "labels[*].name", "state", "created_at")
    chosen = [jsonpath.compile(field) for field in fields]
    return lambda: {"items": list(root.query(page).select(*chosen))}


def _empty_labels(answer: Json) -> Json:
    """`answer` with the empty arrays that JSONPath does not find, because they hold no match."""
    return {"items": [{"labels": [], **item} for item in answer["items"]]}


def _jmespath(page: Json) -> Work:
    import jmespath

    fields = "id: id, number: number, title: title, state: state, created_at: created_at"
    nested = "user: {login: user.login}, labels: labels[*].{name: name}"
    query = jmespath.compile(f"{{items: items[*].{{{fields}, {nested}}}}}")
    return lambda: query.search(page)


def _jq(page: Json) -> Work:
    """Through text in and out, which is how Python reaches jq."""
    import jq

    nested = "user: {login: .user.login}, labels: [.labels[] | {name}]"
    program = jq.compile(f"{{items: [.items[] | {{id, number, title, state, created_at, {nested}}}]}}")
    return lambda: program.input_value(page).first()


ROWS = "$.items[?@.state == 'open' && @.comments > 3].title"
"""What `row_peers` ask for."""


def row_peers(page: Json) -> list[Candidate]:
    """A candidate for each way that selects rows, if it is installed."""
    return [
        Candidate(name, prepare(page), mended)
        for name, module, prepare, mended in _ROW_PEERS
        if find_spec(module) is not None
    ]


def _jsonpath_ng_rows(page: Json) -> Work:
    from jsonpath_ng.ext import parse

    find = parse(ROWS).find
    return lambda: [match.value for match in find(page)]


def _python_jsonpath_rows(page: Json) -> Work:
    import jsonpath

    find = jsonpath.compile(ROWS).findall
    return lambda: find(page)


def _titles(found: Json) -> Json:
    """The rows of titles that are alone."""
    return {"items": [{"title": title} for title in found]}


def _jmespath_rows(page: Json) -> Work:
    import jmespath

    query = jmespath.compile("{items: items[?state == 'open' && comments > `3`].{title: title}}")
    return lambda: query.search(page)


def _jq_rows(page: Json) -> Work:
    import jq

    program = jq.compile('{items: [.items[] | select(.state == "open" and .comments > 3) | {title}]}')
    return lambda: program.input_value(page).first()


_ROW_PEERS: tuple[tuple[str, str, Callable[[Json], Work], Callable[[Json], Json] | None], ...] = (
    ("jsonpath-ng", "jsonpath_ng", _jsonpath_ng_rows, _titles),
    ("python-jsonpath", "jsonpath", _python_jsonpath_rows, _titles),
    ("jmespath", "jmespath", _jmespath_rows, None),
    ("jq", "jq", _jq_rows, None),
)


def _glom(page: Json) -> Work:
    from glom import Spec, T

    fields: dict[str, Any] = {name: T[name] for name in ("id", "number", "title", "state", "created_at")}
    fields |= {"user": {"login": T["user"]["login"]}, "labels": (T["labels"], [{"name": T["name"]}])}
    spec = Spec({"items": (T["items"], [fields])})
    return lambda: spec.glom(page)


def _dpath(page: Json) -> Work:
    """Find each field of all issues, and put it where it was."""
    import dpath

    def work() -> Json:
        answer: Json = {}
        for field in _DPATHS:
            for path, value in dpath.search(page, f"items/*/{field}", yielded=True):
                dpath.new(answer, path, value)
        return answer

    return work


def _dpath_by_item(page: Json) -> Work:
    """The fields of each issue, one issue after the other: faster."""
    import dpath

    def kept(issue: Json) -> Json:
        answer: Json = {}
        for field in _DPATHS:
            for path, value in dpath.search(issue, field, yielded=True):
                dpath.new(answer, path, value)
        return answer

    return lambda: {"items": [kept(issue) for issue in page["items"]]}


def _pydantic_dump(page: Json) -> Work:
    model = models.Issues.model_validate(page)
    return lambda: model.model_dump(include=PYDANTIC_INCLUDE)


def _pydantic_validate(page: Json) -> Work:
    return lambda: models.Issues.model_validate(page).model_dump(include=PYDANTIC_INCLUDE)


_PEERS: tuple[tuple[str, str, Callable[[Json], Work], Callable[[Json], Json] | None], ...] = (
    ("jsonpath-ng", "jsonpath_ng", _jsonpath_ng, None),
    ("jsonpath-ng, by item", "jsonpath_ng", _jsonpath_ng_by_item, None),
    ("python-jsonpath", "jsonpath", _python_jsonpath, _empty_labels),
    ("jmespath", "jmespath", _jmespath, None),
    ("jq", "jq", _jq, None),
    ("glom", "glom", _glom, None),
    ("dpath", "dpath", _dpath, _empty_labels),
    ("dpath, by item", "dpath", _dpath_by_item, _empty_labels),
    ("pydantic dump", "pydantic", _pydantic_dump, None),
    ("pydantic validate", "pydantic", _pydantic_validate, None),
)
