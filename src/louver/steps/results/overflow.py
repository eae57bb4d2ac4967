"""Whether a model's host would not show the whole of an answer, and whether it can be read in pages instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.core import json
from louver.core.json import is_object
from louver.core.paths.find import longest, with_items
from louver.core.preview.field_sizes import size_of
from louver.core.size import is_heavier
from louver.steps.savings.size import shown_size
from louver.wire.jsonrpc.codec import Result
from louver.wire.output import texts_of

if TYPE_CHECKING:
    from typing import Any

    from louver.catalogue.hosts import Host
    from louver.core.json import Json
    from louver.wire.output import Output


def may_be_over(result: dict[str, Any], limit: int) -> bool:
    """Whether an answer may be over a limit; found in less time than it takes to measure it."""
    if isinstance(result, Result):
        return result.size > limit
    return is_heavier(result, limit // 4)


def is_over(result: dict[str, Any], output: Output, host: Host, limit: int) -> bool:
    """Whether the output alone is over a limit of a host, which shows nothing else of the answer."""
    texts = texts_of(result)
    if host.limits_one_block and len(texts) != 1:
        return False
    if output.seat == "structured" and host.shown == "text" and not _repeats(texts, output.value):
        return False
    size = shown_size(result, host.shown)
    shown = size.bytes if host.counts_bytes else size.characters
    # A resource, for example, would be sent with the preview too.
    return shown > limit and size_of(output.value) > limit // 2


def is_readable(value: Json, most: int) -> bool:
    """Whether pages of at most so many bytes have all of a value: each element of its longest array, or each member."""
    found = longest(value, within_arrays=False)
    if found is None:
        return is_object(value) and all(size_of(member) <= most for member in value.values())
    around = size_of(with_items(value, found.names, []))
    return all(around + size_of(item) <= most for item in found.items)


def _repeats(texts: list[str], value: Json) -> bool:
    try:
        return len(texts) == 1 and json.parse(texts[0]) == value
    except ValueError:
        return False
