"""The views of a server's tools: hints, arguments of `attach`, and files."""

import json
import logging
import os

import pytest
from mcp.server import MCPServer

import louver
from louver.catalogue.files.views import ViewFile
from louver.core.projection.view import Views
from louver.core.schema import known_fields
from louver.errors import InvalidView
from louver.steps.tools.views import ToolViews
from steps.profiles import PROFILE, SCHEMA, build, lowlevel, tool
from steps.test_refusals import refused
from steps.wire import NEW, OLD, attached, connect

pytestmark = pytest.mark.anyio

MINIMAL = {"mode": "view", "view": "minimal"}


def write(folder, content, stamp, tool="t"):
    """A file of views with an explicit time, so that a change is one without waiting."""
    path = folder / f"{tool}.views.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    os.utime(path, ns=(stamp, stamp))
    return path


def file_of(*fields, tool="t"):
    return {"tool": tool, "views": {"minimal": {"include": list(fields)}}}


async def test_views_come_from_files(profiles, era, tmp_path):
    """Ours: `<tool>.views.json`, with `always`."""
    write(tmp_path, {**file_of("name", tool="get_profile"), "always": ["id"]}, 1, "get_profile")
    async with attached(profiles.server, era, views=tmp_path) as wire:
        hint = (await wire.tools())["get_profile"]["annotations"]["projectionHint"]
        assert hint["recommendedViews"] == {"minimal": ["name"]}
        assert (await wire.call("get_profile", projection=MINIMAL))["structuredContent"] == {
            "id": 7,
            "name": "Ann",
        }


async def test_of_two_views_of_one_name_the_nearer_to_the_operator_counts(era, tmp_path):
    """Ours: a hint, then `attach`, then a file."""
    meta = louver.hint({"a": ["id"], "b": ["id"], "c": ["id"]})
    made = lowlevel(t=tool(SCHEMA, meta=meta))
    async with attached(made.server, era, views={"t": {"b": ["name"], "c": ["name"]}}) as wire:
        kept = [await wire.call("t", projection={"mode": "view", "view": view}) for view in "abc"]
    assert [list(answer["structuredContent"]) for answer in kept] == [["id"], ["name"], ["name"]]
    made = lowlevel(t=tool(SCHEMA, meta=meta))
    write(tmp_path, {"tool": "t", "views": {"c": ["email"]}}, 1)
    async with attached(made.server, era, views=tmp_path) as wire:
        kept = [await wire.call("t", projection={"mode": "view", "view": view}) for view in "ac"]
    assert [list(answer["structuredContent"]) for answer in kept] == [["id"], ["email"]]


async def test_a_changed_file_counts_from_the_next_call(profiles, era, tmp_path):
    """Ours: nothing has to be restarted."""
    write(tmp_path, file_of("name", tool="get_profile"), 1, "get_profile")
    async with attached(profiles.server, era, views=tmp_path) as wire:
        before = await wire.call("get_profile", projection=MINIMAL)
        write(tmp_path, file_of("id", tool="get_profile"), 2, "get_profile")
        after = await wire.call("get_profile", projection=MINIMAL)
        hint = (await wire.tools())["get_profile"]["annotations"]["projectionHint"]
    assert before["structuredContent"] == {"name": "Ann"}
    assert after["structuredContent"] == {"id": 7}
    assert hint["recommendedViews"] == {"minimal": ["id"]}


@pytest.mark.parametrize("bad", ["{", file_of("nope"), file_of("a..b"), {"tool": "t"}], ids=str)
async def test_a_bad_change_leaves_the_last_good_views_in_force_and_is_logged(era, tmp_path, bad, caplog):
    """Ours: whether it is not JSON, not a view file, or does not fit the tool."""
    made = lowlevel(t=tool(SCHEMA))
    path = write(tmp_path, file_of("name"), 1)
    async with attached(made.server, era, views=tmp_path) as wire:
        await wire.call("t", projection=MINIMAL)
        write(tmp_path, bad, 2)
        for _ in range(3):
            answer = await wire.call("t", projection=MINIMAL)
            assert answer["structuredContent"] == {"name": "Ann"}
        logged = [record for record in caplog.records if record.levelno == logging.ERROR]
        assert len(logged) == 1
        assert f"{path}:1: " in logged[0].getMessage()
        write(tmp_path, file_of("id"), 3)
        assert (await wire.call("t", projection=MINIMAL))["structuredContent"] == {"id": 7}


async def test_a_view_that_its_tool_cannot_have_keeps_the_server_from_starting():
    """Ours: by file and line, before the first client is served."""
    made = build("MCPServer")
    louver.attach(made.server, views={"get_profile": {"minimal": ["nmae"]}})
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - the transport wraps it in a group
        async with connect(made.server, NEW):
            pass
    assert raised.group_contains(
        InvalidView, match=r"tool 'get_profile': view 'minimal' names 'nmae'.*did you mean 'name'"
    )


async def test_a_file_that_does_not_fit_is_told_by_file_and_line(tmp_path):
    """Ours."""
    text = '{"tool": "get_profile",\n "views": {\n  "minimal": {"include": [\n   "id",\n   "/nmae"]}}}'
    path = write(tmp_path, text, 1, "get_profile")
    made = build("MCPServer")
    louver.attach(made.server, views=str(tmp_path))
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - likewise
        async with connect(made.server, OLD):
            pass
    assert raised.group_contains(InvalidView, match=rf"{path}:5: tool 'get_profile': view 'minimal' names")


@pytest.mark.parametrize(
    "meta",
    [
        louver.hint({"minimal": ["nmae"]}),
        {"dev.louver/projectionHint": {"recommendedViews": {"minimal": ["a.."]}}},
        {"dev.louver/projectionHint": {"recommendedViews": ["id"]}},
        {"dev.louver/projectionHint": {"views": "all"}},
        {"dev.louver/projectionHint": {"always": 1}},
    ],
    ids=str,
)
async def test_a_hint_that_cannot_be_used_is_logged_and_the_tool_is_listed_all_the_same(era, meta, caplog):
    """Ours: a lowlevel server is first listed when it serves already."""
    made = lowlevel(t=tool(SCHEMA, meta=meta))
    async with attached(made.server, era) as wire:
        assert (await wire.tools())["t"]["annotations"]["projectionHint"] == {"supported": True}
        answer = await wire.call("t", projection={"mode": "include", "fields": ["id"]})
    assert answer["structuredContent"] == {"id": 7}
    assert "the views of tool 't' are not used" in caplog.text


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """Ours: at `attach`, not at the first call."""
    with pytest.raises(InvalidView, match="nowhere: the folder of views is not there"):
        louver.attach(MCPServer("profiles"), views=tmp_path / "nowhere")


@pytest.mark.parametrize("views", [{"t": {"minimal": ["a.."]}}, {"t": {"minimal": {"extends": "x"}}}])
def test_a_view_that_is_not_well_formed_is_an_error(views):
    """Ours: likewise."""
    with pytest.raises(InvalidView, match="view 'minimal'"):
        louver.attach(MCPServer("profiles"), views=views)


async def test_a_default_view_that_there_is_not_keeps_the_server_from_starting():
    """Ours."""
    made = build("MCPServer")
    louver.attach(made.server, default_views={"get_profile": "minimal"})
    with pytest.raises(BaseException) as raised:  # noqa: PT011 - the transport wraps it in a group
        async with connect(made.server, NEW):
            pass
    assert raised.group_contains(InvalidView, match="has no view 'minimal' to be its default: its views are none$")


async def test_a_default_view_that_cannot_be_used_never_lets_the_full_output_through(era):
    """Ours: a lowlevel server serves already when that shows."""
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, era, default_views={"t": "minimal"}) as wire:
        assert (await refused(wire, "t"))["code"] == "UNKNOWN_VIEW"
    assert made.calls == []


async def test_a_folder_can_gain_and_lose_files_while_serving(era, tmp_path):
    """Ours."""
    made = lowlevel(t=tool(SCHEMA))
    async with attached(made.server, era, views=tmp_path) as wire:
        assert (await refused(wire, "t", projection=MINIMAL))["code"] == "UNKNOWN_VIEW"
        path = write(tmp_path, file_of("name"), 1)
        assert (await wire.call("t", projection=MINIMAL))["structuredContent"] == {"name": "Ann"}
        path.unlink()
        assert (await refused(wire, "t", projection=MINIMAL))["code"] == "UNKNOWN_VIEW"
        assert (await wire.call("t"))["structuredContent"] == PROFILE


def test_a_file_that_is_mended_while_it_is_held_against_its_tool_counts_from_then_on(tmp_path, monkeypatch):
    """Ours: that goes on in a thread, beside which files are read again."""
    listed = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA}
    write(tmp_path, file_of("nope"), 1)
    views = ToolViews(tmp_path, {})
    check = ViewFile.check

    def mended_meanwhile(self, schema):
        write(tmp_path, file_of("name"), 2)
        views.refresh()
        check(self, schema)

    monkeypatch.setattr(ViewFile, "check", mended_meanwhile)
    before = views.entry(listed, None)
    assert before.views == Views()
    assert not views.are_current(before)
    assert list(views.entry(listed, before).views.named) == ["minimal"]


def test_views_that_callers_see_parts_of_are_checked_within_one_bound(monkeypatch):
    """Ours: a bound for each would be none for all."""
    made = []

    class Counted(known_fields.Known):
        def __init__(self, *args):
            made.append(args)
            super().__init__(*args)

    monkeypatch.setattr(known_fields, "Known", Counted)
    meta = louver.hint({f"view_{number}": ["id", "email"] for number in range(50)}, always=["name"])
    views = ToolViews(None, {}, hides=lambda tool, path: str(path) == "email")
    entry = views.check({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": SCHEMA, "_meta": meta})
    assert {tuple(map(str, view.include)) for view in entry.views.named.values()} == {("id",)}
    assert len(entry.views.named) == 50
    assert len(made) <= 2
