"""The rows of a kept result: sorted, cut, counted, as a plain reference does it; and through a server."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import louver
from louver.core.paths.find import Found
from louver.errors import InvalidArguments
from louver.middleware import FieldPolicy
from louver.steps.results.rows import counted, sorted_rows
from steps.kept import KEY, fits, read, uri_of
from steps.profiles import lowlevel, structured, text, tool
from steps.test_kept_results import error_of
from steps.wire import NEW, attached

pytestmark = pytest.mark.anyio

numbers = st.integers(-3, 3) | st.sampled_from([10**400, -(2**53), 2**53 + 1]) | st.floats(-3, 3)
scalars = st.none() | st.booleans() | numbers | st.text("aÄ\ud800", max_size=2)
values = scalars | st.just([1]) | st.just({"a": 1})


def rows_of(values):
    """Elements with these values; one has none, and one is null."""
    return [*({"at": at, "v": value} for at, value in enumerate(values)), {"at": -1}, None]


def place(value):
    """Numbers, texts, booleans, and the rest."""
    kinds = (type(value) in (int, float), isinstance(value, str), isinstance(value, bool), True)
    return kinds.index(True)


@given(st.lists(values), scalars.filter(lambda value: value is not None), st.booleans())
def test_rows_are_sorted_as_by_insertion(others, value, descends):
    """Ours: by type, then by value; those without one come last, and equal ones stay in order."""
    rows = rows_of([*others, value])
    expected = []
    for row in rows:
        own = (row or {}).get("v")

        def stays_before(other, own=own):
            theirs = (other or {}).get("v")
            if place(theirs) != place(own) or place(own) == 3:
                return place(theirs) <= place(own)
            return theirs >= own if descends else theirs <= own

        expected.insert(sum(map(stays_before, expected)), row)
    assert sorted_rows(Found(("rows",), rows), "-v" if descends else "v") == expected


@given(st.lists(scalars, min_size=1))
def test_values_are_counted_as_one_by_one(values):
    """Ours: no row is lost; 1 is 1.0, and is not true; ties stay in the order in which they appear."""
    expected = []
    for value in [*values, None, None]:
        for each in expected:
            if place(each["value"]) == place(value) and each["value"] == value:
                each["count"] += 1
                break
        else:
            expected.append({"value": value, "count": 1})
    found = counted(Found((), rows_of(values)), "v")
    assert found == sorted(expected, key=lambda each: -each["count"])
    assert sum(each["count"] for each in found) == len(values) + 2


ROWS = [
    {"id": 1, "user": {"login": "ann"}, "labels": [{"name": "bug"}, {"name": "ui", "by": {"id": 3}}], "tags": ["a"]},
    {"id": 2, "user": {"login": "ben"}, "labels": [], "tags": ["a", "b"], "closed": None},
]


def test_a_field_is_named_within_an_element_or_from_the_root():
    """Ours: previews have whole paths; an element that has the name itself is meant first."""
    rows = Found(("data", "issues"), ROWS)
    for path in ("user.login", "data.issues.user.login", "data.issues[*].user.login", "/data/issues/user/login"):
        assert sorted_rows(rows, f"-{path}") == ROWS[::-1], path
        assert counted(rows, path) == [{"value": "ann", "count": 1}, {"value": "ben", "count": 1}], path
    assert sorted_rows(Found(("id",), [{"id": {"id": 2}}, {"id": {"id": 1}}]), "id.id") == [
        {"id": {"id": 1}},
        {"id": {"id": 2}},
    ]


def test_elements_without_a_value_stay_in_order():
    """Ours: null everywhere is an order, too."""
    assert sorted_rows(Found((), ROWS), "-closed") == ROWS
    assert counted(Found((), ROWS), "closed") == [{"value": None, "count": 2}]


def test_each_value_in_an_array_counts():
    """Ours: an element without one counts as null."""
    rows = Found((), ROWS)
    assert counted(rows, "labels.name") == [{"value": value, "count": 1} for value in ("bug", "ui", None)]
    assert counted(rows, "tags.*") == [{"value": "a", "count": 2}, {"value": "b", "count": 1}]
    assert (sorted_rows(Found((), ["b", 1, None]), "*"), counted(Found((), []), "x")) == ([1, "b", None], [])


FIELDS = {
    "sort by no field": (
        sorted_rows,
        "-usr.login",
        "in no element: did you mean 'user.login'? There are 'id', 'user.login'",
    ),
    "sort by an object": (sorted_rows, "user", "'user' holds objects or arrays: there are 'user.login'"),
    "sort by several": (sorted_rows, "labels.name", "has several values in an element: there are 'id', 'user.login'"),
    "count no field": (
        counted,
        "x",
        "no element: there are 'id', 'user.login', 'labels.name', 'labels.by.id', 'tags.*'",
    ),
    "count an object": (counted, "user", "'user' holds objects or arrays: there are 'user.login'"),
    "count an array": (counted, "tags", "holds objects or arrays: did you mean 'tags.*'? There are 'tags.*'"),
    "sort scalars": (lambda _, path: sorted_rows(Found((), [1, "a"]), path), "x", "is in no element: there are '*'"),
}


@pytest.mark.whole
@pytest.mark.parametrize(("ask", "path", "message"), FIELDS.values(), ids=FIELDS)
def test_a_field_without_scalars_is_refused_with_one_that_has_some(ask, path, message):
    """Ours: never a silent nothing."""
    with pytest.raises(InvalidArguments, match=f"{re.escape(message)}$"):
        ask(Found(("rows",), ROWS), path)


COUNT = 30
REPOS = [
    {
        "name": f"r{number}",
        "stars": number * 7 % COUNT,
        "owner": {"login": "ab"[number % 2]},
        "text": f"{number:03d}" * 30,
    }
    for number in range(COUNT)
]
TOP = sorted(REPOS, key=lambda repo: -repo["stars"])
VALUE = {"total": COUNT, "repos": REPOS, "tags": [{"stars": number} for number in range(20)]}
SCHEMA = {
    "type": "object",
    "required": ["total", "repos", "tags"],
    "properties": {
        "total": {"type": "integer"},
        # It allows the server's own order alone.
        "repos": {
            "type": "array",
            "minItems": COUNT,
            "prefixItems": [{"properties": {"stars": {"const": 0}}}],
            "items": {"properties": {"name": {}, "stars": {}, "owner": {"properties": {"login": {}}}, "text": {}}},
        },
        "tags": {"type": "array"},
    },
}
VIEWS = {
    "names": {"include": ["repos.name"], "maxItems": 2},
    "renamed": {"select": {"title": "name"}, "at": "repos"},
}


def keeping(**more):
    """A server with a tool of such an answer, and options by which it is kept."""
    made = lowlevel(repos=tool(SCHEMA, structured(VALUE)), **more)
    return made.server, {"results": louver.KeptResults(over_bytes=1_000), "views": {"repos": VIEWS}}


async def told(wire, uri, **arguments):
    """The lines that a model gets."""
    answer = await wire.call("read_result", {"handle": uri, **arguments})
    assert len(answer["content"]) == 1
    return answer["content"][0]["text"].split("\n")


async def test_the_top_of_a_list_is_read_without_the_field_that_orders_it(era):
    """ROWS.md: sorted before fields are left out, then cut; by the tool and by the resource."""
    server, options = keeping()
    async with attached(server, era, **options) as wire:
        uri = uri_of(await wire.call("repos"))
        top = {"output_fields": ["total", "repos.name"], "sort_by": "-stars", "limit": 3}
        head, line = await told(wire, uri, **top)
        value, answer = await read(wire, f"{uri}?fields=total,repos.name&sort_by=-stars&limit=3")
        by_view, _ = await read(wire, f"{uri}?view=names&sort_by=-repos.stars")
    assert head == "the first 3 of 30 elements"
    assert json.loads(line) == value == {"total": COUNT, "repos": [{"name": repo["name"]} for repo in TOP[:3]]}
    assert by_view == {"repos": [{"name": repo["name"]} for repo in TOP[:2]]}
    meta = answer["_meta"]
    assert meta[KEY] == {"first": 3, "items": COUNT, "path": "repos"}
    fits("page", meta[KEY])
    assert (meta["projection"]["partial"], meta["projection"]["schemaSource"]) == (True, "inferred")
    assert Draft202012Validator(meta["projection"]["projectedSchema"]).is_valid(value)


async def test_values_are_counted_in_place_of_the_result():
    """ROWS.md."""
    server, options = keeping()
    async with attached(server, NEW, **options) as wire:
        uri = uri_of(await wire.call("repos"))
        counts, answer = await read(wire, f"{uri}?count_by=repos.owner.login")
        lines = await told(wire, uri, count_by="stars", limit=1)
        head, _ = await told(wire, uri, count_by="stars")
    assert head == "all elements"
    assert counts == [{"value": "a", "count": 15}, {"value": "b", "count": 15}]
    assert Draft202012Validator(answer["_meta"]["projection"]["projectedSchema"]).is_valid(counts)
    assert lines == ["the first 1 of 30 elements", '[{"value":0,"count":1}]']


async def test_what_is_cut_fits_whole_or_in_pages():
    """Ours: pages are of the array that was cut, though another one is longer then."""
    server, options = keeping()
    async with attached(server, NEW, **options) as wire:
        uri = uri_of(await wire.call("repos"))
        found, page, pages = [], 0, 1
        while page < pages:
            page += 1
            lines = await told(wire, uri, sort_by="-stars", limit=15, page=page)
            assert len("\n".join(lines).encode()) <= 1_000
            pages = int(re.fullmatch(r"page \d+ of (\d+), the first 15 of 30 elements", lines[0]).group(1))
            found += json.loads(lines[1])["repos"]
        (refused,) = await told(wire, uri, sort_by="-stars", limit=15)
        cut = [
            await told(wire, uri, limit=limit, output_fields=["repos.name", "repos.owner"]) for limit in range(20, 30)
        ]
        _, answer = await read(wire, f"{uri}?limit=15&page=1")
        _, whole = await read(wire, f"{uri}?limit=99")
    assert (found, pages > 2) == (TOP[:15], True)
    assert answer["_meta"][KEY] == {"first": 15, "items": COUNT, "page": 1, "pages": 1, "path": "repos"}
    fits("page", answer["_meta"][KEY])
    assert refused.endswith(f"or for a 'page' from 1 to {pages}")
    assert all(len("\n".join(lines).encode()) <= 1_000 for lines in cut)
    assert {len(lines) for lines in cut} == {1, 2}
    assert (whole["_meta"][KEY]["first"], whole["_meta"]["projection"]["partial"]) == (COUNT, False)


async def test_rows_are_sorted_wherever_they_stand():
    """WIRE.md: structured, wrapped, as text, as text in a wrapper; the schema is that of the new order."""
    wrapped = {"type": "object", "required": ["result"], "properties": {"result": {"type": "array"}}}
    results = {
        "undeclared": (None, structured(VALUE)),
        "wrapped": (wrapped, structured({"result": REPOS})),
        "text": (None, text(json.dumps(REPOS))),
        "within": (None, structured({"content": json.dumps(REPOS)})),
    }
    server, options = keeping(**{name: tool(*given) for name, given in results.items()})
    async with attached(server, NEW, **options) as wire:
        for name in ("repos", *results):
            uri = uri_of(await wire.call(name))
            value, answer = await read(wire, f"{uri}?sort_by=-stars")
            rows = value if isinstance(value, list) else value.get("repos") or value["result"]
            assert rows == TOP, name
            assert Draft202012Validator(answer["_meta"]["projection"]["projectedSchema"]).is_valid(value)


REFUSED = {
    "no field": ({"sort_by": "star"}, "'sort_by': the field 'star' is in no element: did you mean 'stars'?"),
    "no array": (
        {"limit": 2, "output_fields": ["total"]},
        "'limit' is about the elements of an array, and this part has none: name fields of 'repos'",
    ),
    "a view of new names": ({"sort_by": "stars", "view": "renamed"}, "or with a view that renames none"),
    "counted twice": ({"count_by": "name", "sort_by": "name"}, "leave out 'sort_by', fields and 'view'"),
    "counted fields": ({"count_by": "name", "output_fields": ["repos.name"]}, "leave out 'sort_by', fields"),
    "too many values": ({"count_by": "text"}, "over 920: ask for a smaller 'limit', or for a 'page' from 1 to 4"),
    "too many rows": ({"limit": 29, "sort_by": "name"}, "(repos.text is the largest), or for a 'page' from 1 to "),
    "no page": ({"limit": 2, "page": 2}, "'page': expected a number from 1 to 1"),
}


async def test_what_cannot_be_answered_is_refused_with_what_can():
    """STYLE.md, "Errors": one sentence for a model, and the code for a program."""
    server, options = keeping(flat=tool(None, structured({"a": {"text": "x" * 2_000}, "b": 1})))
    async with attached(server, NEW, **options) as wire:
        uri = uri_of(await wire.call("repos"))
        for name, (arguments, message) in REFUSED.items():
            (line,) = await told(wire, uri, **arguments)
            assert message in line, name
        (line,) = await told(wire, uri_of(await wire.call("flat")), sort_by="b")
        assert line.endswith("this part has none: leave it out")
        error = await error_of(wire, f"{uri}?sort_by=star")
    assert (error["code"], error["data"]["error"]["code"]) == (-32602, "INVALID_ARGUMENTS")
    assert error["data"]["error"]["argument"] == "sort_by"


@pytest.mark.parametrize("by", ["the call", "a policy"])
async def test_what_a_caller_may_not_see_is_neither_sorted_by_nor_counted(by, tmp_path):
    """ROWS.md, "Privacy": it is like a field that exists nowhere, byte for byte."""
    without = [{name: value for name, value in repo.items() if name != "owner"} for repo in REPOS]
    server, options = keeping(bare=tool(SCHEMA, structured({**VALUE, "repos": without})))
    if by == "a policy":
        file = tmp_path / "it.policy.json"
        rules = {"rules": [{"name": "all", "deny": ["**.owner"]}]}
        file.write_text(json.dumps({"version": "1", "tools": {"repos": rules, "bare": rules}}))
        options["policy"] = FieldPolicy(file, audit=tmp_path / "audit.db")
    wanted = {"mode": "exclude", "fields": ["repos.owner"]}
    async with attached(server, NEW, **options) as wire:
        uris = [
            uri_of(await (wire.call(name) if by == "a policy" else wire.call(name, projection=wanted)))
            for name in ("repos", "bare")
        ]
        for query in ("sort_by=owner.login", "sort_by=repos.owner", "count_by=owner.login", "count_by=owner"):
            hidden, missing = [await error_of(wire, f"{uri}?{query}") for uri in uris]
            assert hidden == missing, query
            assert "is in no element" in hidden["message"]
        assert (await read(wire, f"{uris[0]}?sort_by=-stars&limit=1"))[0]["repos"] == [
            {name: value for name, value in TOP[0].items() if name != "owner"}
        ]
