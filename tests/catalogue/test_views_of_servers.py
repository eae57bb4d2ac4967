"""The views that ship for public servers, held against what these have answered; and the table of them in the docs.

Servers of other people's data are not recorded: `answers` has what they would say, in the form that their `source` has.

After a change to the views the table is made anew by::

    PYTHONPATH=tests uv run python tests/catalogue/test_views_of_servers.py
"""

import json
import re
import tomllib
from pathlib import Path

from jsonschema import Draft202012Validator

from core.corpus import recordings
from louver.catalogue.entry import Entry
from louver.catalogue.files.views import COMPACT, ViewFile, ready_folders, ready_views
from louver.core.json import compact
from louver.core.projection.plan import compile_projection
from louver.core.projection.request import Projection
from louver.core.projection.view import View, Views
from louver.shipped import folder
from louver.wire.output import find_output

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "views.md"
FILES = sorted((ROOT / "views").glob("*/*.views.json"))
VIEWS = [(path, view) for path in FILES for view in ViewFile.read(path).views.named]
SCHEMA = json.loads((ROOT / "schemas" / "view-file.schema.json").read_text("utf-8"))

_TABLE = re.compile(r"(?<=<!-- ready views -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)


def answers(server):
    """As `recordings`; `formerly` has the names that a server gave before, `errors` those that it does not mark."""
    path = Path(__file__).parent / "answers" / f"{server}.json"
    return json.loads(path.read_text("utf-8")) if path.exists() else recordings(server)


def answered(path):
    """What the tool of a file has answered: the text of the answer, and the value in it."""
    recording = answers(path.parent.name)
    tool = ViewFile.read(path).tool
    (listed,) = [each for each in recording["tools"] if each["name"] == tool]
    (result,) = [call["response"] for call in recording["calls"] if call["tool"] == tool]
    output = find_output(result, Entry(listed, Views()).text_wrapper_in(result.get("structuredContent")))
    (block,) = result["content"]
    return listed, block["text"], output.value


def kept(views, view, value):
    return compile_projection(Projection(view=view), views=views)(value)


def test_each_server_is_known_by_the_name_that_it_gives():
    """Ours: exactly the one over `initialize`, and those of its earlier versions."""
    known = {}
    for name in {path.parent.name for path in FILES}:
        server = answers(name)
        for said in (server["initialize"]["serverInfo"]["name"], *server.get("formerly", ())):
            known[said] = name
            assert ready_views(said).tools() == sorted(
                ViewFile.read(path).tool for path in FILES if path.parent.name == name
            )
    assert known == ready_folders()
    assert ready_views("Memory-Server") is None
    assert ready_views(None) is None


def test_a_file_satisfies_its_schema_and_fits_the_tool(subtests):
    """Ours."""
    for path in FILES:
        with subtests.test(path.name):
            content = json.loads(path.read_text("utf-8"))
            Draft202012Validator(SCHEMA).validate(content)
            assert content["$schema"] == SCHEMA["$id"]
            assert path.name == f"{content['tool']}.views.json"
            listed, _, _ = answered(path)
            if "outputSchema" in listed:
                ViewFile.read(path).check(listed["outputSchema"])


def test_every_path_of_a_view_matches_something_that_was_answered(subtests):
    """Ours: also in JSON text, and in that in `content`, of which no schema tells anything."""
    for path, view in VIEWS:
        _, _, value = answered(path)
        of = ViewFile.read(path).views.named[view]
        for each in (*of.include, *of.exclude):
            with subtests.test(f"{path.name}, {view}: {each}"):
                without = compile_projection(Projection(view="v"), views=Views({"v": View(exclude=(each,))}))
                assert without(value) != value


def test_a_view_saves_a_quarter_at_least(subtests):
    """Ours: of the text that a model reads; else it is not worth its name."""
    for path, view in VIEWS:
        with subtests.test(f"{path.name}, {view}"):
            _, text, value = answered(path)
            left = compact(kept(ViewFile.read(path).views, view, value))
            assert left not in ("{}", "[]")
            assert len(left) < 0.75 * len(text)


def test_an_error_in_place_of_an_answer_is_told(subtests):
    """Ours: some servers mark no error with `isError`, so that views are applied to it."""
    for path, view in VIEWS:
        for error in answers(path.parent.name).get("errors", ()):
            with subtests.test(f"{path.name}, {view}"):
                left = kept(ViewFile.read(path).views, view, error)
                assert {"error", "message"} & left.keys()
                assert left.items() <= error.items()


def test_the_tree_without_types_tells_directories_by_their_children():
    """Ours: `compact` leaves out what follows from the rest."""
    path = ROOT / "views" / "server-filesystem" / "directory_tree.views.json"
    _, _, value = answered(path)

    def typed(entries):
        return [
            {"name": each["name"], "type": "directory", "children": typed(each["children"])}
            if "children" in each
            else {"name": each["name"], "type": "file"}
            for each in entries
        ]

    assert typed(kept(ViewFile.read(path).views, COMPACT, value)) == value


def test_reading_a_graph_by_default_loses_nothing():
    """Ours: a memory of which a part is not told is no memory."""
    for tool in ("read_graph", "search_nodes", "open_nodes"):
        path = ROOT / "views" / "server-memory" / f"{tool}.views.json"
        _, _, value = answered(path)
        assert kept(ViewFile.read(path).views, COMPACT, value) == value


def test_they_ship_in_the_wheel():
    """Ours: `views` goes in whole; the CI builds a wheel, and looks."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert wheel["views"] == "louver/_data/views"
    for name in ready_folders().values():
        assert any((folder("views") / name).glob("*.views.json"))


def test_the_table_says_what_was_measured():
    """Ours: else run what the head of this file says."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == made(page)


def made(page):
    """The page with its table as the views have it."""
    return _TABLE.sub(lambda _: table(), page)


def table():
    lines = ["| `serverInfo.name` | tool | characters saved |", "|---|---|---|"]
    folder = None
    for path in FILES:
        file, (_, text, value) = ViewFile.read(path), answered(path)
        saved = (
            f"`{view}` {1 - len(compact(kept(file.views, view, value))) / len(text):.0%}" for view in file.views.named
        )
        names = (said for said, name in ready_folders().items() if name == path.parent.name)
        links = ", ".join(f"[`{said}`](../../views/{path.parent.name})" for said in names)
        server = "" if path.parent.name == folder else links
        folder = path.parent.name
        lines.append(f"| {server} | `{file.tool}` | {', '.join(saved)} |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(made(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
