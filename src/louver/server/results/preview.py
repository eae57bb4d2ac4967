"""The preview that a client gets in place of a kept answer: its shape, and how to read it.

    {"structuredContent": {"total": 1280},
     "content": [{"type": "text", "text": "This answer has 2,012,345 bytes ..."}, {"type": "resource_link", ...}],
     "_meta": {"dev.louver/result": {"uri": ..., "expiresInSeconds": 600, "bytes": 2012345, "fields": [...]}}}

`structuredContent` is a projection, so it satisfies the listed schema. For a model the text names a tool, not a link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_array, is_object
from louver.core.preview.preview import fitted, preview, scalars
from louver.protocol.names import RESULT, RESULT_TOOL, RESULTS_URI
from louver.server.calls.extras import Extras

if TYPE_CHECKING:
    from louver.protocol.output import Output


@dataclass(frozen=True, slots=True)
class Preview:
    tool: str  # the tool that answered
    uri: str
    size: int  # bytes of its JSON
    seconds: float  # how long it is kept
    wrapped: bool  # structured content only wraps the output in `result`

    def as_preview(self, result: dict[str, Any], output: Output, *, by_tool: bool) -> tuple[dict[str, Any], Extras]:
        """The answer that the client gets, and its extras; `by_tool` if a model reads the result by a tool."""
        summary = fitted(preview(output.value, self.size))
        blocks: list[Any] = result.get("content") or []
        others = [block for block in blocks if is_object(block) and block.get("type") != "text"]
        meta = {"uri": self.uri, "expiresInSeconds": round(self.seconds), "bytes": self.size, **summary}
        text = self._text(summary, by_tool=by_tool)
        links = [] if by_tool else [self._link()]
        answer = {**result, "content": [{"type": "text", "text": text}, *links, *others]}
        if output.seat == "structured":
            answer["structuredContent"] = scalars(output.value, wrapped=self.wrapped)
        elif output.seat == "wrapped text":
            answer["structuredContent"] = {output.wrapper: compact(scalars(output.value))}
        return answer, Extras(meta={RESULT: meta}, written=(text,))

    def _link(self) -> dict[str, Any]:
        name = f"result of {self.tool}"[:100]
        return {
            "type": "resource_link",
            "uri": self.uri,
            "name": name,
            "mimeType": "application/json",
            "size": self.size,
        }

    def _text(self, summary: dict[str, Any], *, by_tool: bool) -> str:
        elements = f" in {summary['elements']:,} elements" if "elements" in summary else ""
        means = f"with the tool {RESULT_TOOL}" if by_tool else "by these resources"
        handle = self.uri.removeprefix(RESULTS_URI)
        forms = (
            [f'{{"handle": "{handle}", "fields": [PATH, PATH]}}', f'{{"handle": "{handle}", "page": 1}}']
            if by_tool
            else [f"{self.uri}?fields=PATH,PATH", f"{self.uri}?page=1"]
        )
        lines = [
            f"This answer has {self.size:,} bytes{elements}, too many to send at once. It is kept for "
            f"{self.seconds / 60:.3g} minutes. Read what you need {means}; the first tool does not run again:",
            *forms,
            "Or call the tool for less. Fields:",
            *(f"- {_field(field)}" for field in summary["fields"]),
        ]
        return "\n".join([*lines, *([f"- and {summary['moreFields']} more"] if "moreFields" in summary else [])])


def can_be_kept(output: Output) -> bool:
    """Whether the output has parts to read: a scalar has none, in a wrapper or not."""
    value = output.value
    if is_object(value) and len(value) == 1:
        (value,) = value.values()
    return is_object(value) or is_array(value)


def _field(field: dict[str, Any]) -> str:
    return f"{field['path']} ({' | '.join(field['types'])}): {field['bytes']:,} bytes"
