"""Where projection does not apply: the result is as it was, and the receipt says why."""

import pytest

from steps.profiles import PROFILE, SCHEMA, lowlevel, structured, text, tool
from steps.wire import NEW, attached, text_of
from tests.fixtures.company import build_server

pytestmark = pytest.mark.anyio

NAME = {"mode": "include", "fields": ["name"]}
REQUIRED = {**NAME, "required": True}
ERROR = "dev.louver/error"


def not_applied(answer, reason):
    return answer["_meta"]["projection"] == {"applied": False, "reason": reason}


async def test_an_error_result_stays_that_error(era):
    """Ours: `error_result`; with `required` too, an error stays that error."""
    failed = {**text("It failed."), "isError": True}
    made = lowlevel(t=tool(SCHEMA, failed))
    async with attached(made.server, era) as wire:
        for projection in (NAME, REQUIRED):
            answer = await wire.call("t", projection=projection)
            assert answer["content"] == failed["content"]
            assert answer["isError"] is True
            assert not_applied(answer, "error_result")


async def test_a_question_to_the_client_is_no_output():
    """2026-07-28, `input_required`: the receipt says `not_complete`; with `required` too."""
    question = {"resultType": "input_required", "inputRequests": {}, "requestState": "s"}
    made = lowlevel(t=tool(SCHEMA, question))
    async with attached(made.server, NEW) as wire:
        for projection in (NAME, REQUIRED):
            answer = await wire.call("t", projection=projection)
            assert question.items() <= answer.items()
            assert not_applied(answer, "not_complete")


async def test_the_answer_to_a_question_is_projected():
    """2026-07-28: the call that brings what was asked for is a call like any other."""
    made = lowlevel(t=tool(SCHEMA, lambda arguments: structured(PROFILE)))
    async with attached(made.server, NEW) as wire:
        params = {"name": "t", "arguments": {}, "inputResponses": {}, "requestState": "s"}
        answer = await wire.request("tools/call", {**params, "_meta": {"projection": NAME}})
    assert answer["structuredContent"] == {"name": "Ann"}


PROSE = [
    text("Ann lives in Rome."),
    text("{not JSON"),
    text('{"a": 1, "a": 2}'),
    text('{"a": NaN}'),
    text('{"a": 1e999}'),
    text("[" * 300 + "]" * 300),
    text("12"),
    text('{"a": 1}', '{"b": 2}'),
    {"content": []},
    {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]},
]
"""Results that hold nothing to project."""


@pytest.mark.parametrize("result", PROSE, ids=range(len(PROSE)))
async def test_an_output_that_is_not_structured_is_as_it_was(era, result):
    """#1704, "Key Features": falls back to full output; the receipt says so."""
    made = lowlevel(t=tool(None, result))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=NAME)
    assert answer["content"] == result["content"]
    assert not_applied(answer, "no_structured_output")


@pytest.mark.parametrize("result", PROSE, ids=range(len(PROSE)))
async def test_a_required_projection_is_never_answered_in_full(era, result):
    """Ours: `required: true` makes it an error that says why."""
    made = lowlevel(t=tool(None, result))
    async with attached(made.server, era) as wire:
        answer = await wire.call("t", projection=REQUIRED)
    assert answer["isError"] is True
    error = text_of(answer)["error"]
    assert error == answer["_meta"][ERROR]
    assert error["code"] == "PROJECTION_REQUIRED"
    assert error["reason"] == "no_structured_output"
    assert "structuredContent" not in answer
    assert (answer.get("resultType") == "complete") == (era == NEW)


async def test_a_default_view_says_nothing_where_nothing_was_done(era):
    """Ours: nobody asked."""
    made = lowlevel(t=tool(None, text("prose")))
    views = {"t": {"minimal": ["a"]}}
    async with attached(made.server, era, views=views, default_views={"t": "minimal"}) as wire:
        answer = await wire.call("t")
    assert "projection" not in answer.get("_meta", {})
    assert answer["content"] == text("prose")["content"]


async def test_the_tool_of_the_example_that_fails_fails_alike(era):
    """Ours."""
    async with attached(build_server(), era) as wire:
        plain = await wire.call("always_fails")
        asked = await wire.call("always_fails", projection=NAME)
    assert asked["content"] == plain["content"]
    assert not_applied(asked, "error_result")


async def test_the_export_of_the_example_is_projected_as_text(era):
    """Ours: JSON text without a schema."""
    async with attached(build_server(), era) as wire:
        answer = await wire.call("export_stats", projection={"mode": "include", "fields": ["users.total"]})
    assert text_of(answer) == {"users": {"total": 200}}
    assert "structuredContent" not in answer
