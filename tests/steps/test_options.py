"""The options of `attach`: what cannot be one is told before anything is attached."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp.server import MCPServer, Server

import louver
from fixtures.tables import in_turn
from louver.errors import LouverError


@pytest.mark.parametrize(
    ("options", "said", "server"),
    in_turn(
        [
            ({"warnings": "yes"}, "'warnings' is True or False, not of type 'str'"),
            ({"warnings": {"items": 9}}, "'warnings' is True or False, not of type 'dict'"),
            (
                {"views": {"get": ["id"]}},
                "'views' of 'get' is a name of each view with its fields, .* not of type 'list'",
            ),
            ({"views": ["views"]}, "'views' is the path to a folder, or tools with their views, not of type 'list'"),
            ({"views": b"views"}, "'views' is the path to a folder, .* not of type 'bytes'"),
            ({"results": True}, "'results' is a `KeptResults`, not of type 'bool'"),
            ({"default_views": "minimal"}, "'default_views' is tools with a view each, not of type 'str'"),
            ({"default_views": {"get": {"include": []}}}, "'default_views' of 'get' is the name of a view, .* 'dict'"),
            ({"search": True, "queries_per_minute": "9"}, "'queries_per_minute' is a number, not of type 'str'"),
            ({"search": "no"}, "'search' is True or False, not of type 'str'"),
            ({"exact": "no"}, "'exact' is True or False"),
            ({"argument": "all"}, "'argument' is True or False"),
            ({"guidance": {"text": "less"}}, "'guidance' is a list of rules, not of type 'dict'"),
            ({"descriptions": 5}, "'descriptions' is the path to a folder, not of type 'int'"),
            ({"keys": b"k" * 64, "disclosure": "enforce"}, "'keys' is a list of secrets, not of type 'bytes'"),
            ({"keys": "k" * 64, "disclosure": "enforce"}, "'keys' is a list of secrets, not of type 'str'"),
            ({"keys": [99], "disclosure": "enforce"}, "each of 'keys' is a text, or bytes, not of type 'int'"),
        ],
        [MCPServer("it"), Server("it")],
    ),
)
def test_what_cannot_be_an_option_is_told(server, options, said):
    """Ours: an author who writes one wrong sees it at once, and not in each call. Of a key nothing is told."""
    with pytest.raises(LouverError, match=said):
        louver.attach(server, **options)
    louver.attach(type(server)("it"))


@pytest.mark.parametrize("server", [None, 5, MCPServer])
def test_what_is_no_server_is_told(server):
    """Ours."""
    with pytest.raises(LouverError, match="'server' is an `MCPServer` or a lowlevel `Server` of the MCP SDK"):
        louver.attach(server)


def test_what_can_be_an_option_is_taken(tmp_path):
    """Ours: paths of all kinds, tuples, secrets as texts and as bytes."""
    louver.attach(MCPServer("it"), views=str(tmp_path), keys=("k" * 32, b"k" * 33), disclosure="enforce")
    louver.attach(MCPServer("it"), views=Path(tmp_path), descriptions=tmp_path, disclosure="on-error", warnings=True)
