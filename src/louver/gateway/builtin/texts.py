"""Format the values of `service.py` as text for models, in the layout of 003's examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from louver.gateway.builtin.behind import READY, STARTING
from louver.gateway.builtin.identifiers import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def servers(result: dict[str, Any]) -> str:
    return "\n\n".join(["Available MCP Servers:", *map(_server, result["servers"])])


def tools(result: dict[str, Any]) -> str:
    lines = [f"- {_line(tool['name'])} (Lua: {tool['luaName']}): {tool['description']}" for tool in result["tools"]]
    return "\n".join([f"Tools for {result['server']}:", "", *(lines or ["(none)"])])


def found(result: dict[str, Any]) -> str:
    """Format the tools for some needs."""
    parts: list[str] = []
    for need in result["needs"]:
        lines = [f"- {tool['luaServerName']}.{tool['luaName']}: {tool['description']}" for tool in need["tools"]]
        parts.append("\n".join([f"For {_line(need['need'])}:", *(lines or ["(none)"])]))
    return "\n\n".join(parts)


def details(result: dict[str, Any], *, scripts: bool) -> str:
    """Format one tool; the usage example is in Lua if there are `scripts`, else it names the tool to call."""
    parts = [f"## {_line(result['name'])}", result["description"], "### Parameters"]
    parts.append("\n".join(map(_parameter, result["parameters"])) or "(none)")
    if "fields" in result:
        parts += ["### Output fields", "\n".join(f"- {field['path']} ({field['type']})" for field in result["fields"])]
    if "views" in result:
        parts += ["### Views", ", ".join(result["views"])]
    parts.append("### Example Usage")
    parts.append(_example(result) if scripts else f"Call the tool {result['callName']!r} with these parameters.")
    return "\n\n".join(part for part in parts if part)


def shape(result: dict[str, Any], full: str | None) -> str:
    """Format the shape of a result, then the result itself if `full` holds its JSON."""
    head = f"Ran {_line(result['name'])} of {result['server']} once. Its answer has {result['bytes']} bytes"
    if "fields" not in result:
        parts = [f"{head}, and is no JSON: {', '.join(map(str, result['blocks'])) or 'nothing'}."]
    else:
        elements = f", {result['elements']} elements" if "elements" in result else ""
        note = ", as JSON in a string, which a script is given if it asks for no fields"
        location = note if result["seat"] == "wrapped text" else ""
        parts = [f"{head}{elements}{location}:", "\n".join(map(_field, result["fields"])) or "(no fields)"]
    if "suggestedView" in result:
        parts.append(f"Enough for most: fields = {{{', '.join(map(_quoted, result['suggestedView']['include']))}}}")
    return "\n\n".join([*parts, *([] if full is None else [full])])


def _server(server: dict[str, Any]) -> str:
    lines = [f"## {server['name']} (Lua: {server['luaName']})"]
    if "description" in server:
        lines.append(server["description"])
    if "version" in server:
        lines.append(f"Version: {server['version']}")
    if server["state"] == STARTING:
        lines.append("Starting: calls wait for it.")
    elif server["state"] != READY:
        lines.append(f"Not there: {server['state']}")
    if "instructions" in server:
        lines.append(f"Instructions: {server['instructions']}")
    return "\n".join(lines)


def _parameter(parameter: dict[str, Any]) -> str:
    required = "required" if parameter["required"] else "optional"
    description = f": {parameter['description']}" if "description" in parameter else ""
    return f"- {_line(parameter['name'])} ({_line(parameter['type'])}, {required}){description}"


def _example(tool: dict[str, Any]) -> str:
    call = f"{tool['luaServerName']}.{tool['luaName']}"
    names = [each["name"] for each in tool["parameters"] if "." not in each["name"]]
    arguments = ",\n".join(f"  {_key(name)} = ..." for name in names)
    return f"local result = {call}({{\n{arguments}\n}}):await()" if names else f"local result = {call}():await()"


def _line(text: str) -> str:
    """Put an upstream's text on one line, so that it cannot imitate other parts of the layout."""
    return " ".join(text.split())


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) and name not in RESERVED else f"[{_quoted(name)}]"


def _quoted(text: str) -> str:
    escaped = "".join(_escapes(text))
    return f'"{escaped}"'


def _escapes(text: str) -> Iterator[str]:
    for character in text:
        if character in '"\\':
            yield f"\\{character}"
        elif character.isprintable():
            yield character
        else:
            yield f"\\u{{{ord(character):x}}}"


def _field(field: dict[str, Any]) -> str:
    presence = f", in {field['seen']:.0%} of them" if "seen" in field else ""
    constant = ", always the same" if "constant" in field else ""
    weight = f"{field['bytes']} bytes, {field['share']:.0%}"
    return f"- {field['path']} ({' | '.join(field['types'])}): {weight}{presence}{constant}"
