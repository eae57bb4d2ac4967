"""Extras: what is said beside an answer, written where its reader sees it.

::

    a program                                 a block of text each, and `_meta`
    a model whose host shows text             a block of text each
    a model whose host shows structured       {..., "louver": ["NOTE: ...", "WARNING: ..."]}
    a model of an unknown host                both: the text is the structured content spelled out, with the member

A structured member is written only where the listed output schema admits it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from louver.core.json import compact, is_array, is_object, members
from louver.protocol.names import EXTRAS

if TYPE_CHECKING:
    from louver.catalogue.entry import Entry
    from louver.server.recipient import Recipient
    from louver.server.tools.listing import Listing


@dataclass(frozen=True, slots=True)
class Extras:
    """What is said beside an answer.

    Args:
        texts: As a reader reads it.
        meta: The same, as a program reads it in `_meta`.
        written: Texts that stand in the answer's content already.
    """

    texts: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict[str, Any])
    written: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.texts or self.written)

    def joined(self, other: Extras) -> Extras:
        """These, then others."""
        return Extras((*self.texts, *other.texts), {**self.meta, **other.meta}, (*self.written, *other.written))

    def beside(self, result: dict[str, Any], recipient: Recipient, *, admitted: bool) -> dict[str, Any]:
        """The answer with them.

        Args:
            result: The answer.
            recipient: Who reads it.
            admitted: Whether the listed output schema admits the member.
        """
        structured: Any = result.get("structuredContent")
        fits = admitted and recipient.reads_structured and is_object(structured) and EXTRAS not in structured
        are_texts_needed = recipient.reads_text or not fits
        if fits:
            shown = {**structured, EXTRAS: [*self.written, *self.texts]}
            if _is_spelled_out(result, structured):
                # So it stays, and hosts that show texts, or the first one alone, show it too.
                result = {**result, "content": [{"type": "text", "text": compact(shown)}]}
                are_texts_needed = False
            result = {**result, "structuredContent": shown}
        if are_texts_needed:
            blocks = [{"type": "text", "text": text} for text in self.texts]
            result = {**result, "content": [*(result.get("content") or []), *blocks]}
        if recipient.is_program and self.meta:
            result = {**result, "_meta": {**members(result.get("_meta")), **self.meta}}
        return result


def _is_spelled_out(result: dict[str, Any], structured: dict[str, Any]) -> bool:
    """Whether the content is one text, and that just the structured content spelled out."""
    content: Any = result.get("content")
    return is_array(content) and len(content) == 1 and members(content[0]).get("text") == compact(structured)


def is_admitted(entry: Entry | None, listing: Listing) -> bool:
    """Whether what is listed of a tool admits the member."""
    if entry is None or entry.output_schema is None or listing == "omit":
        return True
    return listing == "relaxed" and entry.admits_extras
