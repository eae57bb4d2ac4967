"""Tools in two stages, and the files that add to what is said of them."""

import json
import os
from dataclasses import replace

import pytest

from louver.catalogue.files.descriptions import Described, DescriptionFile, DescriptionFiles
from louver.catalogue.redacted_text import redact_description
from louver.core.policy.revealed_names import Names
from louver.errors import InvalidDescription

TOOL = {
    "name": "t",
    "title": "T",
    "description": "Does it well. With care.",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer", "description": "A."}}, "required": ["a"]},
    "outputSchema": {"type": "object", "properties": {"b": {"type": "string"}}},
    "annotations": {"readOnlyHint": True},
    "_meta": {"com.example/x": 1},
}

FULL = {
    "$schema": "https://louver.dev/schemas/description-file.schema.json",
    "summary": "Does it, with care.",
    "description": "Does it with care, and says so.",
    "examples": [{"description": "One", "input": {"a": 1}}],
    "usage_guidance": {"a": "Any number."},
    "error_guidance": "Try another.",
    "searchTerms": ["ticket", "bug report"],
}

OPEN = {"type": "object", "properties": {}}


def write(folder, content, name="t", stamp=1):
    """A file with an explicit time, so that a change is one without waiting."""
    path = folder / f"{name}.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    os.utime(path, ns=(stamp, stamp))
    return path


def described(folder=None, tool=TOOL):
    """The tool, with the file that the folder has for it."""
    return Described(tool, None if folder is None else DescriptionFiles({"": folder}).find("t"))


def without(tool, *members):
    return {key: value for key, value in tool.items() if key not in members}


# The two stages.


def test_stage_1_is_name_title_summary_an_open_schema_and_what_is_no_text():
    """000 sections 3.1 and 11.1: no parameters; annotations and `_meta` stay, no output schema."""
    assert described().listed == {
        "name": "t",
        "title": "T",
        "description": "Does it well.",
        "inputSchema": OPEN,
        "annotations": {"readOnlyHint": True},
        "_meta": {"com.example/x": 1},
    }


def test_stage_2_has_the_complete_schemas():
    """000 sections 3.2 and 4.4; the output schema is ours."""
    assert described().full == {
        "name": "t",
        "description": "Does it well. With care.",
        "inputSchema": TOOL["inputSchema"],
        "outputSchema": TOOL["outputSchema"],
    }


def test_an_example_is_made_of_what_the_input_schema_gives(tmp_path):
    """000 section 4.4: a full description SHOULD have usage examples; the author's own go before."""
    given = {"state": {"enum": ["open", "all"]}, "page": {"default": 1}, "owner": {"examples": ["ann"]}}
    schema = {"type": "object", "properties": {**given, "q": {"type": "string"}}, "required": list(given)}
    made = described(tool={**TOOL, "inputSchema": schema})
    assert made.full["examples"] == [{"input": {"state": "open", "page": 1, "owner": "ann"}}]
    less = {**schema, "required": ["state", "q"]}
    assert "examples" not in described(tool={**TOOL, "inputSchema": less}).full
    write(tmp_path, json.dumps(FULL))
    assert described(tmp_path, {**TOOL, "inputSchema": schema}).full["examples"] == FULL["examples"]


def test_the_exact_output_schema_moves_from_the_hint_into_stage_2():
    """Ours: what is listed is relaxed for clients that validate; stage 1 lists no such schema."""
    exact = {"type": "object", "required": ["b"]}
    hint = {"supported": True, "outputSchema": exact}
    tool = {**TOOL, "_meta": {"com.example/x": 1, "dev.louver/projectionHint": hint}}
    assert described(tool=tool).full["outputSchema"] == exact
    assert described(tool=tool).listed["_meta"] == {
        "com.example/x": 1,
        "dev.louver/projectionHint": {"supported": True},
    }
    assert tool["_meta"]["dev.louver/projectionHint"] == hint


def test_a_tool_that_says_nothing_of_itself_says_its_name():
    """Ours."""
    bare = described(tool={"name": "get_it", "inputSchema": {"type": "object"}})
    assert bare.listed == {"name": "get_it", "description": "Get it.", "inputSchema": OPEN}
    assert bare.full == {"name": "get_it", "description": "Get it.", "inputSchema": {"type": "object"}}


def test_a_file_adds_to_both_stages(tmp_path):
    """000 sections 3.2 and 7.1: examples, guidance on errors; and a summary of one's own."""
    write(tmp_path, json.dumps(FULL))
    found = described(tmp_path)
    assert found.listed["description"] == "Does it, with care."
    assert found.full == {
        "name": "t",
        "inputSchema": TOOL["inputSchema"],
        "outputSchema": TOOL["outputSchema"],
        **without(FULL, "$schema", "summary", "searchTerms"),
    }


def test_a_description_in_a_file_is_summed_up_too(tmp_path):
    """Ours."""
    write(tmp_path, json.dumps({"description": "Does that instead. And more."}))
    assert described(tmp_path).listed["description"] == "Does that instead."
    assert described(tmp_path).full["description"] == "Does that instead. And more."


HEADERS = {
    "none": ({"a": {"type": "integer"}}, None),
    "one": (
        {"a": {"type": "string", "description": "A.", "x-mcp-header": "A"}, "b": {"type": "string"}},
        {"a": {"type": "string", "x-mcp-header": "A"}},
    ),
    "nested": (
        {"a": {"type": "object", "required": ["b"], "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}},
        {"a": {"type": "object", "properties": {"b": {"type": "integer", "x-mcp-header": "B"}}}},
    ),
    "two in one": (
        {"a": {"properties": {n: {"type": "string", "enum": ["x"], "x-mcp-header": n} for n in "bc"}}},
        {"a": {"properties": {n: {"type": "string", "x-mcp-header": n} for n in "bc"}}},
    ),
    "one that cannot be": ({"a": {"type": "array", "x-mcp-header": "A"}}, None),
}


@pytest.mark.parametrize(("properties", "kept"), HEADERS.values(), ids=HEADERS)
def test_stage_1_keeps_the_parameters_that_are_sent_as_headers(properties, kept):
    """2026-07-28: else a call over HTTP would be refused for its headers; types and no more."""
    tool = {"name": "t", "inputSchema": {"type": "object", "properties": properties, "required": ["a"]}}
    assert described(tool=tool).listed["inputSchema"] == (OPEN if kept is None else {**OPEN, "properties": kept})


# Versions and grants.


@pytest.mark.parametrize(
    "change",
    [
        {"description": "Does it well. With more care."},
        {"inputSchema": {"type": "object"}},
        {"outputSchema": {"type": "object"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_tool_that_is_described_otherwise_has_another_version(change):
    """000 section 7.2."""
    assert described().version == described(tool=dict(TOOL)).version
    assert described(tool={**TOOL, **change}).version != described().version


@pytest.mark.parametrize("member", [*without(FULL, "$schema", "summary", "searchTerms")])
def test_so_has_one_whose_file_says_more(tmp_path, member):
    """000 section 7.2; ours: who has read the description has read that too."""
    write(tmp_path, json.dumps({member: FULL[member]}))
    assert described(tmp_path).version != described().version


def test_what_is_only_listed_changes_no_version(tmp_path):
    """Ours: nobody must read anew what is the same to read."""
    write(tmp_path, json.dumps({"summary": "Does it, with care.", "searchTerms": ["ticket"]}))
    assert described(tmp_path).version == described().version
    assert described(tool={**TOOL, "title": "Other", "annotations": {}}).version == described().version


def test_a_grant_is_a_required_argument_that_can_only_be_copied():
    """Ours: a model that cannot set `_meta` copies it like any other argument."""
    schema = described().granting("v1.abc")["inputSchema"]
    assert list(schema["properties"]) == ["a", "grant"]
    assert schema["properties"]["grant"]["const"] == "v1.abc"
    assert schema["required"] == ["a", "grant"]
    assert without(described().granting("v1.abc"), "inputSchema") == without(described().full, "inputSchema")
    assert "grant" not in TOOL["inputSchema"]["properties"]


@pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "object", "anyOf": [{"required": ["x"]}]}])
@pytest.mark.parametrize("required", [{}, {"required": []}, {"required": True}, {"required": None}])
def test_any_input_schema_takes_a_grant(schema, required):
    """Ours: else a model could never call such a tool."""
    granting = described(tool={**TOOL, "inputSchema": {**schema, **required}}).granting("v1.abc")["inputSchema"]
    assert granting["required"] == ["grant"]
    assert schema.items() <= granting.items()


def test_a_tool_with_an_argument_of_that_name_keeps_it():
    """Ours: its clients give grants in `_meta`."""
    schema = {"type": "object", "properties": {"grant": {"type": "string"}}}
    own = described(tool={**TOOL, "inputSchema": schema})
    assert not own.takes_grant
    assert own.granting("v1.abc") is own.full


# Files.

KEYS = "'$schema', 'summary', 'description', 'examples', 'usage_guidance', 'error_guidance', 'searchTerms'"
TERMS = '\'searchTerms\' is a list of at most 50 texts, for example ["ticket", "bug report"]'
TERM = "of 'searchTerms' is not a text with a word, of at most 100 characters"

WRONG = {
    "not JSON": ('{"summary": "a",\n "examples": []', 2, "not JSON"),
    "a doubled key": ('{"summary": "a",\n"summary": "b"}', 2, "stands twice"),
    "a list": ("[]", 1, "a file of descriptions is an object with some of " + KEYS),
    "an unknown key": (
        '{"summary": "a",\n\n"sumary": "b"}',
        3,
        "unknown key 'sumary': expected one of " + KEYS + "; did you mean 'summary'?",
    ),
    "a schema": ('{\n"inputSchema": {}}', 2, "unknown key 'inputSchema'"),
    "a summary that is no text": ('{\n"summary": 1}', 2, "'summary' is a text"),
    "an empty summary": ('{"summary": " "}', 1, "'summary' is a text"),
    "a description that is no text": ('{\n"description": null}', 2, "'description' is a text"),
    "examples that are no list": ('{\n"examples": {}}', 2, "'examples' is a list"),
    "guidance that is a list": ('{\n"usage_guidance": []}', 2, "'usage_guidance' is a text, or an object of notes"),
    "search terms that are a text": ('{\n"searchTerms": "ticket"}', 2, TERMS),
    "too many search terms": (json.dumps({"searchTerms": ["ticket"] * 51}), 1, TERMS),
    "a search term that is a number": ('{\n"searchTerms": ["ticket", 7]}', 2, f"number 2 {TERM}"),
    "a search term without a word": ('{\n"searchTerms": [" -- "]}', 2, f"number 1 {TERM}"),
    "a search term that is too long": (json.dumps({"searchTerms": ["x" * 101]}), 1, f"number 1 {TERM}"),
    "empty guidance": ('{\n"error_guidance": ""}', 2, "'error_guidance' is a text, or an object of notes"),
}


@pytest.mark.parametrize(("content", "line", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_told_by_file_and_line(tmp_path, content, line, message):
    """Ours."""
    path = write(tmp_path, content)
    with pytest.raises(InvalidDescription) as raised:
        DescriptionFile.read(path)
    assert raised.value.message.startswith(f"{path}:{line}: ")
    assert message in raised.value.message
    assert raised.value.fields == {"file": str(path), "line": line}


def test_search_terms_are_those_of_the_tools_that_have_some(tmp_path):
    """Issue 45: up to 50 terms of up to 100 characters."""
    terms = ["x" * 100, *(f"term {number}" for number in range(49))]
    write(tmp_path, json.dumps({"searchTerms": terms}))
    write(tmp_path, json.dumps({"searchTerms": []}), "empty")
    write(tmp_path, json.dumps({"summary": "Is other."}), "other")
    assert DescriptionFiles({"a__": tmp_path}).search_terms() == {"a__t": terms}


def test_search_terms_with_a_denied_name_are_left_out(tmp_path):
    """PRIVACY.md, P6: nobody finds a tool by a field that they may not see."""
    write(tmp_path, json.dumps({"searchTerms": ["ssn", "people by ssn", "people"]}))
    names = Names(["ssn"])
    files = DescriptionFiles({"": tmp_path})
    assert files.seen_by(
        lambda _, file: replace(file, content=redact_description(file.content, names))
    ).search_terms() == {"t": ["people"]}
    assert files.seen_by(lambda _, file: None).search_terms() == {}


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """Ours: a typing error must not look like a folder without descriptions."""
    with pytest.raises(InvalidDescription, match="nowhere: the folder of descriptions is not there"):
        DescriptionFiles({"": tmp_path / "nowhere"})


def test_each_tool_has_a_file_of_its_own(tmp_path):
    """000 section 7.1."""
    for name in ("a", "b.c"):
        write(tmp_path, json.dumps({"summary": f"Is {name}."}), name)
    files = DescriptionFiles({"": tmp_path})
    assert files.find("a").content == {"summary": "Is a."}
    assert files.find("b.c").content == {"summary": "Is b.c."}
    assert files.find("c") is None
    assert files.find("../a") is None


def test_folders_are_told_apart_by_how_names_begin(tmp_path):
    """Ours: of servers that stand behind one another, each has its own."""
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, json.dumps({"summary": f"Is of {folder}."}))
    files = DescriptionFiles({f"{name}__": tmp_path / name for name in ("one", "two")})
    assert files.find("one__t").content == {"summary": "Is of one."}
    assert files.find("two__t").content == {"summary": "Is of two."}
    assert files.find("t") is None


@pytest.mark.parametrize("stamp", [2, 0], ids=["later", "earlier"])
def test_a_changed_file_is_read_again(tmp_path, stamp):
    """000 section 7.2; and one that has not changed is not."""
    write(tmp_path, json.dumps({"summary": "One."}))
    files = DescriptionFiles({"": tmp_path})
    before = files.find("t")
    files.refresh()
    assert files.find("t") is before
    write(tmp_path, json.dumps({"summary": "Two."}), stamp=stamp)
    files.refresh()
    assert files.find("t").content == {"summary": "Two."}


def test_a_bad_change_keeps_the_last_good_description_and_is_logged_once(tmp_path, caplog):
    """Ours."""
    write(tmp_path, json.dumps({"summary": "One."}))
    files = DescriptionFiles({"": tmp_path})
    path = write(tmp_path, "{", stamp=2)
    files.refresh()
    files.refresh()
    assert files.find("t").content == {"summary": "One."}
    (record,) = caplog.records
    assert record.name == "louver.catalogue.files.descriptions"
    assert record.getMessage().startswith(f"descriptions stay as they were: {path}:1: not JSON")


def test_a_file_of_no_tool_is_logged(tmp_path, caplog):
    """Ours."""
    write(tmp_path, "{}", "a")
    write(tmp_path, "{}", "b")
    DescriptionFiles({"x_": tmp_path}).check_names({"x_a"})
    (record,) = caplog.records
    assert record.getMessage() == "a file describes a tool 'x_b', which the server does not have"


def test_a_folder_that_goes_away_keeps_the_last_good_descriptions_and_is_logged_once(tmp_path, caplog):
    """Ours: one that is not mounted for a while must not look like one without files."""
    folder = tmp_path / "descriptions"
    folder.mkdir()
    write(folder, json.dumps({"summary": "One."}))
    files = DescriptionFiles({"": folder})
    folder.rename(tmp_path / "elsewhere")
    files.refresh()
    files.refresh()
    assert files.find("t").content == {"summary": "One."}
    (record,) = caplog.records
    assert record.getMessage() == f"descriptions stay as they were: {folder}: the folder of descriptions is not there"
    (tmp_path / "elsewhere").rename(folder)
    write(folder, json.dumps({"summary": "Two."}), stamp=2)
    files.refresh()
    assert files.find("t").content == {"summary": "Two."}


def test_a_folder_that_is_emptied_has_no_descriptions(tmp_path):
    """Ours: its files are gone, and it is there."""
    path = write(tmp_path, json.dumps({"summary": "One."}))
    files = DescriptionFiles({"": tmp_path})
    path.unlink()
    files.refresh()
    assert files.find("t") is None
