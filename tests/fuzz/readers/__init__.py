"""Coverage-guided fuzzing of every reader that is written by hand.

    python -m tests.fuzz.readers paths                          60 seconds; a failing input is written to the folder
    python -m tests.fuzz.readers paths -max_total_time=3600     libFuzzer's options
    python -m tests.fuzz.readers paths -set_cover_merge=1 DIR   adds a folder's inputs that reach more

A target is a module with a function `check` of bytes. It states what holds for any input, mostly by a second reader
that knows nothing of Louver. `corpus/` holds inputs for each target, those of mended faults among them: an everyday
test replays these, without atheris.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = (
    "client_messages",
    "event_streams",
    "files",
    "http_requests",
    "http_responses",
    "json_texts",
    "lines",
    "paths",
    "script_frames",
    "upstream_messages",
    "uri_templates",
)

HERE = Path(__file__).parent


def target(name: str) -> Callable[[bytes], None]:
    return import_module(f"{__name__}.{name}").check


def corpus(name: str) -> list[Path]:
    return sorted((HERE / "corpus" / name).iterdir())


def pieces(data: bytes) -> tuple[bytes, list[bytes]]:
    """The input without its first byte, whole and in pieces of as many bytes; 0 makes one piece."""
    size, data = (data[0] if data else 0) or len(data) or 1, data[1:]
    return data, [data[start : start + size] for start in range(0, len(data), size)]
