"""`louver suggest`, before real servers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from fixtures.command import louver
from fixtures.failsafe import FAILSAFE_S
from fixtures.forking import PYTHON
from fixtures.samples import CANARY
from louver.catalogue.files.output_schemas import SchemaFile, SchemaFiles
from louver.catalogue.files.views import ViewFile, ViewFolder
from louver.cli import terminal
from louver.shipped import folder

FIXTURE = Path(__file__).parents[2] / "fixtures" / "samples.py"
SERVER = [PYTHON, str(FIXTURE)]
EXAMPLE = [PYTHON, "-m", "louver", "serve", "--example"]
COMPANY = [PYTHON, "-m", "tests.fixtures.company"]


def suggest(*arguments, server=SERVER):
    """What the command returns, prints and tells."""
    return louver("suggest", *arguments, *([] if "--config" in arguments else ["--", *server]))


def call(tool, **arguments):
    return ["--call", tool, json.dumps(arguments)]


def views_in(out):
    """The file that stands below the charts."""
    return json.loads(out[out.index("\n{") :])


def test_it_shows_what_weighs_and_what_a_view_saves():
    """GATEWAY.md: the shape, as a chart; the file is a start for an author."""
    status, out, err = suggest(*call("list"))
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("list, 1 answer, ")
    body, kind = (next(line for line in lines if f"│ items.{name}" in line) for name in ("body", "kind"))
    assert body.count("█") == 24
    assert "long text" in body
    assert 1 <= kind.count("█") < 6
    assert "constant" in kind
    assert "always null" in next(line for line in lines if "│ items.owner" in line)
    assert "A view of 2 of 5 fields" in out
    assert views_in(out) == {
        "$schema": "https://louver.dev/schemas/view-file.schema.json",
        "tool": "list",
        "default": "compact",
        "views": {"compact": {"include": ["items.id", "total"]}},
    }


def test_a_chart_fits_a_narrow_terminal(monkeypatch):
    """Ours: the bars are shorter, and no path is folded."""
    monkeypatch.setattr(terminal, "console", lambda: Console(width=80))
    done = suggest(*call("get_issue", number=1), server=EXAMPLE)
    chart = done.stdout[: done.stdout.index("A view of")].splitlines()
    assert max(map(len, chart)) <= 80
    assert sum(" always null " in line for line in chart) == 1
    assert any(line.startswith("│ reactions.rocket ") for line in chart)


def test_several_calls_of_a_tool_are_merged_and_several_tools_are_told():
    """Ours: what is constant in one answer may differ in the next; the same answer twice tells nothing new."""
    status, out, _ = suggest(
        *call("list"), *call("list"), *call("list", kind="wish", total=4), *call("as-text"), "--json"
    )
    one, other = json.loads(out)
    assert status == 0
    assert (one["tool"], one["samples"], one["server"]) == ("list", 2, "upstream")
    assert one["file"]["views"]["compact"]["include"] == ["items.id", "items.kind", "total"]
    assert (other["tool"], other["samples"]) == ("as-text", 1)
    assert 0 < one["kept_bytes"] < one["full_bytes"]
    fields = {field["path"]: field for field in one["fields"]}
    assert fields["items.owner"]["left_out"] == "always null"
    assert (fields["items.id"]["types"], fields["items.id"]["seen"]) == (["integer"], 6)
    for field in one["fields"]:
        assert field["share"] == round(field["bytes"] / one["full_bytes"], 3)


@pytest.mark.parametrize("tool", ["as-text", "in-a-string"])
def test_json_in_text_is_weighed_like_any_other(tool):
    """GATEWAY.md: most servers declare nothing, and answer with JSON as text."""
    status, out, _ = suggest(*call(tool), *call(tool, kind="wish"), "--json")
    (row,) = json.loads(out)
    include = row["file"]["views"]["compact"]["include"]
    assert status == 0
    assert [path.removeprefix("items.") for path in include] == (["id", "kind"])


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_no_value_of_an_answer_is_printed_or_written(tmp_path, options):
    """PRIVACY.md: names and sizes; also of answers that cannot be weighed."""
    tools = ["list", "as-text", "in-a-string", "prose", "fails", "refuses"]
    calls = [part for tool in tools for part in call(tool)]
    status, out, err = suggest(*calls, *options, "--out", str(tmp_path))
    assert status == 1
    written = [file.read_text() for file in tmp_path.iterdir()]
    assert len(written) == 6
    assert CANARY not in "".join([out, err, *written])
    assert "items.body" in out


def test_files_are_written_and_none_is_overwritten(tmp_path):
    """Ours: what is written can be read as it is."""
    out = tmp_path / "new" / "views"
    status, printed, err = suggest(*call("list"), "--out", str(out))
    file = ViewFile.read(out / "list.views.json")
    assert status == 0
    assert f"{out / 'list.views.json'} is written" in err
    assert '"views"' not in printed
    Draft202012Validator(json.loads((folder("schemas") / "view-file.schema.json").read_text())).validate(
        json.loads(file.text)
    )
    status, printed, err = suggest(*call("list"), "--out", str(out))
    assert (status, printed) == (2, "")
    assert "list.views.json already exists, and is not overwritten" in err
    assert ViewFile.read(out / "list.views.json").text == file.text


def test_a_tool_s_name_leads_nowhere_else(tmp_path):
    """Ours: it is the server's, and may hold slashes."""
    out = tmp_path / "a" / "b" / "views"
    assert suggest(*call("../../escape"), "--out", str(out))[0] == 0
    assert {file for file in tmp_path.rglob("*") if file.is_file()} == {
        out / ".._.._escape.views.json",
        out / "..%2F..%2Fescape.output.schema.json",
    }
    assert ViewFolder(out).find("../../escape") is not None
    assert SchemaFiles({"": out}).find("../../escape") is not None


def test_two_tools_whose_file_would_be_one_are_refused_before_anything_is_called(tmp_path):
    """Ours: with `--out`; without, each is printed under its name."""
    calls = [*call("a b"), *call("a_b")]
    status, printed, err = suggest(*calls, "--out", str(tmp_path))
    assert (status, printed, [*tmp_path.iterdir()]) == (2, "", [])
    assert f"'a_b' and 'a b' would both be written to {tmp_path / 'a_b.views.json'}: suggest them one after" in err
    assert suggest(*calls)[0] == 0
    assert suggest(*call("a b"), *call("a b", kind="wish"), "--out", str(tmp_path))[0] == 0


def test_of_a_tool_that_declares_nothing_a_schema_is_written_too(tmp_path):
    """GATEWAY.md: `louver suggest` writes a schema file that makes it declared; types are merged over what was seen."""
    calls = [*call("as-text"), *call("as-text", total=1.5, kind="wish"), *call("in-a-string")]
    status, _, err = suggest(*calls, "--out", str(tmp_path))
    assert status == 0
    assert "as-text.output.schema.json is written: what 2 answers have shown" in err
    said = SchemaFile.read(tmp_path / "as-text.output.schema.json").schema
    item = {"body": {"type": "string"}, "id": {"type": "integer"}, "kind": {"type": "string"}, "owner": {}}
    items = {"type": "array", "items": {"type": "object", "required": [*item], "properties": item}}
    assert said == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["items", "total"],
        "properties": {"items": items, "total": {"type": "number"}},
    }
    wrapped = SchemaFile.read(tmp_path / "in-a-string.output.schema.json").schema
    assert (wrapped["required"], wrapped["properties"]) == (["result"], {"result": items})
    for tool in ("as-text", "in-a-string"):
        schema = SchemaFile.read(tmp_path / f"{tool}.output.schema.json").schema
        ViewFile.read(tmp_path / f"{tool}.views.json").check(schema)


def test_no_schema_is_written_that_would_not_hold(tmp_path):
    """Ours: of a tool that declares one, or that has answered with what is no JSON."""
    assert suggest(*call("list_issues", limit=2), "--out", str(tmp_path / "declares"), server=EXAMPLE)[0] == 0
    assert suggest(*call("prose"), *call("prose", json=True), "--out", str(tmp_path / "prose"))[0] == 1
    assert {file.name for file in tmp_path.rglob("*.json")} == {"list_issues.views.json", "prose.views.json"}


def test_with_json_the_schema_is_there():
    """Ours: for a program, `null` where the server declares one."""
    (row,) = json.loads(suggest(*call("as-text"), "--json")[1])
    assert row["schema"]["required"] == ["items", "total"]
    (row,) = json.loads(suggest(*call("list_issues", limit=2), "--json", server=EXAMPLE)[1])
    assert row["schema"] is None


def test_a_schema_that_is_there_stays(tmp_path):
    """Ours, as with views."""
    (tmp_path / "list.output.schema.json").write_text("mine")
    status, out, err = suggest(*call("list"), "--out", str(tmp_path))
    assert (status, out, len([*tmp_path.iterdir()])) == (2, "", 1)
    assert "list.output.schema.json already exists, and is not overwritten" in err


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    """Ours."""
    (tmp_path / "file").write_text("")
    status, _, err = suggest(*call("list"), "--out", str(tmp_path / "file"))
    assert status == 2
    assert "cannot be written" in err


def test_names_are_shown_without_what_a_terminal_obeys():
    """Ours: names are the server's too."""
    status, out, _ = suggest(*call("odd\x1bname"))
    chart = out[: out.index("\n{")]
    assert status == 0
    assert "\x1b" not in chart
    assert r"a\x1b[31m" in chart


@pytest.mark.parametrize("tool", ["writes", "silent"])
def test_a_tool_that_does_not_say_that_it_only_reads_is_called_just_on_request(tool):
    """GATEWAY.md: refused unless allowed."""
    status, out, err = suggest(*call("list"), *call(tool))
    assert (status, out) == (2, "")
    assert f"tool '{tool}' does not say that it only reads" in err
    assert "--run-anyway" in err
    assert suggest(*call(tool), "--run-anyway")[0] == 0


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([*call("lst")], "there is no tool 'lst': did you mean 'list'?"),
        ([*call("zzz")], "there is no tool 'zzz': there are 'list', 'as-text'"),
        (["--call", "list", "{"], "not JSON: Expecting property name enclosed in double quotes at offset 1; "),
        (["--call", "list", "[]"], "a tool's arguments are one JSON object"),
        (["--call", "list", '{"a": 1, "a": 2}'], "a key stands twice"),
    ],
)
def test_a_wrong_request_is_refused_before_anything_is_called(calls, said):
    """Ours: status 2, what is wrong and what would be right."""
    status, out, err = suggest(*call("list"), *calls)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("prose", "call 2, of 'prose': the answer is no JSON object or array, so it has no fields"),
        ("fails", "call 2, of 'fails': the tool answers with an error, which 'louver call' shows"),
        ("refuses", "call 2, of 'refuses': the server answers with error -32002"),
        ("asks", "call 2, of 'asks': "),
        ("asks first", "call 2, of 'asks first': the tool asks its client something first"),
        ("numbers", "what 'numbers' answers has no fields"),
    ],
)
def test_an_answer_that_cannot_be_weighed_is_told_and_the_others_are_shown(tool, said):
    """Ours: status 1, something was not as it should be."""
    status, out, err = suggest(*call("list"), *call(tool))
    assert status == 1
    assert said in err
    assert views_in(out)["tool"] == "list"


def test_where_nothing_can_be_left_out_there_is_no_view():
    """Ours: that is no error."""
    status, out, _ = suggest(*call("export_stats"), server=EXAMPLE)
    assert status == 0
    assert "There is no view to suggest" in out
    assert "{" not in out


def test_of_many_fields_the_heaviest_are_shown():
    """Ours."""
    status, out, _ = suggest(*call("get_user_profile", user_id=7), server=COMPANY)
    assert status == 0
    assert "The heaviest 40 of 55 fields; all with --json." in out


def test_tools_of_several_servers_have_their_server_s_name(tmp_path):
    """GATEWAY.md: `server__tool`; with `--server` the others are not even opened."""
    path = tmp_path / "mcp.json"
    server = {"command": SERVER[0], "args": SERVER[1:]}
    gone = {"command": "no-such-command-anywhere"}
    path.write_text(json.dumps({"mcpServers": {"one": server, "two": gone}}))
    status, out, _ = suggest(*call("one__list"), "--json", "--config", str(path))
    assert status == 0
    assert [(row["server"], row["tool"]) for row in json.loads(out)] == [("one", "list")]
    status, out, err = suggest(*call("list"), "--config", str(path), "--server", "one", "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)[0]["server"] == "one"
    status, _, err = suggest(*call("two__list"), "--config", str(path))
    assert status == 1
    assert "server 'two' is not there" in err
    status, _, err = suggest(*call("list"), "--config", str(path), "--server", "three")
    assert status == 2
    assert "there is no server 'three' in the configuration: there are 'one', 'two'" in err


def test_a_call_must_be_given():
    """Ours."""
    done = suggest()
    assert done.returncode == 2
    assert "--call" in done.stderr


def test_the_files_are_there_whoever_stops_reading(tmp_path):
    """Ours: as `louver suggest ... | head -1`."""
    command = [sys.executable, "-m", "louver", "suggest", *call("list"), "--out", str(tmp_path), "--", *SERVER]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdout.close()
        process.wait(FAILSAFE_S)
    assert ViewFolder(tmp_path).find("list") is not None
