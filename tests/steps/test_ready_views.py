"""Views that ship for servers, where a server only calls itself like one of them."""

import logging

import pytest

from louver.catalogue.files.views import ready_views
from louver.sdk.adapter import StepMiddleware, call_server
from louver.steps.calls.request import RequestOptions
from louver.steps.projection import ProjectionStep
from louver.steps.request import in_order
from louver.steps.tools.registry import ToolRegistry
from louver.steps.tools.views import ToolViews
from steps.profiles import PROFILE, SCHEMA, lowlevel, structured, tool
from steps.wire import connect

pytestmark = pytest.mark.anyio

GRAPH = {"entities": [{"name": "Ann", "entityType": "person", "observations": ["likes tea"]}], "relations": []}


def ready(made, says):
    """Before a server that says of itself what `says` gives."""

    def find(tool):
        views = ready_views(says())
        return None if views is None else views.find(tool)

    server, tools = made.server, ToolRegistry(ToolViews(None, {}, shipped={"": find}))
    step = ProjectionStep(server.server_info_stamp, tools, RequestOptions("off", ("",)), "relaxed")
    server.middleware.insert(0, StepMiddleware(in_order([step], call_server)))
    return server


async def test_views_that_do_not_fit_are_told_and_not_used(era, caplog):
    """Ours: another server of the same name, or another version, answers as ever."""
    made = lowlevel(create_entities=tool(SCHEMA), read_graph=tool(result=structured(GRAPH)))
    with caplog.at_level(logging.ERROR):
        async with connect(ready(made, lambda: "memory-server"), era) as wire:
            for _ in range(2):
                assert (await wire.call("create_entities"))["structuredContent"] == PROFILE
            assert (await wire.call("read_graph"))["structuredContent"] == GRAPH
    (told,) = [record.getMessage() for record in caplog.records]
    assert "the views of tool 'create_entities' are not used" in told
    assert "'entities.name', which the output cannot have" in told


async def test_a_server_of_another_name_has_none(era):
    """Ours: letter by letter."""
    made = lowlevel(create_entities=tool(result=structured(GRAPH)))
    async with connect(ready(made, lambda: "memory-server-2"), era) as wire:
        answer = await wire.call("create_entities")
    assert answer["structuredContent"] == GRAPH
    assert "_meta" not in answer or "projection" not in answer["_meta"]


async def test_the_name_counts_from_when_it_is_known(era):
    """Ours: a server says it when it is opened, and may be another one later."""
    names = [None]
    made = lowlevel(create_entities=tool(result=structured(GRAPH)))
    async with connect(ready(made, lambda: names[-1]), era) as wire:
        assert (await wire.call("create_entities"))["structuredContent"] == GRAPH
        names.append("memory-server")
        assert (await wire.call("create_entities"))["structuredContent"] == {"entities": [{"name": "Ann"}]}
        names.append("other")
        assert (await wire.call("create_entities"))["structuredContent"] == GRAPH
