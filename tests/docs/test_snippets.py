"""Every snippet of the documentation runs and says the truth; `CONTRIBUTING.md` has the rules."""

import json
from functools import cache

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from docs.pages import LANGUAGES, PAGES, ROOT, Block, blocks, commands, name_of
from docs.running import matches, running
from louver.core.json import parse

EVERYDAY = ("README.md", "docs/tutorial/")


def _in_its_tier(page):
    marks = () if name_of(page).startswith(EVERYDAY) else pytest.mark.deep
    return pytest.param(page, id=name_of(page), marks=marks)


@pytest.mark.parametrize("page", [_in_its_tier(page) for page in PAGES])
def test_every_snippet_of_a_page_runs(page, tmp_path):
    """*Ours*: files are written, commands run and their output compared, then the Python blocks run."""
    found = blocks(page)
    with running(tmp_path) as runner:
        for block in found:
            if block.file is not None:
                runner.write(block)
            elif block.language == "console":
                runner.console(block)
        code = [block for block in found if block.language == "python" and block.file is None]
        if code:
            runner.python(page, code)


def test_every_json_block_is_json_and_fits_its_schema(subtests):
    """*Ours*: an info word such as `receipt` names a schema under `schemas/`."""
    found = [(page, block) for page in PAGES for block in blocks(page) if block.language == "json"]
    for page, block in found:
        with subtests.test(f"{name_of(page)}:{block.line}"):
            value = parse(block.text)
            if block.schema is not None:
                _validator(block.schema).validate(value)


def test_a_page_has_no_block_that_nothing_checks():
    """*Ours*: of all languages only `text` is for reading."""
    faults = [
        f"{name_of(page)}:{block.line}: ```{block.language}"
        for page in PAGES
        for block in blocks(page)
        if block.language not in LANGUAGES
    ]
    assert not faults, "\n".join(faults)


def test_a_command_s_output_is_compared_word_for_word():
    """*Ours*, of this test itself: `...` is the only freedom."""
    assert matches('{"a":1}', '{"a":1}')
    assert matches("one\n...\nthree ... five", "one\ntwo\ntwo\nthree four five")
    assert not matches('{"a":1}', '{"a":1}\nmore')
    assert not matches("one.two", "one two")


def test_a_wrong_snippet_is_found(tmp_path):
    """*Ours*, of this test itself: each guard bites."""
    with running(tmp_path) as runner:
        with pytest.raises(AssertionError, match="prints"):
            runner.console(Block("console", (), 1, "$ echo one\ntwo\n"))
        with pytest.raises(AssertionError, match=r"page\.md.*line 7"):
            runner.python(tmp_path / "page.md", [Block("python", (), 7, "assert False\n")])
        with pytest.raises(AssertionError, match="expected one of"):
            runner.console(Block("console", (), 1, "$ pip install uv\n"))
        with pytest.raises(AssertionError, match="prints"):
            runner.console(Block("console", (), 1, "$ false &\nready\n"))
    assert [command.output for command in commands(Block("console", (), 1, "$ a\nb\n$ c\n"))] == [("b",), ()]


@cache
def _validator(word):
    folder = ROOT / "schemas"
    file = folder / f"{word}.schema.json"
    assert file.is_file(), f"there is no schemas/{file.name} to hold a `json {word}` block against"
    read = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.schema.json"))]
    named = [(schema["$id"], Resource.from_contents(schema)) for schema in read if "$id" in schema]
    return Draft202012Validator(json.loads(file.read_text(encoding="utf-8")), registry=Registry().with_resources(named))
