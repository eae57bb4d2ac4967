"""Changes of hosts' files: only servers change, and the file comes back byte for byte."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from errno import EACCES
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.failsafe import FAILSAFE_S
from fixtures.growth import superlinear
from louver.desk.hosts.edit import difference, masked_servers, replace_servers
from louver.desk.hosts.read import HostServers, parse
from louver.desk.hosts.swap import Swap, _changed_lines, check_can_write, exchange, recorded, swap_for, write_private
from louver.desk.hosts.table import HOSTS, HostSource, Machine
from louver.errors import InvalidConfig, InvalidInput, LouverError

MCP_JSON = Path("mcp.json")

ENTRY = {"command": "louver", "args": ["serve"]}

JSONC = """{
  // mine
  "theme": "dark", /* yes */
  "mcpServers": {
    "a": {"command": "x", "env": {"T": "geheim"}}, // first
    "keep": {"command": "y"}, // stays
    // about b
    "b": {
      "command": "z"
    },
    "c": {"command": "w"}%s
  },
  "other": [1, 2,],
}
"""

EDITED = """{
  // mine
  "theme": "dark", /* yes */
  "mcpServers": {
    "louver": {
      "command": "louver",
      "args": [
        "serve"
      ]
    }, // first
    "keep": {"command": "y"}%s // stays
    // about b
  },
  "other": [1, 2,],
}
"""

TOML = """# mine
model = "x"

[mcp_servers.a]   # first
command = "npx"
args = ["-y",
  "[x]"] # args
[mcp_servers.a.env]
T = "geheim"

# about b
[mcp_servers.b]
command = "z"

[mcp_servers."c d"]
url = "http://x"

[profile.z]
a = 2 # end
"""

EDITED_TOML = """# mine
model = "x"

[mcp_servers.louver]
command = "louver"
args = ["serve"]

# about b
[mcp_servers.b]
command = "z"

[profile.z]
a = 2 # end
"""


def read(folder, content, host="cursor", name=None):
    """The servers in a file of the host."""
    path = folder / (name or HOSTS[host].files[-1].rpartition("/")[2])
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return HostServers.read(HostSource(HOSTS[host], path, (HOSTS[host].key,)))


@pytest.mark.parametrize("trailing", ["", ","])
def test_comments_and_commas_of_others_stay(tmp_path, trailing):
    """Ours: a file is its user's."""
    found = read(tmp_path, JSONC % trailing)
    assert replace_servers(found, ["a", "b", "c"], "louver", ENTRY) == EDITED % trailing


def test_tables_of_others_stay(tmp_path):
    """Ours."""
    assert replace_servers(read(tmp_path, TOML, "codex"), ["a", "c d"], "louver", ENTRY) == EDITED_TOML


@pytest.mark.parametrize("mark", ['"mcpServers":{', '"mcpServers" : {\r\n\t'])
def test_the_layout_of_the_file_is_kept(tmp_path, mark):
    """Ours: in one line, with tabs, with the line ends of Windows."""
    text = "{" + mark + '"a":{"command":"x"}}}'
    new = replace_servers(read(tmp_path, text), ["a"], "louver", ENTRY)
    assert new.startswith("{" + mark + '"louver": {')
    assert json.loads(new) == {"mcpServers": {"louver": ENTRY}}
    assert new.count("\r\n") == new.count("\n")


@pytest.mark.parametrize("end", ["}\n}\n", " /* b */\n}\n}", ", /* b */\n}\n}", "\n, // b\n}\n}"])
def test_what_stands_behind_a_removed_server_is_not_taken_into_a_comment(tmp_path, end):
    """Ours: the comment in the line above ends with that line."""
    text = f'{{"mcpServers": {{\n  "a": {{"command": "x"}}, // first\n  "b": {{"command": "y"}}{end}'
    new = replace_servers(read(tmp_path, text), ["a", "b"], "louver", ENTRY)
    assert parse(new, MCP_JSON) == {"mcpServers": {"louver": ENTRY}}
    assert ("// first" in new, "b" in new.partition("first")[2]) == (True, " b" in end)


UNEDITABLE = {
    "an inline table": 'mcp_servers = { a = { command = "x" } }\n',
    "dotted keys": 'mcp_servers.a.command = "x"\n',
    "a table in a text": '[mcp_servers.a]\ncommand = "a"\n[x]\ny = """\n[mcp_servers.a]\n"""\n',
}


@pytest.mark.parametrize("text", UNEDITABLE.values(), ids=UNEDITABLE)
def test_a_toml_file_that_cannot_be_edited_alone_is_refused(tmp_path, text):
    """Ours: never half a change."""
    with pytest.raises(InvalidConfig, match=r"its servers cannot be replaced alone: expected \[mcp_servers.NAME\]"):
        replace_servers(read(tmp_path, text, "codex"), ["a"], "louver", ENTRY)


NAMES = st.text(min_size=1, max_size=6)
SERVERS = st.dictionaries(NAMES, st.fixed_dictionaries({"command": st.text(max_size=4)}), min_size=1, max_size=5)


@given(SERVERS, st.data(), st.sampled_from([None, 1, "\t"]), st.sampled_from(["", ","]))
def test_only_the_named_servers_change(servers, data, indent, comma):
    """Ours, as a law: strict JSON stays strict, and a trailing comma stays one."""
    names = data.draw(st.lists(st.sampled_from([*servers]), min_size=1, unique=True))
    text = json.dumps({"x": [1], "mcpServers": servers, "y": "}"}, indent=indent)
    text = text.replace('"y": "}"', f'"y": "}}"{comma}')
    source = HostSource(HOSTS["cursor"], MCP_JSON, ("mcpServers",))
    found = HostServers(source, text.encode(), text, text.replace('"y": "}",', '"y": "}" '), servers)
    name = next(name for name in ("louver", "louver-2") if name not in servers)
    new = replace_servers(found, names, name, ENTRY)
    kept = {key: server for key, server in servers.items() if key not in names}
    assert parse(new, MCP_JSON) == {"x": [1], "mcpServers": {**kept, name: ENTRY}, "y": "}"}
    if not comma:
        json.loads(new)


SECRET = "geheim"
SECRETS = {
    "json": ("cursor", '{"mcpServers": {"a": {"command": "x", "env": {"T": "geheim"}, "headers": "geheim"}}}'),
    "opencode": ("opencode", '{\n"key": "geheim", "mcp": {"a": {"environment": {\n"T": "geheim"}}}}'),
    "one line": ("cursor", '{"token": "geheim", "mcpServers": {"a": {"env": {"T": "ge\\u0068eim"}}}}'),
    "toml": ("codex", TOML),
    "arguments": (
        "cursor",
        '{"mcpServers": {"a": {"args": ["--key", "geheim"], "oauth": {"secret": "geheim"}}, "b": {"url": "geheim"}}}',
    ),
    "a command as a list": ("opencode", '{"mcp": {"a": {"command": ["npx", "--key=geheim"]}}}'),
    "toml arguments": (
        "codex",
        '[mcp_servers.a]\ncommand = "x"\nargs = ["geheim"]\n[x]\n[mcp_servers.b]\nurl="geheim"\n',
    ),
    "a text": ("cursor", '{"mcpServers": {"a": {"command": "x"}, "b": "geheim"}}'),
    "comments": ("cursor", '{"mcpServers": {"a": {"command": "x" /* "T": "geheim" */}, // geheim\n"b": {}}}'),
    "toml comments": ("codex", "[mcp_servers.a] # geheim\ncommand = 'x'\n# url = 'geheim'\nurl = 'u' # geheim\n"),
    "toml tables": (
        "codex",
        "[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.b.x.y]\nz = 'geheim'\n[o]\n[mcp_servers.a.env]\nT = 'geheim'\n",
    ),
    "toml headers": (
        "codex",
        'x = 1\n[mcp_servers.a]\nurl = "u"\nhttp_headers = { A = "geheim", B = """\ngeheim""" }\n',
    ),
}


@pytest.mark.parametrize(("host", "text"), SECRETS.values(), ids=SECRETS)
def test_no_secret_is_shown(tmp_path, host, text):
    """Ours: of servers only commands are shown; nothing outside of the servers is."""
    found = read(tmp_path, text, host)
    new = replace_servers(found, ["a"], "louver", ENTRY)
    as_toml = host == "codex"
    lines = difference(
        *(masked_servers(each, found.source.place, "louver", as_toml=as_toml) for each in (text, new)), "file"
    )
    assert any("louver" in line for line in lines)
    assert any("serve" in line for line in lines)
    assert not [line for line in lines if SECRET in line or "u0068" in line]


def raising(error):
    def raised(*_):
        raise error

    return raised


@pytest.fixture
def machine(tmp_path):
    (tmp_path / "home").mkdir()
    return Machine(tmp_path, tmp_path / "home", "linux", {})


@pytest.fixture
def swapped(machine, tmp_path):
    """A file with Louver, as it was before, and what undoes it."""
    path = tmp_path / "home" / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(b"before\n")
    path.chmod(0o640)
    if os.getuid() == 0:
        os.chown(path, -1, 12345)
    swap = swap_for(machine, HostSource(HOSTS["cursor"], path, ("mcpServers",)))
    swap.write(b"before\n", b"after\nand\n")
    exchange(path, b"before\n", b"after\nand\n", swap.mode)
    return swap


def undone(machine):
    return [Swap.read(folder).undo() for folder in recorded(machine)]


def test_a_file_is_restored_with_its_mode(machine, swapped):
    """Issue 42: byte for byte."""
    assert swapped.file.read_bytes() == b"after\nand\n"
    swapped.file.chmod(0o600)
    assert undone(machine) == [("", False)]
    assert swapped.file.read_bytes() == b"before\n"
    assert swapped.file.stat().st_mode & 0o777 == 0o640
    assert os.getuid() != 0 or swapped.file.stat().st_gid == 12345
    assert recorded(machine) == []
    assert not swapped.folder.exists()


def test_a_file_that_has_changed_since_is_left_alone(machine, swapped):
    """Issue 42: it says which lines, and shows none."""
    swapped.file.write_bytes(b"after\nother\nmore\nand\n")
    assert undone(machine) == [("2 to 3", True)]
    assert swapped.file.read_bytes() == b"after\nother\nmore\nand\n"
    assert recorded(machine) == [swapped.folder]


CHANGED = {
    "json": (
        "cursor",
        JSONC % "",
        ["a", "b"],
        lambda text: text.replace('"dark"', '"light"').replace("[1, 2,]", "[3]"),
    ),
    "by a program": (
        "cursor",
        '{"n": 1, "mcpServers": {"a": {"command": "x"}}}',
        ["a"],
        lambda text: json.dumps({**json.loads(text), "n": 2}, indent=4),
    ),
    "toml": (
        "codex",
        TOML,
        ["a", "b"],
        lambda text: text.replace('"x"', '"y"').replace("[profile.z]", "# new\n[projects.p]\nb = 1\n\n[profile.z]"),
    ),
    "toml without a last line end": (
        "codex",
        '[mcp_servers.a]\ncommand = "x"',
        ["a"],
        lambda text: f"{text.rstrip()}\n[projects.p]\nb = 1\n",
    ),
}


@pytest.mark.parametrize(("host", "text", "names", "change"), CHANGED.values(), ids=CHANGED)
def test_servers_come_back_into_a_file_that_has_changed_elsewhere(machine, host, text, names, change):
    """Ours: hosts write other settings into the same file, Claude Code at each start."""
    found = read(machine.home, text, host)
    swap = swap_for(machine, found.source)
    after = replace_servers(found, names, "louver", ENTRY)
    swap.write(found.data, after.encode())
    exchange(swap.file, found.data, after.encode(), swap.mode)
    swap.file.write_text(change(after))
    swap.file.chmod(0o600)
    [(lines, is_left)] = undone(machine)
    assert lines
    assert not is_left
    new = swap.file.read_text()
    assert parse(new, swap.file) == parse(change(text), swap.file)
    assert ("# first" in new, "// stays" in new) == ("# first" in text, "// stays" in text)
    assert new.count("# about b") == text.count("# about b")
    assert swap.file.stat().st_mode & 0o777 == 0o600
    assert recorded(machine) == []


def test_servers_that_have_changed_are_left_alone(machine, tmp_path):
    """Ours: what somebody has added there is not lost."""
    found = read(machine.home, '{"mcpServers": {"a": {"command": "x"}}}')
    swap = swap_for(machine, found.source)
    after = replace_servers(found, ["a"], "louver", ENTRY)
    swap.write(found.data, after.encode())
    swap.file.write_text(theirs := after.replace("}}", '}, "mine": {}}'))
    assert [each.is_left for each in undone(machine)] == [True]
    assert swap.file.read_text() == theirs


NEW_COMMENTS = {
    "json": (
        "cursor",
        '{"mcpServers": {"a": {"command": "x"}, /* old */ "b": {}}}',
        '{"louver"',
        '{ // mine\n"louver"',
    ),
    "toml": ("codex", "[mcp_servers.a]\ncommand = 'x' # old\n[mcp_servers.b]\n", "command = ", "# mine\ncommand = "),
}


@pytest.mark.parametrize(("host", "text", "old", "new"), NEW_COMMENTS.values(), ids=NEW_COMMENTS)
def test_a_comment_that_is_new_among_the_servers_is_not_lost(machine, host, text, old, new):
    """Ours: as a server that is."""
    found = read(machine.home, text, host)
    swap = swap_for(machine, found.source)
    after = replace_servers(found, ["a"], "louver", ENTRY)
    swap.write(found.data, after.encode())
    swap.file.write_text(theirs := after.replace(old, new))
    assert theirs != after
    assert [each.is_left for each in undone(machine)] == [True]
    assert swap.file.read_text() == theirs


def test_what_has_changed_is_found_in_one_look_at_the_lines():
    """TRUST.md, "Linear in the text": Claude Code's file has many thousand lines, most of them alike."""
    assert _changed_lines(b"a\nb\nc\nd\n", b"a\nB\nc\nD\nd\n") == "2 to 4"
    assert _changed_lines(b"a\nb\n", b"a\n") == "2"
    assert _changed_lines(b"a\n", b"a\r\n") == "1"
    assert superlinear(lambda text: _changed_lines(f"a{text}a".encode(), f"b{text}b".encode()), ["},\n", "]\n"]) == {}


def test_copies_that_cannot_be_removed_are_named(machine, swapped, monkeypatch):
    """Ours: the file is as it was all the same, and a second time removes them."""
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", raising(PermissionError(EACCES, "Permission denied")))
        with pytest.raises(LouverError, match=r"before Louver, but .*cursor-\w+ cannot be removed: Permission denied"):
            undone(machine)
    assert swapped.file.read_bytes() == b"before\n"


def test_an_undo_that_was_ended_in_the_midst_is_complete(machine, swapped, monkeypatch):
    """Ours: the record goes first, so that nothing asks for the copy that is gone."""
    monkeypatch.setattr("shutil.rmtree", lambda folder: (folder / "before").unlink())
    undone(machine)
    assert recorded(machine) == []
    assert swapped.file.read_bytes() == b"before\n"


def test_a_swap_that_did_not_happen_is_undone(machine, swapped):
    """Ours: the process ended between the record and the change."""
    swapped.file.write_bytes(b"before\n")
    assert undone(machine) == [("", False)]
    assert recorded(machine) == []


def test_a_file_that_is_gone_is_reported(machine, swapped):
    """Ours."""
    swapped.file.unlink()
    with pytest.raises(InvalidConfig, match="cannot be read: No such file"):
        undone(machine)


def test_a_record_that_cannot_be_read_names_the_copy(machine, swapped):
    """Ours."""
    for text in ("{", '{"host": "cursor", "file": "mcp.json", "place": [], "mode": "rw"}'):
        (swapped.folder / "swap.json").write_text(text)
        with pytest.raises(InvalidInput, match="restore its file 'before'"):
            undone(machine)


def test_copies_that_cannot_be_looked_at_are_reported(machine, swapped, monkeypatch):
    """Ours: of another user, say; nothing is said to be all right."""
    monkeypatch.setattr(Path, "iterdir", raising(PermissionError(EACCES, "Permission denied")))
    for look in (lambda: recorded(machine), lambda: swapped.is_recorded):
        with pytest.raises(LouverError, match=r"hosts cannot be read: Permission denied"):
            look()


def test_what_is_kept_is_the_owner_s(swapped):
    """Ours: it holds the secrets of the file."""
    assert {file.stat().st_mode & 0o777 for file in swapped.folder.iterdir()} == {0o600}
    assert swapped.folder.stat().st_mode & 0o777 == 0o700
    target = swapped.folder / "target"
    (swapped.folder / "link").symlink_to(target)
    with pytest.raises(LouverError, match="cannot be written"):
        write_private(swapped.folder / "link", b"x")
    assert not target.exists()


def test_a_file_that_changes_meanwhile_stays(tmp_path):
    """Issue 42: compared before it is replaced; nothing is left beside it."""
    file = tmp_path / "mcp.json"
    file.write_bytes(b"theirs")
    with pytest.raises(InvalidConfig, match="has changed meanwhile, and stays as it is"):
        exchange(file, b"read before", b"new", 0o600)
    assert file.read_bytes() == b"theirs"
    assert [path.name for path in tmp_path.iterdir()] == ["mcp.json"]


KILLED = """
import os, signal, sys
from pathlib import Path
from louver.desk.hosts.swap import exchange
os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
exchange(Path(sys.argv[1]), b"before\\n", b"after\\nand\\n", 0o640)
"""


@pytest.mark.parametrize("by", ["another exchange", "undo"])
def test_what_a_killed_exchange_leaves_is_removed_by_the_next(swapped, machine, by):
    """Step 19, row 24: a copy of the file, with its secrets, stayed beside it."""
    swapped.file.write_bytes(b"before\n")
    killed = subprocess.run([sys.executable, "-c", KILLED, swapped.file], check=False, timeout=FAILSAFE_S)
    assert killed.returncode == -signal.SIGKILL
    assert swapped.file.read_bytes() == b"before\n"
    [left] = {*swapped.file.parent.iterdir()} - {swapped.file}
    assert left.stat().st_mode & 0o007 == 0
    if by == "undo":
        assert undone(machine) == [("", False)]
    else:
        exchange(swapped.file, b"before\n", b"after\n", swapped.mode)
    assert [*swapped.file.parent.iterdir()] == [swapped.file]


def test_a_file_that_others_can_write_is_not_changed(tmp_path):
    """Issue 42."""
    file = tmp_path / "mcp.json"
    file.write_bytes(b"x")
    file.chmod(0o666)
    with pytest.raises(InvalidConfig, match="the file is not changed: others than its owner can write it"):
        exchange(file, b"x", b"y", 0o666)
    assert file.read_bytes() == b"x"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_changed(tmp_path):
    """Issue 42."""
    file = tmp_path / "mcp.json"
    file.write_bytes(b"x")
    os.chown(file, 12345, -1)
    with pytest.raises(InvalidConfig, match="it belongs to another user"):
        check_can_write(file)


def test_a_file_that_its_owner_cannot_write_is_not_changed(tmp_path):
    """Ours: to exchange it needs no such permission, so that it must be looked at."""
    file = tmp_path / "mcp.json"
    file.write_bytes(b"x")
    file.chmod(0o444)
    with pytest.raises(InvalidConfig, match=r"it is read-only, until chmod u\+w "):
        exchange(file, b"x", b"y", 0o444)
    assert file.read_bytes() == b"x"


def test_a_file_behind_a_link_is_changed_and_the_link_stays(machine, tmp_path):
    """Ours: dotfiles are often links."""
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_bytes(b"x")
    link.symlink_to(real)
    swap = swap_for(machine, HostSource(HOSTS["cursor"], link, ("mcpServers",)))
    assert swap.file == real
    exchange(swap.file, b"x", b"y", swap.mode)
    assert link.is_symlink()
    assert link.read_bytes() == b"y"


def test_a_file_that_has_become_a_link_since_stays_one(machine, swapped, tmp_path):
    """Ours: its user has begun to keep such files in one place."""
    real = tmp_path / "mcp.json"
    swapped.file.rename(real)
    swapped.file.symlink_to(real)
    assert undone(machine) == [("", False)]
    assert swapped.file.is_symlink()
    assert real.read_bytes() == b"before\n"


def test_two_changes_of_one_file_are_undone_last_first(machine, tmp_path):
    """Ours: Claude Code has two places in one file."""
    file = tmp_path / "both.json"
    file.write_bytes(b"0")
    for number, key in enumerate(("one", "two")):
        swap = swap_for(machine, HostSource(HOSTS["claude-code"], file, (key,)))
        before, after = str(number).encode(), str(number + 1).encode()
        swap.write(before, after)
        exchange(file, before, after, swap.mode)
    assert undone(machine) == [("", False)] * 2
    assert file.read_bytes() == b"0"


UNREADABLE = {
    "a pipe": lambda path: os.mkfifo(path),
    "a folder": lambda path: path.mkdir(),
    "no UTF-8": lambda path: path.write_bytes(b"\xff"),
    "a link to itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("make", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_none_is_refused(tmp_path, make):
    """Issue 42: nothing waits for a pipe."""
    path = tmp_path / "mcp.json"
    make(path)
    with pytest.raises(InvalidConfig, match=r"mcp\.json: the file cannot be read"):
        HostServers.read(HostSource(HOSTS["cursor"], path, ("mcpServers",)))


def test_a_huge_file_is_refused(tmp_path):
    """Issue 42: it is sparse, so that the test is quick."""
    path = tmp_path / "mcp.json"
    with path.open("wb") as file:
        file.truncate(33_000_000)
    with pytest.raises(InvalidConfig, match="the file has 33,000,000 bytes: at most 32,000,000"):
        HostServers.read(HostSource(HOSTS["cursor"], path, ("mcpServers",)))


def test_a_toml_file_that_would_be_read_slowly_is_refused(tmp_path):
    """TRUST.md, "Linear in the text": the standard library reads a key of many names in quadratic time."""
    for deep in ("a." * 100 + "b = 1", "[" + '"a" . ' * 100 + "b]", "a." * 500_000):
        with pytest.raises(
            InvalidConfig, match=r"a key of over 100 names|the file has 1,000,002 bytes: at most 1,000,0"
        ):
            read(tmp_path, f"\n{deep}\n", "codex")
    assert read(tmp_path, "a." * 99 + "b = '" + "c." * 50 + "'\n", "codex").servers is None


def test_an_empty_file_has_no_servers(tmp_path):
    """Ours: some hosts make one."""
    assert read(tmp_path, " \n").servers is None
    assert read(tmp_path, "", "codex").servers is None
    assert tomllib.loads("") == {}
