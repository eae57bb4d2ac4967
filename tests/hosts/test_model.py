"""The model that is played: in each protocol it calls what its script says, and records what it is shown."""

from __future__ import annotations

import json

import httpx2
import pytest

from .filling import filled
from .known import KNOWN
from .model import played
from .scenes import CELLS
from .stacks import STACKS, VERSIONS

STEPS = [{"tool": "get_person", "arguments": {"id": 7}}, {"tool": "read-result", "arguments": {"handle": "$handle"}}]
NAMES = ("mcp__people__get_person", "mcp__people__read_result")
PARAMETERS = {"type": "object", "properties": {"id": {"type": "integer"}}}
RESULT = 'kept: {"handle": "abc"}'


def chat(results):
    tools = [{"type": "function", "function": {"name": name, "parameters": PARAMETERS}} for name in NAMES]
    return "/v1/chat/completions", {"tools": tools, "messages": [{"role": "tool", "content": each} for each in results]}


def responses(results):
    tools = [{"type": "function", "name": name, "parameters": PARAMETERS} for name in NAMES]
    given = [{"type": "function_call_output", "output": each} for each in results]
    return "/v1/responses", {"tools": tools, "input": given}


def messages(results):
    tools = [{"name": name, "input_schema": PARAMETERS} for name in NAMES]
    given = [{"role": "user", "content": [{"type": "tool_result", "content": each}]} for each in results]
    return "/v1/messages", {"tools": tools, "messages": given}


def gemini(results):
    tools = [{"functionDeclarations": [{"name": name, "parametersJsonSchema": PARAMETERS} for name in NAMES]}]
    parts = [{"functionResponse": {"response": {"output": each}}} for each in results]
    return "/v1beta/models/fake:generateContent", {"tools": tools, "contents": [{"parts": parts}]}


def called(answer):
    """The name and the arguments of the one call in an answer; nothing if there is none."""
    text = json.dumps(answer)
    if "All done." in text:
        return None
    for step in ("get_person", "read_result"):
        if f"mcp__people__{step}" in text:
            return step, ("7" in text, "abc" in text)
    return None


@pytest.mark.parametrize("protocol", [chat, responses, messages, gemini])
def test_it_plays_its_script_and_records_what_it_is_shown(protocol):
    """Ours: step k once there are k results."""
    with played(STEPS) as model, httpx2.Client(trust_env=False) as http:
        answers = []
        for results in ([], [RESULT], [RESULT, "the end"]):
            path, body = protocol(results)
            answers.append(called(http.post(model.url + path, json=body).json()))
    assert [answer and answer[0] for answer in answers] == ["get_person", "read_result", None]
    assert answers[1][1][1]
    assert model.tools.keys() == set(NAMES)
    assert [RESULT in seen.replace("\\", "") for seen in model.seen] == [True, False]


@pytest.mark.parametrize("protocol", [chat, responses, messages])
def test_it_streams_where_that_is_asked_for(protocol):
    """Ours: as hosts do."""
    with played(STEPS) as model, httpx2.Client(trust_env=False) as http:
        path, body = protocol([])
        answer = http.post(model.url + path, json={**body, "stream": True})
    assert answer.headers["content-type"] == "text/event-stream"
    events = [json.loads(line[6:]) for line in answer.text.split("\n") if line.startswith("data: {")]
    assert "get_person" in json.dumps(events)


def test_arguments_are_filled_with_what_was_seen():
    """Ours: a handle and a grant, also where they stand in JSON within JSON; what was not seen is left out."""
    seen = ['{"text": "{\\"handle\\": \\"abc\\"}"}', f'"const": "v1.{"x" * 60}"']
    assert filled({"handle": "$handle", "grant": "$grant", "id": 7}, seen) == {
        "handle": "abc",
        "grant": f"v1.{'x' * 60}",
        "id": 7,
    }
    assert filled({"inner": {"grant": "$grant"}}, []) == {"inner": {}}


def test_what_is_known_is_of_stacks_and_cells_that_there_are():
    """Ours."""
    for stack, cell in KNOWN:
        assert stack in STACKS
        assert cell in CELLS


def test_each_version_is_pinned():
    """Ours: but for the range of a library that a stack cannot do without."""
    for stack in STACKS:
        said = VERSIONS[stack]
        assert all(version[0].isdigit() for version in said.get("npm", {}).values())
        assert all("==" in each or each.startswith("mcp>=") for each in said.get("pypi", ()))
