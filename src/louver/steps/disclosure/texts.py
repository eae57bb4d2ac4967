"""Texts for models about the two stages: instructions, prompt, resource and tool.

The text for a system prompt makes the four points of 000 section 8.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from louver.core.cached import cached_property
from louver.limits import MAX_TOOLS_READ
from louver.wire.names import DESCRIPTIONS_PROMPT, DESCRIPTIONS_TOOL, DESCRIPTIONS_URI, GRANT_ARGUMENT

_INSTRUCTIONS = f"""\
The tools of this server are listed with a summary each. Use them in two steps.
1. Choose a tool by its summary in the list of tools. Summaries are enough for that: read nothing to choose.
2. Before you call a tool for the first time, read its full description, which has its parameters: call \
{DESCRIPTIONS_TOOL} with {{"tools": ["TOOL_NAME"]}}, or read the resource {DESCRIPTIONS_URI}?tools=TOOL_NAME.
Never read the resource without naming tools. Names are those of the list, exactly.
If a description has a parameter {GRANT_ARGUMENT}, copy its value into the call. If a call answers \
TOOL_DESCRIPTION_REQUIRED, read the tool's description (again) and repeat the call."""

_ON_ERROR_INSTRUCTIONS = f"""\
The tools of this server are listed with a summary each. Choose a tool by its summary, and call it: if its arguments \
do not fit, it does not run, and the error has its full description. \
To read descriptions first, call {DESCRIPTIONS_TOOL} with {{"tools": ["TOOL_NAME"]}}."""

_AUTHORISES = (
    "Reading authorises you to call the tools that were read, until this session ends; "
    f"where a description has a parameter {GRANT_ARGUMENT}, the calls that carry its value. "
)


@dataclass(frozen=True)
class Texts:
    """The texts of one mode."""

    instructions: str  # for a system prompt
    consequence: str  # of a call of a tool whose description was not read
    authorises: str = ""

    @cached_property
    def resource(self) -> dict[str, Any]:
        """The resource in `resources/list`, with the description of 000 section 4.2."""
        return {
            "uri": DESCRIPTIONS_URI,
            "name": "Tool descriptions: read before a tool is called",
            "mimeType": "application/json",
            "description": (
                "Full descriptions of tools, with all parameters. The list of tools (tools/list) is for choosing a "
                "tool; this resource is for learning how to call it. "
                "Step 1: choose a tool by its summary in tools/list. "
                f"Step 2: read {DESCRIPTIONS_URI}?tools=TOOL_NAME, for several tools "
                f"{DESCRIPTIONS_URI}?tools=TOOL1,TOOL2 (at most {MAX_TOOLS_READ}); without ?tools= it is an error. "
                "Step 3: call the tool with the parameters that you have learnt. "
                f"{self.authorises}{self.consequence}"
            ),
        }

    @cached_property
    def tool(self) -> dict[str, Any]:
        return {
            "name": DESCRIPTIONS_TOOL,
            "title": "Tool descriptions",
            "description": (
                "Get the full descriptions of tools, with all parameters, before you call them. "
                f"Choose tools by their summaries first; name those that you need. {self.consequence}"
            ),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "tools": {
                        "description": "Names of tools, exactly as they are listed.",
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": MAX_TOOLS_READ,
                    }
                },
                "required": ["tools"],
            },
            "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
        }

    def prompt_result(self) -> dict[str, Any]:
        message = {"role": "user", "content": {"type": "text", "text": self.instructions}}
        return {"description": PROMPT["description"], "messages": [message]}


ENFORCED = Texts(
    _INSTRUCTIONS,
    "A tool whose description was not read answers TOOL_DESCRIPTION_REQUIRED and does not run.",
    _AUTHORISES,
)
ON_ERROR = Texts(_ON_ERROR_INSTRUCTIONS, "A call with arguments that do not fit is answered with the description.")

# the prompt in `prompts/list`
PROMPT = {
    "name": DESCRIPTIONS_PROMPT,
    "title": "How to use the tools",
    "description": "For a system prompt: how tools are chosen by their summaries and learnt by their descriptions.",
}
