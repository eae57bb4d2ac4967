"""Format the values of `service.py` as text for models, in the layout of 003's examples."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from louver.gateway.discovery.behind import READY
from louver.gateway.discovery.identifiers import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def servers(said: dict[str, Any]) -> str:
    return "\n\n".join(["Available MCP Servers:", *map(_server, said["servers"])])


def tools(said: dict[str, Any]) -> str:
    lines = [f"- {_line(tool['name'])} (Lua: {tool['luaName']}): {tool['description']}" for tool in said["tools"]]
    return "\n".join([f"Tools for {said['server']}:", "", *(lines or ["(none)"])])


def details(said: dict[str, Any], *, scripts: bool) -> str:
    """Format one tool; the usage example is in Lua if there are `scripts`, else it names the tool to call."""
    parts = [f"## {_line(said['name'])}", said["description"], "### Parameters"]
    parts.append("\n".join(map(_parameter, said["parameters"])) or "(none)")
    if "fields" in said:
        parts += ["### Output fields", "\n".join(f"- {field['path']} ({field['type']})" for field in said["fields"])]
    if "views" in said:
        parts += ["### Views", ", ".join(said["views"])]
    parts.append("### Example Usage")
    parts.append(_example(said) if scripts else f"Call the tool {said['callName']!r} with these parameters.")
    return "\n\n".join(part for part in parts if part)


def shape(said: dict[str, Any], full: str | None) -> str:
    """Format the shape of a result, then the result itself if `full` holds its JSON."""
    head = f"Ran {_line(said['name'])} of {said['server']} once. Its answer has {said['bytes']} bytes"
    if "fields" not in said:
        parts = [f"{head}, and is no JSON: {', '.join(map(str, said['blocks'])) or 'nothing'}."]
    else:
        elements = f", {said['elements']} elements" if "elements" in said else ""
        where = ", as JSON in a string, which a script is given if it asks for no fields"
        within = where if said["seat"] == "wrapped text" else ""
        parts = [f"{head}{elements}{within}:", "\n".join(map(_field, said["fields"])) or "(no fields)"]
    if "suggestedView" in said:
        parts.append(f"Enough for most: fields = {{{', '.join(map(_quoted, said['suggestedView']['include']))}}}")
    return "\n\n".join([*parts, *([] if full is None else [full])])


def _server(said: dict[str, Any]) -> str:
    lines = [f"## {said['name']} (Lua: {said['luaName']})"]
    if "description" in said:
        lines.append(said["description"])
    if "version" in said:
        lines.append(f"Version: {said['version']}")
    if said["state"] != READY:
        lines.append(f"Not there: {said['state']}")
    if "instructions" in said:
        lines.append(f"Instructions: {said['instructions']}")
    return "\n".join(lines)


def _parameter(said: dict[str, Any]) -> str:
    required = "required" if said["required"] else "optional"
    description = f": {said['description']}" if "description" in said else ""
    return f"- {_line(said['name'])} ({_line(said['type'])}, {required}){description}"


def _example(said: dict[str, Any]) -> str:
    call = f"{said['luaServerName']}.{said['luaName']}"
    names = [each["name"] for each in said["parameters"] if "." not in each["name"]]
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


def _field(said: dict[str, Any]) -> str:
    seen = f", in {said['seen']:.0%} of them" if "seen" in said else ""
    constant = ", always the same" if "constant" in said else ""
    return f"- {said['path']} ({' | '.join(said['types'])}): {said['bytes']} bytes, {said['share']:.0%}{seen}{constant}"
