"""Formats: which texts are written shorter, and how."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.core.shaping.shorten import FORMATS

TEXTS = [
    ("minute", "2025-01-05T14:32:05.882Z", "2025-01-05T14:32"),
    ("minute", "2025-01-05t14:32:05z", "2025-01-05T14:32"),
    ("minute", "2025-01-05 14:32:60", "2025-01-05T14:32"),
    ("minute", "2025-01-05T14:32:05+00:00", "2025-01-05T14:32"),
    ("minute", "2025-01-05T14:32:05-00:00", "2025-01-05T14:32"),
    ("minute", "2025-01-05T14:32:05+02:00", "2025-01-05T14:32+02:00"),
    ("minute", "2025-01-05T23:32:05-09:30", "2025-01-05T23:32-09:30"),
    ("date", "2025-01-05T23:32:05-09:30", "2025-01-05"),
    ("date", "2025-01-05T14:32:05Z", "2025-01-05"),
    ("localpart", "jdoe@example.com", "jdoe"),
    ("localpart", "a@b@example.com", "a@b"),
]

OTHERS = [
    ("minute", "2025-01-05"),
    ("minute", "2025-01-05T14:32"),
    ("minute", "2025-13-05T14:32:05Z"),
    ("minute", "2025-01-05T24:32:05Z"),
    ("minute", "2025-01-05T14:32:05.Z"),
    ("minute", "2025-01-05T14:32:05+25:00"),
    ("minute", "on 2025-01-05T14:32:05Z"),
    ("minute", "2025-01-05T14:32:05Z\n"),
    ("minute", "٢٠٢٥-01-05T14:32:05Z"),
    ("date", "2025-01-05"),
    ("date", "today"),
    ("localpart", "jdoe"),
    ("localpart", "@example.com"),
    ("localpart", "jdoe@"),
    ("localpart", "Doe, John <jdoe@example.com>"),
    ("localpart", ""),
]


@pytest.mark.parametrize(("name", "text", "expected"), TEXTS)
def test_a_text_of_the_form_is_written_shorter(name: str, text: str, expected: str):
    """001 pattern 4; a time stays as it was written, and an offset that says something is told."""
    assert FORMATS[name].write(text) == expected


@pytest.mark.parametrize(("name", "text"), OTHERS)
def test_a_text_of_another_form_stays_as_it_is(name: str, text: str):
    """Ours: nothing is guessed."""
    assert FORMATS[name].write(text) == text


@pytest.mark.parametrize("name", FORMATS)
@given(st.from_regex(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]+)?.*") | st.emails())
def test_no_text_grows_and_of_a_long_one_as_much_is_left_as_is_said(name: str, text: str):
    """Ours: what a schema says of the lengths of formatted texts rests on this."""
    written = FORMATS[name]
    short = written.write(text)
    assert min(len(text), written.least) <= len(short) <= len(text)
    assert written.write(short) == short or name == "localpart"
