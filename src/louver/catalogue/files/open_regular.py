"""Openers that refuse what must not be read. Use: `open(path, opener=regular)`.

    regular    regular files only: pipes and devices could block the event loop
    trusted    of these, only such as their owner alone can change: configuration, policy, keys
    secret     of these, only such as their owner alone can read, or whom root lets read them: tokens

The error names the mode, and the command that mends it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def regular(path: str, flags: int) -> int:
    # Windows has neither the flag nor such files.
    number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "it is no regular file")
    return number


def trusted(path: str, flags: int) -> int:
    return _checked(path, regular(path, flags), _write_problem)


def trusted_or_pipe(path: str, flags: int) -> int:
    """The same, but a descriptor of this process may be a pipe: `--config <(...)`."""
    return os.open(path, flags) if Path(path).parent == Path("/dev/fd") else trusted(path, flags)


def secret(path: str, flags: int) -> int:
    return _checked(path, _checked(path, regular(path, flags), _read_problem), _write_problem)


def _checked(path: str, number: int, problem_of: Callable[[str, int], str | None]) -> int:
    # Windows has no such modes.
    problem = problem_of(path, number) if os.name == "posix" else None
    if problem is not None:
        os.close(number)
        raise PermissionError(errno.EPERM, problem)
    return number


def _read_problem(path: str, number: int) -> str | None:
    file = os.fstat(number)
    mode = stat.S_IMODE(file.st_mode)
    others = mode & (stat.S_IRWXG | stat.S_IRWXO)
    # As Kubernetes mounts a Secret for `fsGroup`; with the group 0 as systemd hands over a credential, by an ACL.
    is_of_root = file.st_uid == 0 and file.st_gid in (0, os.getegid(), *os.getgroups())
    if not others or (others == stat.S_IRGRP and is_of_root):
        return None
    return f"others than its owner can read or write it (mode {mode:o}): expected 600, by chmod 600 {path}"


def _write_problem(path: str, number: int) -> str | None:
    if os.fstatvfs(number).f_flag & os.ST_RDONLY:
        # Nobody can write to a read-only mount, as those of Kubernetes are.
        return None
    file = os.fstat(number)
    if file.st_mode & stat.S_IWOTH or (file.st_mode & stat.S_IWGRP and not _is_group_private(file)):
        mode = stat.S_IMODE(file.st_mode)
        return f"others than its owner can write it (mode {mode:o}): expected {mode & ~0o022:o}, by chmod go-w {path}"
    for folder in {Path(path).parent, Path(path).resolve().parent}:
        mode = folder.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            octal = f"mode {stat.S_IMODE(mode):o}"
            return f"others can replace it, since they can write to its folder ({octal}): chmod o-w {folder}"
    return None


def _is_group_private(file: os.stat_result) -> bool:
    """Whether the group is that of the file's owner alone, as many systems give one to each user."""
    # Windows has neither module.
    import grp
    import pwd

    try:
        owner, group = pwd.getpwuid(file.st_uid), grp.getgrgid(file.st_gid)
    except KeyError:
        return False
    return owner.pw_gid == group.gr_gid and owner.pw_name == group.gr_name and {*group.gr_mem} <= {owner.pw_name}
