"""A configuration that follows its file."""

import json
import os
from pathlib import Path

import pytest

from gateway.configs import mount, of, write
from louver.errors import InvalidConfig
from louver.gateway.config import read
from louver.gateway.config.reload import ConfigFile

A, B = of(it={"command": "a"}), of(it={"command": "b"})


def test_a_changed_file_is_read_again(tmp_path):
    """GATEWAY, Start: a changed file is reloaded; one from an archive may be older."""
    file = ConfigFile(write(tmp_path, A, stamp=2))
    before = file.current
    assert not file.refresh()
    assert file.current is before
    for stamp, content, command in ((3, B, "b"), (1, A, "a")):
        write(tmp_path, content, stamp=stamp)
        assert file.refresh()
        assert file.current.upstreams[0].command == (command,)


def test_a_file_that_says_the_same_in_other_words_changes_nothing(tmp_path):
    """Ours: nobody's connection is cut for a space."""
    file = ConfigFile(write(tmp_path, A))
    write(tmp_path, A + "\n", stamp=2)
    assert not file.refresh()


def test_a_change_within_one_tick_of_the_clock_is_seen_by_the_size(tmp_path):
    """Ours: some file systems tell the time only to some milliseconds."""
    file = ConfigFile(write(tmp_path, A))
    write(tmp_path, of(it={"command": "longer"}))
    assert file.refresh()


@pytest.mark.parametrize("bad", ["{", of(it={"comand": "a"}), of(it={"command": "${NOT_SET}"}), None])
def test_a_bad_change_keeps_the_last_good_configuration_and_is_logged_once(tmp_path, bad, caplog):
    """GATEWAY, Start: a bad file keeps the last good configuration."""
    path = write(tmp_path, A)
    file = ConfigFile(path, {})
    good = file.current
    if bad is None:
        path.unlink()
    else:
        write(tmp_path, bad, stamp=2)
    assert not file.refresh()
    assert not file.refresh()
    assert file.current is good
    (record,) = caplog.records
    assert (record.levelname, record.name) == ("ERROR", "louver.gateway.config.reload")
    assert record.getMessage().startswith(f"the configuration stays as it was: {path}:")
    write(tmp_path, B, stamp=3)
    assert file.refresh()
    assert file.current.upstreams[0].command == ("b",)


def test_a_wrong_file_at_the_start_is_an_error(tmp_path):
    """Ours."""
    with pytest.raises(InvalidConfig):
        ConfigFile(write(tmp_path, "{"))
    with pytest.raises(InvalidConfig):
        ConfigFile(tmp_path / "nowhere.json")


def test_a_pipe_in_place_of_the_file_is_not_waited_for(tmp_path, caplog):
    """Ours: nobody may write into it, and the event loop would stand still, and SIGTERM be unheard."""
    path = write(tmp_path, A)
    file = ConfigFile(path)
    path.unlink()
    os.mkfifo(path)
    assert not file.refresh()
    (record,) = caplog.records
    assert f"{path}: the configuration cannot be read: it is no regular file" in record.getMessage()
    assert file.current.upstreams[0].command == ("a",)
    path.unlink()
    write(tmp_path, B, stamp=3)
    assert file.refresh()


def test_a_pipe_of_the_shell_is_read_at_the_start(caplog):
    """Ours: `louver serve --config <(...)`; it says nothing else later."""
    reading, writing = os.pipe()
    os.write(writing, A.encode())
    os.close(writing)
    file = ConfigFile(Path(f"/dev/fd/{reading}"))
    assert file.current.upstreams[0].command == ("a",)
    os.utime(reading, ns=(1, 1))
    assert not file.refresh()
    assert caplog.records == []
    os.close(reading)


def test_a_named_pipe_is_refused_at_the_start(tmp_path):
    """TRUST.md, row 12: nobody may ever write into it."""
    os.mkfifo(tmp_path / "mcp.json")
    with pytest.raises(InvalidConfig, match="it is no regular file"):
        ConfigFile(tmp_path / "mcp.json")


def test_of_a_file_only_one_server_can_be_followed(tmp_path, caplog):
    """Ours: `louver serve --server`; if it is gone from the file, the last good configuration stays."""
    both = of(it={"command": "a"}, other={"command": "b"})
    file = ConfigFile(write(tmp_path, both), server="it")
    assert [each.name for each in file.current.upstreams] == ["it"]
    write(tmp_path, of(other={"command": "b"}), stamp=2)
    assert not file.refresh()
    assert "there is no server 'it' in the configuration: there are 'other'" in caplog.text
    write(tmp_path, of(it={"command": "c"}, other={"command": "b"}), stamp=3)
    assert file.refresh()
    assert file.current.upstreams[0].command == ("c",)
    with pytest.raises(InvalidConfig, match="there is no server 'its' in the configuration: did you mean 'it'"):
        ConfigFile(write(tmp_path, both), server="its")


OLD, NEW = "o" * 32, "n" * 32
ROTATED = json.dumps(
    {
        "mcpServers": {"it": {"command": "a"}},
        "louver": {"keys": ["${file:secret/first}", "${file:secret/second}"]},
    }
)


def test_a_secret_in_a_file_is_read_again_when_that_changes(tmp_path, caplog):
    """TEAM.md, "Second look", row 5: keys rotate by a Secret of Kubernetes, without a start."""
    mount(tmp_path / "secret", first=OLD, second=NEW)
    file = ConfigFile(write(tmp_path, ROTATED))
    assert file.current.keys == (OLD, NEW)
    assert not file.refresh()
    mount(tmp_path / "secret", first=f"{NEW}\n", second=f"{OLD}\r\n")
    assert file.refresh()
    assert file.current.keys == (NEW, OLD)
    mount(tmp_path / "secret", first=NEW, second=OLD)
    assert not file.refresh()
    mount(tmp_path / "secret", first=NEW, second="")
    assert not file.refresh()
    assert not file.refresh()
    assert file.current.keys == (NEW, OLD)
    (record,) = caplog.records
    assert record.getMessage().endswith("secret/second' cannot be read: it is empty")


def test_a_file_that_a_changed_configuration_misses_is_waited_for(tmp_path):
    """Ours: a policy or a secret that came after the configuration was not seen."""
    file = ConfigFile(write(tmp_path, A))
    write(tmp_path, ROTATED, stamp=2)
    assert not file.refresh()
    mount(tmp_path / "secret", first=NEW, second=OLD)
    (tmp_path / "secret" / "first").chmod(0o666)
    assert not file.refresh()
    (tmp_path / "secret" / "first").chmod(0o644)
    assert file.refresh()
    assert file.current.keys == (NEW, OLD)


def test_files_that_change_while_they_are_read_are_taken_together(tmp_path, monkeypatch):
    """Ours: of two keys one was read before a rotation, and one after it: the other was missing."""
    mount(tmp_path / "secret", first=OLD, second=NEW)
    file = ConfigFile(write(tmp_path, ROTATED))
    mount(tmp_path / "secret", first=OLD, second="m" * 32)
    read_secret = read.read_secret

    def changing(path):
        content = read_secret(path)
        if path.name == "first":
            mount(tmp_path / "secret", first="m" * 32, second=OLD)
        return content

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(read, "read_secret", changing)
        assert not file.refresh()
    assert file.current.keys == (OLD, NEW)
    assert file.refresh()
    assert file.current.keys == ("m" * 32, OLD)
