"""Readers keep what their targets state: for the kept inputs every day, for new ones in the deep tier."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fixtures.failsafe import FAILSAFE_S
from fuzz.readers import HERE, TARGETS, corpus, target
from louver.catalogue.files import views
from louver.core import json
from louver.core.paths import path
from louver.errors import LouverError
from louver.gateway.routing import resource_owners
from louver.http1 import connection, fast_heads, lines, sse
from louver.lua import bridge
from louver.wire.jsonrpc import inbound

ROOT = Path(__file__).parents[3]

SECONDS = 20
"""How long each target runs: all of them take some 4 minutes with two processors."""

MAX_CORPUS = 200_000
"""Bytes of all kept inputs."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_kept_input_is_read(name, subtests):
    """TRUST.md: "with a kept corpus"; inputs that have found a fault are among them."""
    for kept in corpus(name):
        with subtests.test(kept.name):
            target(name)(kept.read_bytes())


BROKEN = {
    "client_messages": (inbound, "_is_response", lambda message: True),
    "event_streams": (sse.SseDecoder, "_normalize_newlines", lambda self, chunk: chunk),
    "files": (views, "line_of", lambda text, place: 99),
    "http_requests": (fast_heads, "_NOT_PLAIN", frozenset()),
    "http_responses": (connection, "_MAGIC", b"none"),
    "json_texts": (json, "_outside_texts", lambda raw, marks: bytes(byte for byte in raw if byte in marks)),
    "lines": (lines.LineDecoder, "_check", lambda self, length: None),
    "paths": (path, "_quoted", lambda name: name),
    "script_frames": (bridge, "_checked", lambda result: None),
    "upstream_messages": (json, "_once", dict),
    "uri_templates": (resource_owners, "_ANY", "plain"),
}
"""A fault for each target: where, which name, and what stands there instead."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_fault_of_a_reader_is_found_by_a_kept_input(monkeypatch, name):
    """STYLE.md: a test that proves a guard shows it biting."""
    monkeypatch.setattr(*BROKEN[name])
    inputs = [kept.read_bytes() for kept in corpus(name)]
    with pytest.raises((AssertionError, LouverError)):
        [*map(target(name), inputs)]


def test_every_target_is_listed_and_the_corpus_is_small():
    """Ours."""
    found = {file.stem for file in HERE.glob("*.py") if "\ndef check(data: bytes)" in file.read_text()}
    assert found == {*TARGETS} == {folder.name for folder in (HERE / "corpus").iterdir()}
    assert sum(file.stat().st_size for name in TARGETS for file in corpus(name)) <= MAX_CORPUS


@pytest.mark.deep
@pytest.mark.parametrize("name", TARGETS)
def test_new_inputs_are_read(name, tmp_path):
    """TRUST.md: "a short run in the deep tests"."""
    if find_spec("atheris") is None:
        assert "CI" not in os.environ, "atheris is installed where CI runs"
        pytest.skip("atheris is not there for this platform or this Python")
    options = [f"-max_total_time={SECONDS}", f"-artifact_prefix={tmp_path}/", "-seed=1"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.readers", name, *options],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS + FAILSAFE_S,
    )
    assert done.returncode == 0, f"{done.stdout[-6000:]}\nOnce mended, the input belongs into {HERE / 'corpus' / name}"
