"""The picker as one document without references: hosts of MCP Apps show it in a frame that loads nothing.

Each ES module becomes a function that is called at once, in the order of imports:

    import { scan } from "./spans.js";      (left out: `scan` is defined before)
    export function scan(text) {...}        const { scan } = (() => { function scan(text) {...} return { scan }; })();
"""

from __future__ import annotations

import re
from html import escape
from typing import Final

from louver.gateway.ui.page import STATIC

_IMPORT: Final = re.compile(r'^import \{.*\} from "\./(.*)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export (?=(?:async )?(?:function|const) (\w+))", re.MULTILINE)
_EXPORTS: Final = re.compile(r"export\{([^}]*)\};\s*$")  # as minified files have them: {a as h,b as html}


def picker_document(argument: str) -> str:
    """The document, for tools that take the `argument` for fields."""
    modules: dict[str, str] = {}
    _add("host.js", modules)
    style = (STATIC / "tree.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Fields of the answer</title>\n'
        f'<style>\n{style}</style></head>\n<body class="framed" data-argument="{escape(argument)}">\n'
        f'<script type="module">\n{"".join(modules.values())}</script></body></html>\n'
    )


def _add(name: str, modules: dict[str, str]) -> None:
    if name in modules:
        return
    text = (STATIC / name).read_text("utf-8")
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
