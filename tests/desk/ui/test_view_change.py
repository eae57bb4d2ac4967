"""A view from the page becomes a file, and nothing else does."""

import json

import pytest

from louver.core.projection.request import Projection
from louver.desk.ui.view_change import MAX_VIEW_NAME, view_change
from louver.errors import InvalidConfig, InvalidInput, InvalidView

IDS = Projection(include=["id"])


def test_a_view_is_added_to_the_file_of_its_tool_whatever_its_name(tmp_path):
    """Ours: all else in the file stays."""
    file = tmp_path / "mine.views.json"
    file.write_text('{"tool": "t", "always": ["k"], "views": {"old": ["id", "name"]}}')
    change = view_change(tmp_path, "t", "brief", Projection(exclude=["**.mail"]))
    assert '+    "brief": {' in change.lines
    change.save()
    assert json.loads(file.read_text()) == {
        "tool": "t",
        "always": ["k"],
        "views": {"old": ["id", "name"], "brief": {"exclude": ["**.mail"]}},
    }
    assert [each.name for each in tmp_path.iterdir()] == ["mine.views.json"]


def test_a_new_file_is_not_written_over_one_of_another_tool(tmp_path):
    """Ours: two names of tools can give the same name of a file."""
    view_change(tmp_path, "a/b", "v", IDS).save()
    before = (tmp_path / "a_b.views.json").read_text()
    with pytest.raises(InvalidInput, match="cannot be written: File exists"):
        view_change(tmp_path, "a_b", "v", IDS).save()
    assert (tmp_path / "a_b.views.json").read_text() == before


def test_a_file_that_has_changed_meanwhile_stays(tmp_path):
    """Ours."""
    view_change(tmp_path, "t", "v", IDS).save()
    change = view_change(tmp_path, "t", "w", IDS)
    view_change(tmp_path, "t", "other", IDS).save()
    assert change.digest != view_change(tmp_path, "t", "w", IDS).digest
    with pytest.raises(InvalidConfig, match="has changed meanwhile"):
        change.save()
    assert set(json.loads((tmp_path / "t.views.json").read_text())["views"]) == {"v", "other"}


def test_the_lines_of_a_file_end_as_they_did(tmp_path):
    """Ours: a file of an editor of Windows, which was told to have changed meanwhile."""
    file = tmp_path / "t.views.json"
    file.write_bytes(b'{"tool": "t",\r\n"views": {}}\r\n')
    view_change(tmp_path, "t", "v", IDS).save()
    content = file.read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") > 2
    assert set(json.loads(content)["views"]) == {"v"}


@pytest.mark.parametrize("name", ["", "a\nb", "\u202eb", "x" * (MAX_VIEW_NAME + 1)])
def test_a_view_has_a_name_that_can_be_read(tmp_path, name):
    """Ours."""
    with pytest.raises(InvalidInput, match="'name': expected the view's name"):
        view_change(tmp_path, "t", name, IDS)


def test_a_file_that_is_not_valid_is_not_changed(tmp_path):
    """Ours."""
    (tmp_path / "t.views.json").write_text("{")
    with pytest.raises(InvalidView, match="not JSON"):
        view_change(tmp_path, "t", "v", IDS)
