"""Files that are followed, and what stands in their place."""

import os
import pwd
import socket
from contextlib import closing
from types import SimpleNamespace

import pytest

from louver.catalogue.files.open_regular import regular, secret, trusted, trusted_or_pipe
from louver.catalogue.files.views import ViewFile
from louver.errors import InvalidConfig, InvalidPolicy, InvalidView
from louver.gateway.config.read import read_config
from louver.policy.policy import Policy


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


@pytest.mark.parametrize("mode", [0o602, 0o666, 0o646, 0o777])
@pytest.mark.parametrize("opener", [trusted, trusted_or_pipe])
def test_a_file_that_others_can_write_is_refused_with_its_mode_and_what_mends_it(tmp_path, mode, opener):
    """TRUST.md, row 12."""
    path = tmp_path / "it.json"
    path.write_text("{}")
    path.chmod(mode)
    with pytest.raises(PermissionError, match=rf"\(mode {mode:o}\): expected {mode & 0o755:o}, by chmod go-w {path}"):
        opener(str(path), os.O_RDONLY)
    path.chmod(mode & 0o755)
    os.close(opener(str(path), os.O_RDONLY))


def test_a_group_can_write_that_is_the_owner_alone(tmp_path, monkeypatch):
    """Ours: many systems give each user a group, and a mask by which files are its group's too."""
    path = tmp_path / "it.json"
    path.write_text("{}")
    path.chmod(0o664)
    user = pwd.getpwuid(os.getuid())
    group = SimpleNamespace(gr_gid=path.stat().st_gid, gr_name=user.pw_name, gr_mem=[])
    mine = SimpleNamespace(pw_gid=group.gr_gid, pw_name=user.pw_name)
    monkeypatch.setattr("pwd.getpwuid", lambda _: mine)
    monkeypatch.setattr("grp.getgrgid", lambda _: group)
    os.close(trusted(str(path), os.O_RDONLY))
    for others in ({"gr_mem": ["eve"]}, {"gr_name": "staff"}, {"gr_gid": group.gr_gid + 1}):
        monkeypatch.setattr("grp.getgrgid", lambda _, others=others: SimpleNamespace(**{**vars(group), **others}))
        with pytest.raises(PermissionError, match="mode 664"):
            trusted(str(path), os.O_RDONLY)


def test_a_file_is_refused_that_others_can_replace(tmp_path):
    """TRUST.md, row 12: also the one that a link leads to."""
    folder = tmp_path / "open"
    folder.mkdir()
    (folder / "it.json").write_text("{}")
    (tmp_path / "link").symlink_to(folder / "it.json")
    folder.chmod(0o777)
    for path in (folder / "it.json", tmp_path / "link"):
        with pytest.raises(PermissionError, match=rf"its folder \(mode 777\): chmod o-w {folder}"):
            trusted(str(path), os.O_RDONLY)
    folder.chmod(0o1777)
    os.close(trusted(str(folder / "it.json"), os.O_RDONLY))


def test_a_secret_is_for_its_owner(tmp_path):
    path = tmp_path / "tokens.json"
    path.write_text("{}")
    path.chmod(0o604)
    with pytest.raises(PermissionError, match=rf"\(mode 604\): expected 600, by chmod 600 {path}"):
        secret(str(path), os.O_RDONLY)


def test_a_secret_of_root_is_for_a_group_of_the_process_too(tmp_path, monkeypatch):
    """Ours: as Kubernetes mounts a Secret for `fsGroup`, and systemd a credential."""
    path, fstat = tmp_path / "tokens.json", os.fstat
    path.write_text("{}")

    def is_taken(mode, owner, groups=(5,), group=5):
        path.chmod(mode)
        monkeypatch.setattr("os.getgroups", lambda: list(groups))
        monkeypatch.setattr("os.getegid", lambda: 7)
        monkeypatch.setattr(
            "os.fstat", lambda number: os.stat_result((*fstat(number)[:4], owner, group, *fstat(number)[6:]))
        )
        try:
            os.close(secret(str(path), os.O_RDONLY))
        except PermissionError:
            return False
        return True

    assert is_taken(0o440, 0)
    assert is_taken(0o640, 0)
    assert is_taken(0o440, 0, groups=(6,), group=0)
    assert not is_taken(0o640, 0, groups=(6,))
    assert not is_taken(0o640, 1)
    assert not any(is_taken(mode, 0) for mode in (0o660, 0o650, 0o644, 0o642))


def test_the_policy_and_the_configuration_are_read_so(tmp_path):
    """TRUST.md, row 12: policy files that all can write were taken."""
    path = tmp_path / "it.json"
    path.write_text("{}")
    path.chmod(0o666)
    with pytest.raises(InvalidPolicy, match="the file of policy cannot be read: others than its owner can write it"):
        Policy.read(path)
    with pytest.raises(InvalidConfig, match="the configuration cannot be read: others than its owner can write it"):
        read_config(path)
