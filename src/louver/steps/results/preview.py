"""The preview that a client gets in place of a kept answer: its shape, and how to read it.

    {"structuredContent": {"total": 1280},
     "content": [{"type": "text", "text": "Too large to send: 570,000 tokens ..."}, {"type": "resource_link", ...}],
     "_meta": {"dev.louver/result": {"uri": ..., "expiresInSeconds": 600, "bytes": 2012345, "fields": [...]}}}

`structuredContent` is a projection, so it satisfies the listed schema. For a model the text names a tool, not a link.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from louver.core.json import compact, is_array, is_object, members
from louver.core.paths.find import longest
from louver.core.preview.preview import fitted, preview, scalars
from louver.steps.calls.extras import Extras
from louver.wire.names import ARGUMENT, RESULT, RESULT_TOOL, RESULTS_URI

if TYPE_CHECKING:
    from louver.core.json import Json
    from louver.wire.output import Output

BYTES_A_TOKEN = 3.5
"""Bytes of JSON that a token stands for, about: measured with o200k on answers of stock servers."""

MAX_NAMED_LEAVES = 4
MAX_NAMED_EXAMPLES = 2
MAX_NAMED_CHARACTERS = 60
"""Fields that the text of a preview names with their size, and in its example, and the longest path that it names."""


@dataclass(frozen=True, slots=True)
class Preview:
    tool: str  # the tool that answered
    uri: str
    size: int  # bytes of its JSON
    seconds: float  # how long it is kept
    wrapped: bool  # structured content only wraps the output in `result`
    argument: str | None = None  # of the tool, by which a model gets less, if what reads it may not be listed

    def as_preview(
        self, result: dict[str, Any], output: Output, *, by_tool: bool, is_deferred: bool = False
    ) -> tuple[dict[str, Any], Extras]:
        """The answer that the client gets, and its extras.

        Args:
            result: What the tool has answered.
            output: The output in it.
            by_tool: A model reads it by the tool.
            is_deferred: Its host does not list that tool before it is searched for.
        """
        whole = preview(output.value, self.size)
        blocks: list[Any] = result.get("content") or []
        others = [block for block in blocks if is_object(block) and block.get("type") != "text"]
        meta = {"uri": self.uri, "expiresInSeconds": round(self.seconds), "bytes": self.size, **fitted(whole)}
        text = "\n".join([self._size_of(output.value), self._means(whole, by_tool, is_deferred), _largest(whole)])
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

    def _size_of(self, value: Json) -> str:
        found = longest(value, within_arrays=False)
        items = "" if found is None else f", {len(found.items):,} items" + (f" in {found.path}" if found.names else "")
        return f"Too large to send: {_tokens(self.size)} tokens{items}. Kept for {self.seconds / 60:.3g} minutes."

    def _means(self, whole: dict[str, Any], by_tool: bool, is_deferred: bool) -> str:
        short: list[str] = members(whole.get("suggestedView")).get("include") or [f["path"] for f in _leaves(whole)]
        names = [each for each in short if _is_short(each)][:MAX_NAMED_EXAMPLES] or ["*"]
        if not by_tool:
            return f"Read parts, without another call: {self.uri}?fields={','.join(names)} or ?page=1"
        tool = f"{RESULT_TOOL} (find it by tool search)" if is_deferred else RESULT_TOOL
        handle = self.uri.removeprefix(RESULTS_URI)
        arguments = f'{{"handle": "{handle}", "{ARGUMENT}": {json.dumps(names)}}}'
        again = "" if self.argument is None else f', or, if that is not there, {self.tool} again with "{self.argument}"'
        return f'Read parts, without another call: {tool} {arguments} or "page": 1{again}'


def _leaves(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of a preview without fields below, heaviest first."""
    fields: list[dict[str, Any]] = whole["fields"]
    parents = {field["path"].rpartition(".")[0] for field in fields}
    return sorted((each for each in fields if each["path"] not in parents), key=lambda each: -each["bytes"])


def _largest(whole: dict[str, Any]) -> str:
    leaves = _leaves(whole)
    short = [each for each in leaves if _is_short(each["path"])][:MAX_NAMED_LEAVES]
    named = ", ".join(f"{each['path']} {_tokens(each['bytes'])}" for each in short)
    left = len(leaves) - len(short)
    return f"Tokens by field: {named}" + (f", and {left} others" if left else "")


def _is_short(path: str) -> bool:
    # Others are written in another way in a list, and in a URI.
    return len(path) <= MAX_NAMED_CHARACTERS and _PLAIN.fullmatch(path) is not None


_PLAIN: Final = re.compile(r"[A-Za-z0-9_.*-]+")


def _tokens(size: int) -> str:
    """About the tokens of so many bytes of JSON, to two digits."""
    tokens = size / BYTES_A_TOKEN
    return f"{int(float(f'{tokens:.1e}')):,}"


def can_be_kept(output: Output) -> bool:
    """Whether the output has parts to read: a scalar has none, in a wrapper or not."""
    value = output.value
    if is_object(value) and len(value) == 1:
        (value,) = value.values()
    return is_object(value) or is_array(value)
