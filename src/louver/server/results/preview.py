r"""What stands in place of an answer that is kept: what it looks like, and how it is read.

::

    {"structuredContent": {"total": 1280},
     "content": [{"type": "text", "text": "This answer has 2,012,345 bytes ..."},
                 {"type": "resource_link", "uri": "louver://results/Zk3x...", "name": ...}],
     "_meta": {"dev.louver/result": {"uri": ..., "expiresInSeconds": 600, "bytes": 2012345, "fields": [...]}}}

It is small whatever the answer is. `structuredContent` is a projection of the answer, so it satisfies what is listed as
the tool's output schema: clients that validate accept it. Blocks that are not text stay. A model gets neither link nor
`_meta`: its text names the tool that reads the result.
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
    """A kept result, as its client is told of it.

    Args:
        tool: Whose it is.
        uri: Where it is read.
        size: The bytes of its JSON.
        seconds: How long it is kept.
        wrapped: Whether its structured content only wraps the output in `result`.
    """

    tool: str
    uri: str
    size: int
    seconds: float
    wrapped: bool

    def instead_of(self, result: dict[str, Any], output: Output, *, by_tool: bool) -> tuple[dict[str, Any], Extras]:
        """The answer that a client gets, and what is said beside it.

        Args:
            result: The one that is kept.
            output: What of it is kept.
            by_tool: Whether a model reads it, by the tool for that.
        """
        said = fitted(preview(output.value, self.size))
        blocks: list[Any] = result.get("content") or []
        others = [block for block in blocks if is_object(block) and block.get("type") != "text"]
        told = {"uri": self.uri, "expiresInSeconds": round(self.seconds), "bytes": self.size, **said}
        text = self._text(said, by_tool=by_tool)
        links = [] if by_tool else [self._link()]
        shown = {**result, "content": [{"type": "text", "text": text}, *links, *others]}
        if output.seat == "structured":
            shown["structuredContent"] = scalars(output.value, wrapped=self.wrapped)
        elif output.seat == "wrapped text":
            shown["structuredContent"] = {output.wrapper: compact(scalars(output.value))}
        return shown, Extras(meta={RESULT: told}, written=(text,))

    def _link(self) -> dict[str, Any]:
        name = f"result of {self.tool}"[:100]
        return {
            "type": "resource_link",
            "uri": self.uri,
            "name": name,
            "mimeType": "application/json",
            "size": self.size,
        }

    def _text(self, said: dict[str, Any], *, by_tool: bool) -> str:
        elements = f" in {said['elements']:,} elements" if "elements" in said else ""
        by = f"with the tool {RESULT_TOOL}" if by_tool else "by these resources"
        handle = self.uri.removeprefix(RESULTS_URI)
        forms = (
            [f'{{"handle": "{handle}", "fields": [PATH, PATH]}}', f'{{"handle": "{handle}", "page": 1}}']
            if by_tool
            else [f"{self.uri}?fields=PATH,PATH", f"{self.uri}?page=1"]
        )
        lines = [
            f"This answer has {self.size:,} bytes{elements}, too many to send at once. It is kept for "
            f"{self.seconds / 60:.3g} minutes. Read what you need {by}; the first tool does not run again:",
            *forms,
            "Or call the tool for less. Fields:",
            *(f"- {_field(field)}" for field in said["fields"]),
        ]
        return "\n".join([*lines, *([f"- and {said['moreFields']} more"] if "moreFields" in said else [])])


def can_be_kept(output: Output) -> bool:
    """Whether there is something in it to be asked for: a scalar has no fields, nor has one in a wrapper."""
    value = output.value
    if is_object(value) and len(value) == 1:
        (value,) = value.values()
    return is_object(value) or is_array(value)


def _field(said: dict[str, Any]) -> str:
    return f"{said['path']} ({' | '.join(said['types'])}): {said['bytes']:,} bytes"
