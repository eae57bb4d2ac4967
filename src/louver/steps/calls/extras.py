"""Response extras: notes on an answer, written where its reader sees them and the listed schema admits them.

a program                            one text block each, and `_meta`
a model, host shows text             one text block each
a model, host shows structured       {..., "louver": ["NOTE: ...", "WARNING: ..."]}
a model, host unknown                both: the text is the structured content as JSON, with the member
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_array, is_object, members
from louver.wire.names import EXTRAS

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.steps.recipient import Recipient
    from louver.steps.tools.listing import Listing


@dataclass(frozen=True, slots=True)
class Extras:
    texts: tuple[str, ...] = ()  # for a reader
    meta: dict[str, Any] = field(default_factory=dict[str, Any])  # the same for a program, in `_meta`
    written: tuple[str, ...] = ()  # texts that are in the content already

    def __bool__(self) -> bool:
        return bool(self.texts or self.written)

    def joined(self, other: Extras) -> Extras:
        return Extras((*self.texts, *other.texts), {**self.meta, **other.meta}, (*self.written, *other.written))

    def apply_to(self, result: dict[str, Any], recipient: Recipient, *, admitted: bool) -> dict[str, Any]:
        """The answer with the notes; `admitted` means that the listed output schema admits the member."""
        structured: Any = result.get("structuredContent")
        fits = admitted and recipient.reads_structured and is_object(structured) and EXTRAS not in structured
        are_texts_needed = recipient.reads_text or not fits
        if fits:
            with_extras = {**structured, EXTRAS: [*self.written, *self.texts]}
            if _is_repeated_in_text(result, structured):
                # The text still equals the structured content, so hosts that show only the first text show the notes.
                result = {**result, "content": [{"type": "text", "text": compact(with_extras)}]}
                are_texts_needed = False
            result = {**result, "structuredContent": with_extras}
        if are_texts_needed:
            blocks = [{"type": "text", "text": text} for text in self.texts]
            result = {**result, "content": [*(result.get("content") or []), *blocks]}
        if recipient.is_program and self.meta:
            result = {**result, "_meta": {**members(result.get("_meta")), **self.meta}}
        return result


def _is_repeated_in_text(result: dict[str, Any], structured: dict[str, Any]) -> bool:
    """Whether the content is one text that repeats the structured content."""
    content: Any = result.get("content")
    return is_array(content) and len(content) == 1 and members(content[0]).get("text") == compact(structured)


def is_admitted(entry: Entry | None, listing: Listing) -> bool:
    if entry is None or entry.output_schema is None or listing == "omit":
        return True
    return listing == "relaxed" and entry.admits_extras
