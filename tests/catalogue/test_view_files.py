"""Files of views: what is read, what is told by file and line, what a change does."""

import json
import os
from errno import EACCES

import pytest

from louver.catalogue.files.views import ViewFile, ViewFolder
from louver.core.projection.view import Views
from louver.errors import InvalidView

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}

GOOD = """{
  "$schema": "https://louver.dev/schemas/view-file.schema.json",
  "tool": "t",
  "always": ["id"],
  "views": {
    "minimal": {"include": ["name"]},
    "public": {"exclude": ["**.city"]},
    "contact": {"extends": "minimal", "include": ["address.city"]},
    "brief": ["name"],
    "compact": {"select": {"town": "city"}, "at": "address", "maxString": 9}
  }
}"""


def fresh(folder, tool):
    """The views of a tool after changed files were read again."""
    folder.refresh()
    return folder.find(tool)


def write(folder, content, name="t", stamp=1):
    """A file with an explicit time, so that a change is one without waiting."""
    path = folder / f"{name}.views.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, ns=(stamp, stamp))
    return path


def of(tool, *fields):
    return json.dumps({"tool": tool, "views": {"minimal": list(fields)}})


def test_a_file_says_the_views_of_one_tool(tmp_path):
    """#1704, `recommendedViews`; exclude, `extends` and `always` are ours."""
    file = ViewFile.read(write(tmp_path, GOOD))
    assert file.tool == "t"
    expected = {
        "minimal": ["name"],
        "public": {"exclude": ["**.city"]},
        "contact": ["name", "address.city"],
        "brief": ["name"],
        "compact": {"select": {"town": "city"}, "at": "address", "maxString": 9},
    }
    assert file.views == Views.read(expected, ["id"])
    file.check(SCHEMA)


WRONG = {
    "not JSON": ('{"tool": "t",\n "views": {}', 2, "not JSON"),
    "nothing": ("", 1, "not JSON"),
    "a byte order mark": (b'\xef\xbb\xbf{"tool": "t", "views": {}}', 1, "not JSON"),
    "a comment": ('{\n// views\n"tool": "t"}', 2, "not JSON"),
    "NaN": ('{"tool": "t", "views": {"a": NaN}}', 1, "not JSON"),
    "an abyss": ("[" * 100_000, 1, "not JSON"),
    "a number of many digits": (f'{{"tool": {"9" * 5000}}}', 1, "not JSON"),
    "a list": ("[]", 1, "a file of views is an object"),
    "no tool": ('{"views": {}}', 1, "the tool's name"),
    "a tool that is no text": ('{\n"tool": 1, "views": {}}', 2, "the tool's name"),
    "a tool without a name": ('{\n"tool": "", "views": {}}', 2, "the tool's name"),
    "no views": ('{"tool": "t"}', 1, "an object of views"),
    "views that are a list": ('{"tool": "t",\n"views": []}', 2, "an object of views"),
    "an unknown key": (
        '{"tool": "t",\n\n"view": {}}',
        3,
        "unknown key 'view': expected one of '$schema', 'tool', 'always', 'default', 'views'; did you mean 'views'?",
    ),
    "a doubled key": ('{"tool": "t",\n"views": {},\n"views": {}}', 3, "stands twice"),
    "a doubled view": ('{"tool": "t",\n"views": {"a": ["a"],\n"b": ["a"],\n"a": ["b"]}}', 4, "stands twice"),
    "a doubled part": (
        '{"tool": "t", "views": {\n"a": {"include": ["id"]},\n"b": {"include": ["id"],\n"include": ["x"]}}}',
        4,
        "stands twice",
    ),
    "always that is no list": ('{"tool": "t",\n"always": "id", "views": {}}', 2, "list of field paths"),
    "a wrong path in always": ('{"tool": "t", "views": {},\n"always": ["id",\n"a.."]}', 3, "'a..'"),
    "a view that is a text": ('{"tool": "t", "views": {\n"a": "id"}}', 2, "view 'a'"),
    "an empty view": ('{"tool": "t", "views": {\n"a": {}}}', 2, "view 'a'"),
    "an unknown part": ('{"tool": "t", "views": {\n"a": {"only": ["id"]}}}', 2, "not 'only'"),
    "a view of nothing": ('{"tool": "t", "views": {\n"a": {"include": []}}}', 2, "at least one field path"),
    "a path that is no text": ('{"tool": "t", "views": {\n"a": [1]}}', 2, "each a string"),
    "a wrong path": ('{"tool": "t", "views": {\n"a": ["id",\n"na*"]}}', 3, "'na*'"),
    "** in an include": ('{"tool": "t", "views": {"a": {"include": [\n"**.x"]}}}', 2, "'**.x'"),
    "a wrong path after a view of its name": (
        '{"tool": "t", "views": {\n"a..": ["id"],\n"b": ["a.."]}}',
        3,
        "view 'b': field path 'a..'",
    ),
    "a view called as the tool": ('{"tool": "a",\n"views": {\n"a": ["id."]}}', 3, "'id.'"),
    "an unknown parent": (
        '{"tool": "t", "views": {"a": {"include": ["id"],\n"extends": "b"}}}',
        2,
        "extends 'b', which is not",
    ),
    "a cycle": ('{"tool": "t", "views": {\n"a": {"extends": "b"},\n"b": {"extends": "a"}}}', 2, "extends itself"),
    "a shaping of no members": (
        '{"tool": "t", "views": {\n"a": {\n"select": {}}}}',
        3,
        "view 'a': 'select' has at least",
    ),
    "a selected member without a path": (
        '{"tool": "t", "views": {"id": ["id"],\n"a": {"select": {\n"x": "id",\n"id": {"format": "date"}}}}}',
        4,
        "the selected member 'id' comes from a field path",
    ),
    "a wrong path of a selected member": (
        '{"tool": "t", "views": {\n"a": {"include": ["id"], "select": {"id": {\n"path": "a.."}}}}}',
        3,
        "view 'a': field path 'a..'",
    ),
    "an unknown format": (
        '{"tool": "t", "views": {"a": {"select": {"id": {"path": "id",\n"format": "hour"}}}}}',
        2,
        "'format' is one of 'minute', 'date', 'localpart'",
    ),
    "a place without members": ('{"tool": "t", "views": {"a": {"include": ["id"],\n"at": "id"}}}', 2, "no 'select'"),
    "a bound of nothing": (
        '{"tool": "t", "views": {\n"a": ["id"], "b": {"maxString": 9,\n"maxItems": 0}}}',
        3,
        "'maxItems'",
    ),
    "nulls that are dropped somewhat": ('{"tool": "t", "views": {"a": {\n"dropNulls": 1}}}', 2, "'dropNulls' is true"),
    "itself": ('{"tool": "t", "views": {\n"a": {"extends": "a"}}}', 2, "extends itself: a -> a"),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_told_by_file_and_line(tmp_path, content, line, message):
    """Ours."""
    path = write(tmp_path, content)
    with pytest.raises(InvalidView) as raised:
        ViewFile.read(path)
    error = raised.value
    assert message in error.message
    assert error.message.startswith(f"{path}:{line}: ")
    assert error.fields == {"file": str(path), "line": line}


def test_a_file_that_is_not_utf_8_is_told(tmp_path):
    """Ours: it has no lines."""
    path = write(tmp_path, b'{"tool": "\xff"}')
    with pytest.raises(InvalidView, match=f"{path}: the file of views cannot be read: it is not UTF-8"):
        ViewFile.read(path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    """Ours: in the words of the system."""
    with pytest.raises(InvalidView, match="cannot be read: No such file"):
        ViewFile.read(tmp_path / "t.views.json")


@pytest.mark.parametrize(
    ("views", "line", "message"),
    [
        ('"a": ["id",\n"nmae"]', 3, "view 'a' names 'nmae', which the output cannot have; did you mean 'name'"),
        ('"a": ["id",\n"/nmae"]', 3, "view 'a' names '/nmae'"),
        ('"a": ["id",\n"$.address[\'town\']"]', 3, "view 'a' names '/address/town'"),
        ('"nmae": ["id"],\n"b": {"exclude": ["**.nmae"]}', 3, r"view 'b' names '\*\*.nmae'"),
        ('"nmae": ["id"],\n"b": ["id"],\n"c": ["nmae"]', 4, "view 'c' names 'nmae'"),
        ('"a..": ["id"],\n"b": {"extends": "a..", "include": [\n"nope"]}', 4, "view 'b' names 'nope'"),
        ('"b": {"extends": "a"},\n"a": ["name.first"]', 3, "view 'b' names 'name.first'"),
        (
            '"a": {"select": {"id": "id",\n"town": "address.citi"}}',
            3,
            "view 'a' selects 'address.citi', which is not among what it keeps; did you mean 'address.city'",
        ),
        ('"a": {"include": ["name"],\n"select": {\n"id": {"path":\n"id"}}}', 5, "view 'a' selects 'id', which is not"),
        (
            '"a": {"select": {"city": "city"},\n"at": "adress"}',
            3,
            "view 'a' selects 'adress', which is not .*'address'",
        ),
        (
            '"b": {"extends": "a", "exclude": ["address.city"]},\n"a": {"at": "address",\n"select": {"a": "city"}}',
            4,
            r"view 'b' selects 'address\.city', which is not",
        ),
    ],
)
def test_a_view_that_does_not_fit_its_tool_is_told_by_file_and_line(tmp_path, views, line, message):
    """Ours: however the path is written, and in whichever view it stands."""
    path = write(tmp_path, '{"tool": "nmae", "views": {\n' + views + "}}")
    with pytest.raises(InvalidView, match=rf"^{path}:{line}: tool 'nmae': {message}"):
        ViewFile.read(path).check(SCHEMA)


@pytest.mark.parametrize("kind", ["include", "exclude"])
def test_a_shaped_view_whose_paths_are_too_much_is_told(tmp_path, kind):
    """Ours: what its tool lists could not be made."""
    paths = ["*." * n + "a" + ".*" * (12 - n) + ".b" for n in range(13)]
    view = json.dumps({kind: paths, "maxItems": 3})
    path = write(tmp_path, '{"tool": "t", "views": {\n"a": ' + view + "}}")
    with pytest.raises(InvalidView, match=rf"^{path}:2: tool 't': view 'a' is not possible: the field paths together"):
        ViewFile.read(path).check({"type": "object", "additionalProperties": True})


def test_always_is_held_against_the_tool_too(tmp_path):
    """Ours."""
    path = write(tmp_path, '{"tool": "t", "views": {"x": ["id"]},\n"always": ["cursor"]}')
    with pytest.raises(InvalidView, match=rf"^{path}:2: tool 't': 'always' names 'cursor'"):
        ViewFile.read(path).check(SCHEMA)


def test_a_folder_has_the_files_of_its_tools(tmp_path):
    """Ours: other files are not read."""
    write(tmp_path, of("a", "id"), "a")
    write(tmp_path, of("b", "name"), "anything")
    (tmp_path / "notes.json").write_text("{")
    folder = ViewFolder(tmp_path)
    assert folder.tools() == ["a", "b"]
    assert folder.find("b").views == Views.read({"minimal": ["name"]})
    assert folder.find("c") is None


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """Ours: a typing error must not look like a folder without views."""
    with pytest.raises(InvalidView, match="nowhere: the folder of views is not there"):
        ViewFolder(tmp_path / "nowhere")


def test_an_empty_folder_has_no_views(tmp_path):
    """Ours."""
    assert ViewFolder(tmp_path).tools() == []


def test_two_files_of_one_tool_are_an_error(tmp_path):
    """Ours: neither can be preferred."""
    write(tmp_path, of("t", "id"), "a")
    path = write(tmp_path, of("t", "name"), "b")
    with pytest.raises(InvalidView, match=f"{path}: the views of tool 't' stand in 'a.views.json' already"):
        ViewFolder(tmp_path)


def test_a_wrong_file_at_the_start_is_an_error(tmp_path):
    """Ours."""
    path = write(tmp_path, "{")
    with pytest.raises(InvalidView, match=f"{path}:1: not JSON"):
        ViewFolder(tmp_path)


def test_a_file_that_has_not_changed_is_not_read_again(tmp_path):
    """Ours: the same object, so that the plans made with it stay."""
    write(tmp_path, of("t", "id"))
    folder = ViewFolder(tmp_path)
    assert folder.find("t") is folder.find("t")


@pytest.mark.parametrize("stamp", [2, 0], ids=["later", "earlier"])
def test_a_changed_file_is_read_again(tmp_path, stamp):
    """Ours: a file that comes from an archive is older than the one before."""
    write(tmp_path, of("t", "id"))
    folder = ViewFolder(tmp_path)
    write(tmp_path, of("t", "name"), stamp=stamp)
    assert fresh(folder, "t").views == Views.read({"minimal": ["name"]})


def test_a_file_can_come_and_go(tmp_path):
    """Ours."""
    folder = ViewFolder(tmp_path)
    path = write(tmp_path, of("t", "id"))
    assert fresh(folder, "t") is not None
    path.unlink()
    assert fresh(folder, "t") is None


@pytest.mark.parametrize("bad", ["{", of("t", "a.."), of("other", "id")], ids=["not JSON", "a wrong path", "a twin"])
def test_a_bad_change_keeps_the_last_good_views_and_is_logged_once(tmp_path, bad, caplog):
    """Ours: for all files, until the folder changes again."""
    write(tmp_path, of("t", "id"))
    write(tmp_path, of("other", "id"), "other")
    folder = ViewFolder(tmp_path)
    good = fresh(folder, "t")
    path = write(tmp_path, bad, stamp=2)
    assert fresh(folder, "t") is good
    assert fresh(folder, "t") is good
    assert fresh(folder, "other") is not None
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.name == "louver.catalogue.files.views"
    assert "views stay as they were: " in record.getMessage()
    assert str(path.parent) in record.getMessage()
    write(tmp_path, of("t", "name"), stamp=3)
    assert fresh(folder, "t").views == Views.read({"minimal": ["name"]})


def test_a_link_that_leads_nowhere_is_not_a_file(tmp_path):
    """Ours: some editors lay one beside a file while it is open."""
    write(tmp_path, of("t", "id"))
    folder = ViewFolder(tmp_path)
    (tmp_path / ".#t.views.json").symlink_to("somebody@somewhere.1234")
    assert fresh(folder, "t") is not None
    assert ViewFolder(tmp_path).tools() == ["t"]


def test_a_folder_that_is_closed_keeps_the_last_good_views(tmp_path, caplog, monkeypatch):
    """Ours: nor must one that the gateway may not look into any more."""
    write(tmp_path, GOOD)
    folder = ViewFolder(tmp_path)
    before = folder.find("t")

    def listed(_):
        raise PermissionError(EACCES, "Permission denied")

    monkeypatch.setattr(os, "scandir", listed)
    assert fresh(folder, "t") is before
    assert caplog.messages == [f"views stay as they were: {tmp_path}: the folder of views cannot be read"]


def test_a_folder_that_goes_away_keeps_the_last_good_views_and_is_logged_once(tmp_path, caplog):
    """Ours: one that is not mounted for a while must not look like one without files."""
    place = tmp_path / "views"
    place.mkdir()
    write(place, GOOD)
    folder = ViewFolder(place)
    before = folder.find("t")
    place.rename(tmp_path / "elsewhere")
    assert fresh(folder, "t") is before
    assert fresh(folder, "t") is before
    (record,) = caplog.records
    assert record.getMessage() == f"views stay as they were: {place}: the folder of views is not there"
