"""An opener for regular files only: pipes and devices could block the event loop. Use: `open(path, opener=regular)`."""

from __future__ import annotations

import errno
import os
import stat


def regular(path: str, flags: int) -> int:
    # Windows has neither the flag nor such files.
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file")
    return number
