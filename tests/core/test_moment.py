"""Moments as logs and records write them."""

from louver.core.moment import moment


def test_a_moment_is_written_in_utc_to_the_millisecond():
    """RFC 3339, section 5.6: `Z` is UTC; that there are always three digits of a second is ours."""
    assert moment(0) == "1970-01-01T00:00:00.000Z"
    assert moment(1767268800) == "2026-01-01T12:00:00.000Z"
    assert moment(1767268799.9375) == "2026-01-01T11:59:59.937Z"
