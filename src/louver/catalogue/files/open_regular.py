"""Opening files that are read again when they change, on the event loop: what would be waited for is refused.

    open(path, opener=regular)      a file                          is opened
                                    a named pipe, a device, ...     OSError: it is no regular file

A pipe that nobody writes into would else keep everything waiting, and a device may never end.
"""

from __future__ import annotations

import errno
import os
import stat


def regular(path: str, flags: int) -> int:
    """The descriptor of a regular file.

    Raises:
        OSError: It cannot be opened, or is none.
    """
    # Windows has neither the flag nor such files.
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file")
    return number
