"""Answers that are too large to send: previewed, kept, and read in parts."""

import json
import logging
import re
import secrets
import threading
from contextlib import nullcontext

import pytest
from jsonschema import Draft202012Validator
from mcp import Client, MCPError

import louver
from louver.core.schema.relax import relax
from louver.steps.results import read_resource
from steps.kept import COUNT, ISSUES, KEY, SCHEMA, VIEWS, WRAPPED, Clock, fits, issues, read, uri_of
from steps.profiles import lowlevel, structured, tool
from steps.test_callers import caller
from steps.test_refusals import include
from steps.wire import CLIENT, NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio

TOOLS = ("list_issues", "wrapped", "told", "told_within", "undeclared")


def size_of(value):
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode())


def kept(**options):
    return {"results": louver.KeptResults(**options), "views": {"list_issues": VIEWS}}


async def error_of(wire, uri):
    """The error of a read."""
    with pytest.raises(MCPError) as refused:
        await wire.request("resources/read", {"uri": uri})
    return refused.value.error.model_dump(exclude_none=True)


async def test_two_megabytes_become_a_preview_and_are_read_twice_without_a_second_call(era):
    """GATEWAY.md, "results kept": one execution, many views."""
    made = issues()
    async with attached(made.server, era, **kept()) as wire:
        answer = await wire.call("list_issues")
        assert size_of(ISSUES) > 2_000_000
        assert size_of(answer) < 2_000
        uri = uri_of(answer)
        titles, one = await read(wire, f"{uri}?fields=issues.id,issues.title")
        people, other = await read(wire, f"{uri}?view=people")
    assert made.calls == [("list_issues", {})]
    assert titles == {"issues": [{"id": row["id"], "title": row["title"]} for row in ISSUES["issues"]]}
    assert people == {"issues": [{"user": {"login": row["user"]["login"]}} for row in ISSUES["issues"]]}
    for value, said, mode in ((titles, one, "include"), (people, other, "view")):
        receipt = said["_meta"]["projection"]
        assert (receipt["applied"], receipt["mode"], receipt["partial"]) == (True, mode, True)
        assert Draft202012Validator(receipt["projectedSchema"]).is_valid(value)
        assert not Draft202012Validator(receipt["projectedSchema"]).is_valid(ISSUES)
        assert ("ttlMs" in said) == (era == NEW)


async def test_a_preview_says_what_the_answer_looks_like_and_where_it_is(era):
    """GATEWAY.md: a shape preview and a resource link."""
    async with attached(issues().server, era, **kept()) as wire:
        answer = await wire.call("list_issues")
    told, link = answer["content"]
    said = answer["_meta"][KEY]
    fits("kept", said)
    assert link == {
        "type": "resource_link",
        "uri": said["uri"],
        "name": "result of list_issues",
        "mimeType": "application/json",
        "size": size_of(ISSUES),
    }
    assert (said["bytes"], said["expiresInSeconds"]) == (size_of(ISSUES), 600)
    assert [field["path"] for field in said["fields"]][:4] == ["total", "nextCursor", "issues", "issues.id"]
    assert said["suggestedView"]["include"][:3] == ["total", "nextCursor", "issues.id"]
    assert answer["structuredContent"] == {"total": COUNT, "nextCursor": "c2"}
    size, means, fields = told["text"].split("\n")
    assert size == "Too large to send: 590,000 tokens, 1,280 items in issues. Kept for 10 minutes."
    assert means.endswith(f": {said['uri']}?fields=total,nextCursor or ?page=1")
    assert fields.startswith("Tokens by field: issues.body ")


@pytest.mark.parametrize("name", TOOLS)
async def test_it_is_kept_wherever_it_stands(name, era):
    """WIRE.md: structured content, JSON as text, JSON as text in a wrapper; read by the paths of a request."""
    made = issues()
    async with attached(made.server, era, **kept()) as wire:
        answer = await wire.call(name)
        assert size_of(answer) < 2_000
        assert not answer.get("isError")
        uri = uri_of(answer)
        whole, said = await read(wire, uri)
        assert said["_meta"]["projection"]["partial"] is False
        field = {"wrapped": "id", "told_within": "content.id"}.get(name, "issues.id")
        ids, said = await read(wire, f"{uri}?fields={field}")
        by_call = await wire.call(name, projection=include(field))
    assert whole == {"wrapped": {"result": ISSUES["issues"]}, "told_within": ISSUES["issues"]}.get(name, ISSUES)
    schema = said["_meta"]["projection"]["projectedSchema"]
    assert Draft202012Validator(schema).is_valid(ids)
    texts = [block["text"] for block in by_call["content"]]
    assert [json.dumps(ids, separators=(",", ":"))] == texts
    assert ("structuredContent" in answer) == (name != "told")


@pytest.mark.parametrize("name", TOOLS)
async def test_stock_clients_take_a_preview(name, era):
    """WIRE.md: what stands in `structuredContent` satisfies what is listed; they throw at anything else."""
    made = issues()
    louver.attach(made.server, **kept())
    async with Client(made.server, mode="auto" if era == NEW else "legacy") as client:
        await client.list_tools()
        answer = await client.call_tool(name, {})
        handle = re.search('"handle": "([^"]+)"', answer.content[0].text).group(1)
        fields = {"wrapped": ["id"], "told_within": ["content.id"]}.get(name, ["issues.id"])
        page = await client.call_tool("read_result", {"handle": handle, "page": 1, "output_fields": fields})
        head, text = page.content[0].text.split("\n")
    assert head == f"page 1 of {-(-COUNT // 100)}, {COUNT:,} elements in all"
    assert size_of(json.loads(text)) < 5_000


def test_the_previews_satisfy_what_is_listed():
    """Ours: the answers above, held against the relaxed schemas; the exact ones would refuse them."""
    for schema, shown in ((SCHEMA, {"total": 1}), (WRAPPED, {"result": []})):
        assert Draft202012Validator(relax(schema)).is_valid(shown)
        assert not Draft202012Validator(SCHEMA).is_valid({"total": 1})


async def test_what_is_asked_for_is_sent_if_it_is_small(era):
    """GATEWAY.md: a call that asks for a projection is never replaced, unless that is too large itself."""
    made = issues()
    async with attached(made.server, era, **kept()) as wire:
        answer = await wire.call("list_issues", projection=include("issues.id"))
        assert answer["structuredContent"]["issues"][-1] == {"id": COUNT - 1}
        assert KEY not in answer["_meta"]


async def test_what_is_asked_for_is_kept_if_it_is_large_and_nothing_else_is(era):
    """P10, P16: what the call left out cannot be read, by any field, view or page."""
    made = issues()
    async with attached(made.server, era, **kept()) as wire:
        wanted = {"mode": "exclude", "fields": ["issues.user"]}
        answer = await wire.call("list_issues", projection=wanted)
        assert answer["_meta"]["projection"] == {"applied": False, "reason": "result_kept"}
        assert size_of(answer) < 2_000
        uri = uri_of(answer)
        whole, said = await read(wire, uri)
        assert said["_meta"]["projection"]["partial"] is True
        assert "user" not in json.dumps(said["_meta"]["projection"]["projectedSchema"])
        assert Draft202012Validator(said["_meta"]["projection"]["projectedSchema"]).is_valid(whole)
        assert "user" not in json.dumps(answer)
        for query in ("", "?fields=issues.user", "?fields=*", "?view=people", "?page=3"):
            _, said = await read(wire, uri + query)
            assert "canary" not in json.dumps(said)


async def test_a_default_view_that_is_large_is_kept(era):
    """Ours: as if the tool had answered just that; nobody asked, so nothing is said of a projection."""
    views = {"list_issues": {"bodies": ["issues.body"]}}
    results = louver.KeptResults()
    async with attached(
        issues().server, era, results=results, views=views, default_views={"list_issues": "bodies"}
    ) as wire:
        answer = await wire.call("list_issues")
        assert "projection" not in answer["_meta"]
        whole, _ = await read(wire, uri_of(answer))
    assert whole["issues"][0].keys() == {"body"}


async def test_pages_are_those_of_the_longest_array(era):
    """Ours: a hundred elements; the rest of the value stays beside them."""
    async with attached(issues().server, era, **kept()) as wire:
        uri = uri_of(await wire.call("list_issues"))
        ids = []
        for page in range(1, 14):
            value, said = await read(wire, f"{uri}?page={page}&fields=total,issues.id")
            ids += [row["id"] for row in value["issues"]]
            told = {"page": page, "pages": 13, "items": COUNT, "path": "issues"}
            assert said["_meta"][KEY] == told
            fits("page", told)
            receipt = said["_meta"]["projection"]
            assert (receipt["schemaSource"], receipt["partial"]) == ("inferred", True)
            assert Draft202012Validator(receipt["projectedSchema"]).is_valid(value)
            assert value["total"] == COUNT
        assert ids == [*range(COUNT)]
        beyond = await error_of(wire, f"{uri}?page=14")
        assert beyond["data"]["error"]["expected"] == "a page from 1 to 13"
        _, said = await read(wire, f"{uri}?page=1&fields=total")
        assert said["_meta"][KEY] == {"page": 1, "pages": 1, "items": 0}
        assert "schemaSource" not in said["_meta"]["projection"]


@pytest.mark.parametrize("query", ["", "?page=2", "?fields=issues.id&page=1", "?sort_by=-id&limit=5"])
async def test_what_is_read_is_made_in_a_thread(query, era, monkeypatch):
    """PRIVACY.md: the event loop does not wait for it."""
    threads = []

    def noted(function):
        def call(*arguments, **options):
            threads.append(threading.current_thread())
            return function(*arguments, **options)

        return call

    for name in ("compact", "infer", "longest"):
        monkeypatch.setattr(f"louver.steps.results.read_resource.{name}", noted(getattr(read_resource, name)))
    async with attached(issues().server, era, **kept()) as wire:
        await read(wire, uri_of(await wire.call("list_issues")) + query)
    assert len(threads) == (3 if query else 1)
    assert threading.main_thread() not in threads


async def test_what_is_wrong_with_a_read_is_said(era):
    """STYLE.md: with the codes and words of a request."""
    async with attached(issues().server, era, **kept()) as wire:
        uri = uri_of(await wire.call("list_issues"))
        for query, code in (
            ("?view=poster", "UNKNOWN_VIEW"),
            ("?fields=a..b", "INVALID_PROJECTION"),
            ("?page=0", "INVALID_URI"),
            ("?pages=1", "INVALID_URI"),
        ):
            error = await error_of(wire, uri + query)
            assert (error["code"], error["data"]["error"]["code"]) == (-32602, code)
        _, said = await read(wire, f"{uri}?fields=issues.titel")
        assert said["_meta"]["projection"]["suggestions"] == {"issues.titel": "issues.title"}


async def test_guessed_foreign_and_expired_handles_are_one(era):
    """P17: one answer, byte for byte; nobody learns which."""
    clock = Clock()
    made = issues()
    louver.attach(made.server, **kept(clock=clock))
    async with connect(made.server, era) as wire, connect(made.server, era) as stranger:
        with caller("ann"):
            uri = uri_of(await wire.call("list_issues"))
            assert (await read(wire, f"{uri}?fields=total"))[0] == {"total": COUNT}
            guessed = await error_of(wire, f"louver://results/{secrets.token_urlsafe(24)}")
            malformed = await error_of(wire, "louver://results/%2e%2e/x?view=poster")
        with caller("ben"):
            others = await error_of(wire, uri)
            elsewhere = await error_of(stranger, uri)
        nobody = await error_of(wire, f"{uri}?fields=total")
        clock.now += 600
        with caller("ann"):
            expired = await error_of(wire, uri)
            expired_page = await error_of(wire, f"{uri}?page=99")
    found = [guessed, malformed, others, elsewhere, nobody, expired, expired_page]
    assert len({json.dumps(error) for error in found}) == 1
    assert guessed["data"]["error"] == {
        "code": "UNKNOWN_RESULT",
        "message": "no result is kept here for you, or no more: call the tool again",
    }
    assert len(made.calls) == 1


async def test_in_2025_a_result_is_that_of_its_connection():
    """P17: bound to the session, and to the principal in it."""
    made = issues()
    louver.attach(made.server, **kept())
    async with (
        connect(made.server, OLD) as wire,
        connect(made.server, OLD) as other,
        connect(made.server, NEW) as third,
    ):
        for name in (None, "ann"):
            with caller(name) if name else nullcontext():
                uri = uri_of(await wire.call("list_issues"))
                await read(wire, f"{uri}?fields=total")
                assert (await error_of(other, uri)) == (await error_of(third, uri))


async def test_in_2026_a_result_is_that_of_its_principal_or_of_who_has_the_handle():
    """P17: there is no session; the handle is what is left where nobody is authenticated."""
    made = issues()
    louver.attach(made.server, **kept())
    async with connect(made.server, NEW) as wire, connect(made.server, NEW) as other:
        with caller("ann"):
            uri = uri_of(await wire.call("list_issues"))
            await read(other, f"{uri}?fields=total")
        await error_of(other, uri)
        uri = uri_of(await wire.call("list_issues"))
        assert (await read(other, f"{uri}?fields=total"))[0] == {"total": COUNT}
        with caller("ann"):
            await error_of(other, uri)


async def test_handles_cannot_be_guessed():
    """GATEWAY.md: unguessable; 192 bits each, and none twice."""
    async with attached(issues().server, NEW, **kept()) as wire:
        handles = {uri_of(await wire.call("list_issues")).rpartition("/")[2] for _ in range(5)}
    assert {len(handle) for handle in handles} == {32}
    assert len(handles) == 5


async def test_kept_results_are_listed_nowhere(era):
    """P17: a handle is told to who has called, and to nobody else."""
    async with attached(issues().server, era, **kept()) as wire:
        await wire.call("list_issues")
        assert (await wire.request("resources/list"))["resources"] == []
        assert (await wire.request("resources/templates/list"))["resourceTemplates"] == []


async def test_nothing_of_an_answer_is_logged(caplog, era):
    """P15: nor a handle."""
    with caplog.at_level(logging.DEBUG):
        async with attached(issues().server, era, **kept()) as wire:
            uri = uri_of(await wire.call("list_issues"))
            await read(wire, f"{uri}?fields=issues.user")
            await error_of(wire, f"{uri}?view=poster")
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("louver")]
    assert "canary" not in str(logged)
    assert uri not in str(logged)


async def test_small_answers_errors_and_scalars_are_sent(era):
    """Ours: there is nothing to be asked for in the last."""
    large = "x" * 200_000
    made = lowlevel(
        small=tool(None, structured({"a": "x"})),
        failing=tool(None, {"isError": True, **structured({"a": large})}),
        prose=tool(None, {"content": [{"type": "text", "text": large}]}),
    )
    async with attached(made.server, era, **kept()) as wire:
        for name in made.tools:
            assert KEY not in (await wire.call(name)).get("_meta", {})


async def test_blocks_that_are_not_text_stay(era):
    """Ours: they are no part of what is kept."""
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    made = lowlevel(pictured=tool(None, structured(ISSUES, image)))
    async with attached(made.server, era, **kept()) as wire:
        answer = await wire.call("pictured")
    assert [block["type"] for block in answer["content"]] == ["text", "resource_link", "image"]


async def test_guidance_looks_at_all_that_is_kept(era):
    """Ours: the client has it, by the handle; and of what is not sent is not warned."""
    rule = {"when": {"path": "issues.id", "matches": f"^{COUNT - 1}$"}, "note": "The last one is special."}
    async with attached(issues().server, era, **kept(), guidance=[rule], warnings=True) as wire:
        answer = await wire.call("list_issues")
    assert answer["content"][-1]["text"] == "GUIDANCE: The last one is special."
    assert "dev.louver/warnings" not in answer["_meta"]


async def test_clients_that_get_no_projections_get_answers():
    """WIRE.md: with the strict listing a stock client would refuse a preview."""
    extensions = {"dev.louver/projection": {}}
    for declared, is_kept in ((None, False), (extensions, True)):
        async with attached(issues().server, NEW, extensions=declared, listing="strict", **kept()) as wire:
            assert (KEY in (await wire.call("list_issues"))["_meta"]) is is_kept


async def test_an_output_that_breaks_its_schema_is_not_read_in_parts(era):
    """PROJECTION.md: OUTPUT_INVALID, as in a call."""
    made = lowlevel(broken=tool({**SCHEMA, "required": ["missing"]}, structured(ISSUES)))
    async with attached(made.server, era, **kept()) as wire:
        uri = uri_of(await wire.call("broken"))
        error = await error_of(wire, f"{uri}?fields=missing,total")
    assert error["data"]["error"]["code"] == "OUTPUT_INVALID"
    assert "canary" not in json.dumps(error)


async def test_a_server_that_cannot_be_listed_answers_all_the_same(era):
    """Ours: the tool has run; its schema and views are just not known."""

    def fail():
        raise MCPError(code=-32603, message="no list today")

    made = issues()
    made.before_listing = fail
    async with attached(made.server, era, **kept()) as wire:
        uri = uri_of(await wire.call("list_issues"))
        value, said = await read(wire, f"{uri}?fields=total")
    assert value == {"total": COUNT}
    assert said["_meta"]["projection"]["schemaSource"] == "inferred"


async def test_before_the_handshake_nothing_is_read():
    """WIRE.md: who answers without the SDK does what it does."""
    made = issues()
    louver.attach(made.server, **kept())
    async with connect(made.server, OLD, handshake=False) as wire:
        with pytest.raises(MCPError) as early:
            await wire.request("resources/read", {"uri": "louver://results/x"})
        hello = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT}
        await wire.request("initialize", hello)
        await wire.notify("notifications/initialized")
        late = await error_of(wire, "louver://results/x")
    assert early.value.error.data != late["data"]


async def test_without_kept_results_the_addresses_are_the_server_s_own(era):
    """GATEWAY.md, "Transparency first"."""
    async with attached(issues().server, era) as wire:
        answer = await wire.call("list_issues")
        assert answer["structuredContent"] == ISSUES
        assert KEY not in answer.get("_meta", {})
        assert "UNKNOWN_RESULT" not in json.dumps(await error_of(wire, "louver://results/x"))


async def test_an_answer_that_is_not_what_it_declares_can_be_read_all_the_same():
    """Ours: it has run, and nothing of it is lost; of what is read a schema is inferred."""
    value = {"issues": [{"id": "text"} for _ in range(500)]}
    made = lowlevel(bad=tool(SCHEMA, structured(value)))
    louver.attach(made.server, results=louver.KeptResults(over_bytes=100))
    async with connect(made.server, NEW) as wire:
        uri = uri_of(await wire.call("bad"))
        assert (await read(wire, uri))[0] == value
        assert len((await read(wire, f"{uri}?page=1"))[0]["issues"]) == 100
