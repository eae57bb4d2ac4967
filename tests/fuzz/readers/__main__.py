"""Runs one target under atheris, with libFuzzer's options."""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path

import atheris

from . import HERE, TARGETS, target

OPTIONS = {
    "max_total_time": 60,
    # Bounds of one input, in seconds and MB: a reader of some kilobytes needs far less.
    "timeout": 5,
    "rss_limit_mb": 1024,
    "max_len": 4096,
    "dict": HERE / "words.dict",
    "verbosity": 0,
    "print_final_stats": 1,
}


def main() -> None:
    name, *given = sys.argv[1:] or [""]
    if name not in TARGETS:
        sys.exit(f"a target is one of {', '.join(TARGETS)}, not {name!r}")
    logging.disable()
    with atheris.instrument_imports(include=["louver"]):
        check = target(name)
    corpus = str(HERE / "corpus" / name)
    options = [option for option in given if option.startswith("-")]
    folders = [folder for folder in given if not folder.startswith("-")]
    # libFuzzer writes to the first folder: that is the corpus only where inputs are merged into it, the fewest that
    # reach each line; how often they do is no reason to keep more.
    is_merge = any(option.startswith("-set_cover_merge=") for option in options)
    options += ["-use_counters=0"] if is_merge else []
    folders = [corpus, *folders] if is_merge else [*(folders or [_found(name)]), corpus]
    # An input that fails is written there, and not into the folder where the command was given.
    artifacts = f"-artifact_prefix={_found(name)}-"
    defaults = [artifacts, *(f"-{key}={value}" for key, value in OPTIONS.items())]
    # libFuzzer starts this command again while it merges.
    command = f"{sys.executable} -m {__spec__.parent} {name}"
    atheris.Setup([command, *defaults, *options, *folders], check)
    atheris.Fuzz()


def _found(name: str) -> str:
    """The folder of inputs that runs have found: the next run goes on from there."""
    folder = Path(tempfile.gettempdir(), "louver-fuzz", name)
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


main()
