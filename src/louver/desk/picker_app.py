"""The picker of fields inside a host, as an MCP App, for clients that declare such apps; nothing changes for others.

    tools/list        a projectable tool names the app: _meta.ui.resourceUri = "ui://louver/projection"
    resources/read    the app, as one document that the host shows beside the tool's result

The app calls the tool again through its host, with the argument for fields. The host's frame loads nothing,
so each ES module becomes a function that is called at once, in the order of imports:

    import { scan } from "./spans.js";      (left out: `scan` is defined before)
    export function scan(text) {...}        const { scan } = (() => { function scan(text) {...} return { scan }; })();

Source: MCP Apps (SEP-1865), 2026-01-26.
"""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import is_array, is_object, members
from louver.steps.calls.schema_resource import with_cache_hints
from louver.steps.pages import envelope
from louver.steps.recipient import client_capabilities
from louver.wire.names import HINT

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from louver.steps.request import Next, Request

EXTENSION: Final = "io.modelcontextprotocol/ui"
MEDIA_TYPE: Final = "text/html;profile=mcp-app"
URI: Final = "ui://louver/projection"

_STATIC: Final = Path(__file__).parent / "ui" / "static"
_IMPORT: Final = re.compile(r'^import \{[^{}\n]*+\} from "\./([^"\n]*+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)
_EXPORTS: Final = re.compile(r"export\{([^}]*)\};\s*$")  # as minified files have them: {a as h,b as html}


class PickerApp:
    methods: Final = ("initialize", "server/discover", "tools/list", "resources/read")

    def __init__(self, server_info: dict[str, Any], argument: str) -> None:
        self._server_info = server_info
        self._argument = argument  # by which a tool takes fields

    def __call__(self, request: Request, call_next: Next) -> Awaitable[dict[str, Any]]:
        if not _shows_apps(request):
            return call_next(request)
        return self._answer(request, call_next)

    async def _answer(self, request: Request, call_next: Next) -> dict[str, Any]:
        if request.method == "resources/read":
            return await (self._read(request) if request.params.get("uri") == URI else call_next(request))
        result = await call_next(request)
        if request.method == "tools/list":
            tools: list[dict[str, Any]] = result.get("tools") or []
            return {**result, "tools": [_with_app(tool) for tool in tools]}
        capabilities: dict[str, Any] = members(result.get("capabilities"))
        extensions = {**members(capabilities.get("extensions")), EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}
        return {**result, "capabilities": {"resources": {}, **capabilities, "extensions": extensions}}

    async def _read(self, request: Request) -> dict[str, Any]:
        shown = {"uri": URI, "mimeType": MEDIA_TYPE, "text": _document(self._argument)}
        found = {"contents": [{**shown, "_meta": {"ui": {"prefersBorder": True}}}]}
        return with_cache_hints(found, envelope(self._server_info, request))


def _shows_apps(request: Request) -> bool:
    settings = members(client_capabilities(request).get("extensions")).get(EXTENSION)
    types: Any = settings.get("mimeTypes") if is_object(settings) else None
    return is_array(types) and MEDIA_TYPE in types


def _with_app(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool with the app, if its answers can be projected and it has no app of its own."""
    meta = members(tool.get("_meta"))
    if HINT not in meta or "ui" in meta or "ui/resourceUri" in meta:
        return tool
    return {**tool, "_meta": {**meta, "ui": {"resourceUri": URI}}}


@cache
def _document(argument: str) -> str:
    """The picker without references, for tools that take the `argument` for fields."""
    modules: dict[str, str] = {}
    _add("host.js", modules)
    style = (_STATIC / "tree.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Fields of the answer</title>\n'
        f'<style>\n{style}</style></head>\n<body class="framed" data-argument="{escape(argument)}">\n'
        f'<script type="module">\n{"".join(modules.values())}</script></body></html>\n'
    )


def _add(name: str, modules: dict[str, str]) -> None:
    if name in modules:
        return
    text = (_STATIC / name).read_text("utf-8")
    for imported in _IMPORT.findall(text):
        _add(imported, modules)
    text = _IMPORT.sub("", text)
    names = {each: each for each in _EXPORT.findall(text)}
    if minified := _EXPORTS.search(text):
        pairs = (pair.split(" as ") for pair in minified[1].split(","))
        names = {public: private for private, public in pairs}
    text = _EXPORTS.sub("", _EXPORT.sub("", text))
    returned = ", ".join(f"{public}: {private}" for public, private in names.items())
    modules[name] = f"const {{ {', '.join(names)} }} = (() => {{\n{text}\nreturn {{ {returned} }};\n}})();\n"
