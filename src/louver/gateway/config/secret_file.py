"""A file that holds one secret, as `${file:PATH}` names it; with symlinks, as Kubernetes mounts a Secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

from louver.catalogue.files.open_regular import trusted

if TYPE_CHECKING:
    from pathlib import Path

MAX_SECRET_BYTES = 64 * 1024
"""Bytes of a file with a secret, and of what a `headersHelper` prints. Servers take 8 to 64 kB of headers."""


class UnreadableSecret(ValueError):
    """A file cannot be used; the message says why, and nothing of its content."""


def read_secret(file: Path) -> str:
    """The text of a file, without line ends at its end; UnreadableSecret if it holds none, or others can write it."""
    try:
        with open(file, "rb", opener=trusted) as opened:
            content = opened.read(MAX_SECRET_BYTES + 1)
        if len(content) > MAX_SECRET_BYTES:
            raise UnreadableSecret(f"it has over {MAX_SECRET_BYTES:,} bytes")
        text = content.decode().rstrip("\r\n")
    except OSError as error:
        raise UnreadableSecret(error.strerror) from None
    except UnicodeDecodeError:
        raise UnreadableSecret("it is not UTF-8") from None
    if not text:
        raise UnreadableSecret("it is empty")
    return text
