"""The manual that the action `discover` returns: the sections of 001's template, with the current servers.

A model reads it once, and only if it needs it. Source: 001 patterns 1 and 2, and its appendix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from louver.gateway.builtin.behind import ServerStatus

_RULES: Final = [
    "Call a tool only with parameters that 'get' tells of it: do not guess them.",
    "Ask for the fields that you need, by 'fields' or 'view': a whole answer can cost thousands of tokens.",
    "A tool whose 'readOnly' is false may change something: call it once, and only if the user wants that.",
]

_ACTIONS: Final = {
    "discover": ("This manual.", "Once, if anything about this tool is unclear."),
    "list": ("The tools, a sentence each.", "You look around, or know the server."),
    "search": ("The tools that fit some words, the best first.", "You know what is to be done, not by which tool."),
    "get": ("One tool: parameters, output fields, views.", "Before you first call it."),
    "call": ("What a tool answers.", "You know its parameters."),
    "export": ("The whole answer of a tool, put elsewhere.", "It is too large to read, or the user wants it."),
}

_PARAMETERS: Final = {
    "id": ("", "For get, call and export: the tool, as list and search name it."),
    "query": ("", "For search: plain words."),
    "needs": ("", "For search, instead of query: a short line for each thing to do: ['fetch a page', 'save as PDF']."),
    "server": ("all", "For list: just the tools of this server."),
    "arguments": ("{}", "For call and export: those of the tool."),
    "fields": ("all", "For call: field paths of the output, as get tells them: ['items.id', 'user.login']."),
    "view": ("", "For call: a view that get names, instead of fields."),
    "compact": ("true", "For call, but not with fields or view: false gives all fields, whatever the default view."),
    "limit": ("50", "For list and search: at most so many tools, 1 or more."),
    "offset": ("0", "For list: where to go on."),
}


def manifest(servers: Sequence[ServerStatus], tools: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Build the manual; `tools` maps server name -> its tools by name."""
    return {
        "CRITICAL_RULES": _RULES,
        "ACTION_SELECTION": {
            action: {"purpose": purpose, "use_when": use_when} for action, (purpose, use_when) in _ACTIONS.items()
        },
        "capabilities": [_capability(server, tools.get(server.name, {})) for server in servers],
        "filters": {
            "server": [server.name for server in servers],
            "query": "plain words, for search",
            "needs": "lines",
        },
        "PARAMETER_REFERENCE": {
            name: {"default": default, "notes": notes} for name, (default, notes) in _PARAMETERS.items()
        },
        "COMMON_WORKFLOWS": {
            "Do something once": "search by needs -> get -> call with fields -> done",
            "Look around": "list (per server) -> get -> call",
            "Follow up": "call -> need an id that is missing -> call with fields that name it",
        },
        "OUTPUT_MODES": {
            "compact": "The default: the tool's default view, if it has one. For reading.",
            "full": "compact=false: every field. For ids that later calls need.",
        },
    }


def _capability(server: ServerStatus, tools: Mapping[str, Any]) -> dict[str, Any]:
    description = server.info.get("description") or server.info.get("title")
    capability = {"server": server.name, "state": server.state, "tools": len(tools)}
    return capability | ({"description": description} if isinstance(description, str) else {})
