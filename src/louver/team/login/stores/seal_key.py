"""The key that seals logins: in the system's keyring where the package `keyring` works, else in a file of mode 600.

A folder whose key is in a file keeps that: what the file has sealed would not open by another key.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from tempfile import NamedTemporaryFile
from threading import Thread
from typing import TYPE_CHECKING, Final

from louver.catalogue.files.open_regular import secret
from louver.errors import LoginFailed
from louver.limits import MAX_TOKEN_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

KEYRING_S = 10.0
"""How long the system's keyring may take, in seconds: it may ask somebody for a password."""


_BYTES: Final = 32
_SERVICE: Final = "louver"
KEY_FILE: Final = "key"
_LOGIN: Final = re.compile("[0-9a-f]{16}")  # the name of a login's file

# The questions that a keyring has not answered, by folder: each may show a window, and holds a thread.
_UNANSWERED: Final[dict[str, Thread]] = {}


def seal_key(folder: Path, *, create: bool) -> str | None:
    """The key of a folder that exists; `None` if there is none and none is to be made."""
    file = folder / KEY_FILE
    try:
        with _locked(folder):
            if not file.exists():
                if (found := _from_keyring(str(folder), create=create)) is not None:
                    return found
                if not create:
                    return None
                if any(_LOGIN.fullmatch(each.name) for each in folder.iterdir()):
                    raise LoginFailed(
                        f"the key of the logins in {folder} is in the system's keyring, which does not answer here: "
                        "unlock it, or remove the folder and log in again"
                    )
                _write(file, secrets.token_urlsafe(_BYTES))
            with open(file, "rb", opener=secret) as opened:
                return opened.read(MAX_TOKEN_CHARACTERS).decode("latin-1").strip()
    except OSError as error:
        raise LoginFailed(f"the key of logins cannot be kept in {file}: {error.strerror}") from None


def _from_keyring(user: str, *, create: bool) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError:
        return None
    if (unanswered := _UNANSWERED.get(user)) is not None and unanswered.is_alive():
        return None
    found: Queue[str | None] = Queue()

    def ask() -> None:
        key = None
        with suppress(KeyringError, RuntimeError, OSError):
            key = keyring.get_password(_SERVICE, user)
            if key is None and create:
                keyring.set_password(_SERVICE, user, secrets.token_urlsafe(_BYTES))
                # Some keyrings store nothing.
                key = keyring.get_password(_SERVICE, user)
        found.put(key)

    # In a thread that nobody waits for: a keyring may wait for a password that nobody types.
    _UNANSWERED[user] = Thread(target=ask, daemon=True)
    _UNANSWERED[user].start()
    with suppress(Empty):
        return found.get(timeout=KEYRING_S)
    return None


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """Two commands at once would make two keys."""
    with open(folder / f"{KEY_FILE}.lock", "w", opener=_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _write(file: Path, key: str) -> None:
    # Its mode is 0600.
    with NamedTemporaryFile(dir=file.parent) as part:
        part.write(f"{key}\n".encode())
        part.flush()
        os.fsync(part.fileno())
        os.link(part.name, file)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
