"""Rules for tools, by themselves."""

import re

import pytest

from louver.errors import InvalidConfig
from louver.gateway.config.read import as_config
from louver.policy.principal import NOBODY, Principal
from louver.policy.tool_rules import ToolRules

TOOLS = [{"name": name, "description": name.upper()} for name in ("a1", "a2", "b1")]
ADMIN = Principal("ann", "desk", frozenset({"read", "write"}), frozenset({"admin"}))


def visible(written, principal=NOBODY):
    rules = ToolRules.read(written)
    rule = rules.rule_for(principal)
    tools = [tool for each in TOOLS if (tool := rules.visible_tool(rule, each)) is not None]
    # A tool that is listed is called by the same name, and no other is.
    assert [rules.tool_for(rule, tool["name"]) for tool in tools] == [
        each["name"] for each in TOOLS if rules.visible_tool(rule, each)
    ]
    return {tool["name"]: tool["description"] for tool in tools}


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ({}, ["a1", "a2", "b1"]),
        ({"allow": []}, []),
        ({"allow": ["a*"]}, ["a1", "a2"]),
        ({"allow": ["?1"]}, ["a1", "b1"]),
        ({"allow": ["A*"]}, []),
        ({"hide": ["a*"]}, ["b1"]),
        ({"allow": ["a*"], "hide": ["*2"]}, ["a1"]),
        ({"rename": {"a1": "a3"}}, ["a3", "a2", "b1"]),
        ({"rename": {"a1": "a2"}}, ["a2", "b1"]),
        ({"rename": {"a1": "a2", "a2": "a1"}}, ["a2", "a1", "b1"]),
        ({"rename": {"a1": "a2", "a2": "c"}}, ["a2", "c", "b1"]),
    ],
)
def test_rules_say_what_is_visible(written, names):
    """*Ours*."""
    assert list(visible(written)) == names


def test_a_description_replaces_that_of_the_server():
    """*Ours*: keyed by the server's name."""
    assert visible({"rename": {"a1": "x"}, "describe": {"a1": "X"}, "hide": ["b1"]}) == {"x": "X", "a2": "A2"}


@pytest.mark.parametrize(
    ("who", "is_met"),
    [
        ({"roles": ["admin", "other"]}, True),
        ({"roles": ["other"]}, False),
        ({"scopes": ["read", "write"]}, True),
        ({"scopes": ["read", "all"]}, False),
        ({"clients": ["desk"]}, True),
        ({"clients": ["desk"], "roles": ["other"]}, False),
    ],
)
def test_the_first_rule_that_a_caller_meets_applies(who, is_met):
    """*Ours*: as in a policy."""
    rules = [{"who": who, "allow": ["b1"]}, {"allow": ["a1"]}]
    assert list(visible(rules, ADMIN)) == ["b1" if is_met else "a1"]
    assert list(visible(rules[:1], ADMIN)) == (["b1"] if is_met else [])


def test_a_new_name_stands_for_one_tool_for_all_callers():
    """*Ours*: so files and settings by this name mean one tool."""
    rules = [{"who": {"roles": ["admin"]}, "rename": {"a1": "a2"}}, {}]
    assert list(visible(rules, ADMIN)) == ["a2", "b1"]
    assert list(visible(rules)) == ["a1", "b1"]
    assert [tool["name"] for tool in ToolRules.read(rules).all_visible(TOOLS)] == ["a2", "b1", "a1"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"rename": {"a": "c", "b": "c"}}, "'tools': 'rename' gives both 'a' and 'b' the name 'c': expected one"),
        ([{"rename": {"a": "c"}}, {"rename": {"b": "c"}}], "'rename' gives both 'a' and 'b' the name 'c'"),
        ({"rename": {"a": "b"}, "hide": ["a"]}, "'rename' names 'a', which 'allow' and 'hide' leave out"),
        ({"describe": {"a": "b"}, "allow": ["b"]}, "'describe' names 'a', which 'allow' and 'hide' leave out"),
        ({"rename": {"a": "b c"}}, "'a': expected a name of at most 64 letters, digits, '_', '-' and '.'"),
        ({"alow": ["a"]}, "unknown key 'alow'"),
        ({"who": {}}, "'who': expected one condition or more"),
        ([], "'tools': expected one rule or more"),
    ],
)
def test_rules_that_cannot_be_are_refused_by_line(written, said):
    """*Ours*: before anything is served."""
    with pytest.raises(InvalidConfig) as refused:
        as_config({"mcpServers": {"it": {"command": "a", "louver": {"tools": written}}}})
    assert said in str(refused.value)
    assert re.match(r"<dict>:[678]: server 'it': ", str(refused.value))


def test_rules_of_one_content_have_one_id():
    """*Ours*: kept results are for callers of the same rule, in all replicas, and after a reload."""
    (one,), (same,), (other,) = (
        ToolRules.read(written).rules
        for written in ({"who": {"roles": ["a", "b"]}}, {"who": {"roles": ["b", "a"]}}, {"who": {"scopes": ["a", "b"]}})
    )
    assert one.id == same.id != other.id
