"""Nothing that a policy denies gets out, whatever the tool, the rules and the request; and this would find it.

Each step of the pipeline that is taken out lets tokens out, and so does a pipeline without any.
"""

from __future__ import annotations

import base64
import json
from contextlib import ExitStack

import pytest

from louver.core.json import NotJson, parse
from louver.core.paths.mask import exclude_mask, remade
from louver.core.policy import embedded_json, visibility
from louver.policy.policy import ToolPolicy
from louver.steps.policy import enforcer, message_filter, visible_tools
from louver.steps.policy.enforcer import PolicyEnforcer
from louver.steps.results.results import Results
from tests.policy import canaries
from tests.policy.canaries import Pipeline, Run, escaped, forms, patched

pytestmark = pytest.mark.anyio

FOUND_WITHIN = 4_000
"""Cases in which what lets tokens out is found; mostly in ten."""


@pytest.mark.parametrize(
    ("seed", "cases"), [(0, 100), *(pytest.param(seed, 1_000, marks=pytest.mark.deep) for seed in (2, 3, 4, 5))]
)
async def test_no_denied_token_gets_out(seed, cases):
    """PRIVACY.md, "The canary test"; `python -m tests.policy.canaries --cases 100000` looks at more."""
    run = await Run(seed).cases(cases)
    assert run.found == [], run.example
    assert run.counts["cases"] == cases
    assert run.counts["denied tokens"] > 10 * cases
    assert run.counts["answered"] > cases / 2
    assert run.counts["kept"] > cases / 50


async def finds(seed, *patches):
    """The kinds of tokens that get out while something else stands in the place of functions."""
    with ExitStack() as stack:
        for where, functions in patches:
            stack.enter_context(patched(where, **functions))
        run = await Run(seed).cases(FOUND_WITHIN, enough=1)
    return [what for _, what in run.found]


async def test_a_pipeline_that_prunes_nothing_leaks_at_once():
    """PRIVACY.md, "The canary test": that shows that the test bites."""
    with patched(PolicyEnforcer, **canaries.naive()):
        run = await Run(1).cases(20)
    assert {what for _, what in run.found} >= {"value", "name", "meta", "link", "title of annotations"}
    assert run.counts["OUT value"] > 20


def with_content(result, output, kept, *, keep_blocks):
    """The value is written, and what stood there stays beside it."""
    wrote(result, output, kept, keep_blocks=keep_blocks)
    result["content"].append({"type": "text", "text": json.dumps(output.value)})


def exactly(paths, names, out):
    """The masks of what is denied, without its twins."""
    mask = exclude_mask(paths)
    return (mask, mask) if out is visibility.NONE else (remade(mask, out),) * 2


def is_json(text):
    try:
        return parse(text) is not None
    except NotJson:
        return False


wrote = enforcer.write_output
STEPS = {
    "the value is not pruned": [(visibility.Visibility, {"of": lambda self, value: value})],
    "the schema is not pruned": [(visible_tools.VisibleTool, {"listed_schema": property(lambda self: self._declared)})],
    "content stays": [(enforcer, {"write_output": with_content})],
    "prose is passed on": [
        (enforcer, {"_without_output": lambda said, shown, *_: {**shown, "content": said["content"]}})
    ],
    "links are passed on": [
        (enforcer, {"_without_output": lambda said, shown, *_: {**shown, "content": said["content"][1:]}})
    ],
    "meta is passed on": [
        (message_filter.MessageFilter, {"_allowed_meta": lambda self, said: {"_meta": said.get("_meta", {})}})
    ],
    "errors are passed on": [
        (PolicyEnforcer, {"refusal": lambda self, error, record: error}),
    ],
    "texts of tools are passed on": [(visible_tools, {"redact_text": lambda text, names: text})],
    "texts of inputs are passed on": [(visible_tools, {"redact_input_schema": lambda schema, names: schema})],
    "views are passed on": [(Pipeline, {"_hides": lambda self, who, tool, path: False})],
    "schemas tell names": [(visibility, {"redact_schema": lambda schema, names: schema})],
    "twins are passed on": [(visibility, {"_denial_masks": exactly})],
    "members beside a wrapper are passed on": [(visibility, {"_around": lambda wrapper, beside: wrapper})],
    "text is read as without a wrapper": [(visibility, {"_fields_in_text": lambda fields, wrapper: fields})],
    "all share what is kept of answers": [(Results, {"scoped_to": lambda self, scope: self})],
    "all share what is kept of tools": [(Pipeline, {"audience": lambda self, who: self.policed.id})],
    "who meets no rule is served": [
        (ToolPolicy, {"rule_for": lambda self, who: self.rules[-1 if not who.roles else 0]})
    ],
    "strings are not looked into": [(visibility, {"prune_strings": lambda value, *_: value})],
    "what is nearly JSON is prose": [
        (
            embedded_json,
            {"begins_like_json": lambda text: text[:1] in "[{" and is_json(text)},
        )
    ],
    "what is hidden is just not allowed": [(visibility, {"_mask_value": lambda value: value})],
    "pseudonyms are no such": [(visibility.Visibility, {"_pseudonym": lambda self, value: f"p:{value}"})],
}


SOON = {
    "members beside a wrapper are passed on": 3,
    "text is read as without a wrapper": 22,
    "strings are not looked into": 5,
    "what is nearly JSON is prose": 19,
}
"""A seed with which it is found in few cases, where it needs many with the first."""


@pytest.mark.whole
@pytest.mark.parametrize("step", STEPS)
async def test_a_step_that_is_taken_out_lets_tokens_out(step):
    """PRIVACY.md, "The canary test": each turns it red."""
    assert await finds(SOON.get(step, 1), *STEPS[step])


def test_a_token_is_found_in_every_form():
    """PRIVACY.md, "The canary test": raw, JSON-escaped, base64, hex, URL-encoded, NFKC."""
    token = "v0123456789"
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in token)
    assert len(forms(token)) == 5
    hiding = [
        token,
        token.encode().hex(),
        json.dumps(wide),
        "".join(f"%{byte:02X}" for byte in token.encode()),
        "".join(f"\\u{ord(letter):04x}" for letter in token),
        wide,
        token.upper(),
        f"{token[:4]}\u200b{token[4:]}",
    ]
    hiding += [base64.b64encode(b"x" * before + token.encode() + b"yz").decode() for before in range(4)]
    for text in hiding:
        assert escaped(["before", f"<{text}>"], {token: "value"}) == [(token, "value")], text
    assert escaped([f"{token[:-1]} {token[1:]}"], {token: "value"}) == []
