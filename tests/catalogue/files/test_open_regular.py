"""Files that are followed, and what stands in their place."""

import os
import socket
from contextlib import closing

import pytest

from louver.catalogue.files.open_regular import regular
from louver.catalogue.files.views import ViewFile
from louver.catalogue.policy.policy import Policy
from louver.errors import InvalidPolicy, InvalidView


def test_a_file_is_opened(tmp_path):
    (tmp_path / "file").write_text("a")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with open(tmp_path / name, opener=regular) as file:
            assert file.read() == "a"


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """Ours: nobody may ever write into a pipe, and a device may have no end."""
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(tmp_path / "socket"))
        for path in (tmp_path / "pipe", tmp_path / "socket", tmp_path, "/dev/zero"):
            with pytest.raises(OSError, match=r"regular file|No such device"):
                regular(path, os.O_RDONLY)
    with pytest.raises(InvalidView, match="the file of views cannot be read: it is no regular file"):
        ViewFile.read(tmp_path / "pipe")
    with pytest.raises(InvalidPolicy, match="the file of policy cannot be read: it is no regular file"):
        Policy.read(tmp_path / "pipe")
