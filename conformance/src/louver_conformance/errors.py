"""What ends a check, or keeps the suite from the target."""

from __future__ import annotations

from louver.errors import LouverError


class TargetError(LouverError):
    """The target does not answer, or not with a message that can be read."""


class TargetTimeout(TargetError):
    """The target has not answered in time."""


class CheckFailed(LouverError):
    """A requirement that the target does not meet."""


class NotOffered(LouverError):
    """A requirement that cannot be tested, since the target need not offer what it needs."""


class NotTried(LouverError):
    """A target on which no requirement can be tested."""
