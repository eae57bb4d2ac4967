"""What fits a query, in which order; and that it depends on the list alone."""

from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.corpus import catalogue, rows
from louver.catalogue.search import ranking as ranking_module
from louver.catalogue.search.ranking import MAX_SEARCHED_CHARACTERS, Ranking, alone, fields_of
from louver.catalogue.search.words import in_one


def tool(name, description="", title=None, **parameters):
    """A tool; parameters by name, with what they are."""
    properties = {parameter: {"description": told} for parameter, told in parameters.items()}
    listed = {"name": name, "description": description, "inputSchema": {"type": "object", "properties": properties}}
    return listed if title is None else {**listed, "title": title}


def found(tools, query, *, named=alone, search_terms=MappingProxyType({}), **options):
    """The names of what fits, the best first."""
    ranking = Ranking(tools, named, search_terms=search_terms)
    return [match.tool["name"] for match in ranking.search(query, **options)]


def of_server(name):
    server, _, own = name.partition("__")
    return server, own


TRACKER = [
    tool("create_issue", "Open an issue in a repository."),
    tool("list_issues", "All issues of a repository, newest first."),
    tool("read_file", "The text of a file.", path="Where the file lies."),
    tool("convert_to_pdf", "Makes a document printable."),
    tool("send", "Sends an e-mail.", recipient="Who gets the message."),
    tool("getWeather", "Forecast for a city.", title="Rain and sunshine"),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("create an issue", "create_issue"),
        ("createIssue", "create_issue"),
        ("create_issue", "create_issue"),
        ("Please show me all issues", "list_issues"),
        ("reading files", "read_file"),
        ("tools for reading a file", "read_file"),
        ("convert to PDF", "convert_to_pdf"),
        ("email", "send"),
        ("recipient", "send"),
        ("who gets a message", "send"),
        ("weather", "getWeather"),
        ("sunshine", "getWeather"),
        ("WEATHER!?", "getWeather"),
    ],
)
def test_a_tool_is_found_by_what_it_says_of_itself(query, first):
    """002, "Design for LLM/Agent usage": words, phrases, what one wants to do; DISCLOSURE.md: the whole descriptor."""
    assert found(TRACKER, query)[0] == first


def test_what_has_no_word_of_the_query_is_not_found():
    """002, "Server Behavior" 2: a subset."""
    assert found(TRACKER, "issue") == ["create_issue", "list_issues"]
    assert found(TRACKER, "submarine") == []
    assert found([], "issue") == []


def test_a_word_in_the_name_counts_more_than_elsewhere():
    """DISCLOSURE.md: name x3."""
    elsewhere = [tool("a", "database"), tool("b", "other", title="database"), tool("c", "other", database="other")]
    assert found([*elsewhere, tool("database", "other")], "database")[0] == "database"


def test_a_query_that_is_a_tools_name_finds_it_first():
    """Ours: with or without what joins its words, however much else the tool says. A page goes on after it."""
    tools = [tool("create_issue_comment", "Short."), tool("create_issue", "So much is to be told of it. " * 99)]
    for query in ("create_issue", "createIssue", "create issue", "Create Issue", "create-issue"):
        assert found(tools, query) == ["create_issue", "create_issue_comment"]
        assert found(tools, query, start=1) == ["create_issue_comment"]


def test_the_server_is_searched_too():
    """DISCLOSURE.md; a server's name stands before those of its tools."""
    tools = [tool("tracker__list", "All of them."), tool("github__list", "All of them.")]
    assert found(tools, "github", named=of_server) == ["github__list"]


TERMS = {"send": ["letter", "write to somebody"], "read_file": ["contents"]}


def test_a_tool_is_found_by_the_search_terms_of_its_file():
    """Issue 45: words that its own texts lack."""
    assert found(TRACKER, "write a letter") == []
    assert found(TRACKER, "write a letter", search_terms=TERMS) == ["send"]
    assert found(TRACKER, "contents", search_terms=TERMS) == ["read_file"]


def test_a_search_term_weighs_more_than_a_description_and_less_than_a_name():
    """Issue 45: a field of its own, with a weight of its own."""
    tools = [tool("a", "database"), tool("b", "other"), tool("database", "other")]
    assert found(tools, "database", search_terms={"b": ["database"]}) == ["database", "b", "a"]


def test_search_terms_push_no_tool_down():
    """Ours: they do not count as length, so what finds the tool without them finds it as well."""
    terms = {"read_file": [f"unrelated {number}" for number in range(50)]}
    for query in ("read", "file", "text", "path"):
        assert Ranking(TRACKER, search_terms=terms).search(query) == Ranking(TRACKER).search(query)


def test_what_is_written_alike_comes_before_what_has_the_same_stem():
    """Ours."""
    assert found([tool("a", "reports"), tool("b", "report")], "report") == ["b", "a"]
    assert found([tool("a", "report"), tool("b", "reports")], "reports") == ["b", "a"]


def test_a_word_that_every_tool_has_still_ranks_them():
    """Ours: BM25 alone would take it for worthless."""
    tools = [tool(f"t{number}", "About the file " + "and more " * number) for number in (3, 2, 1)]
    scores = [match.score for match in Ranking(tools).search("file")]
    assert found(tools, "file") == ["t1", "t2", "t3"]
    assert scores[-1] > 0.1


def test_equals_keep_the_order_of_the_list():
    """DISCLOSURE.md: stable."""
    tools = [tool(name, "Reads a file.") for name in ("zeta", "alpha", "mid")]
    assert found(tools, "file") == ["zeta", "alpha", "mid"]


@pytest.mark.parametrize("query", ["isue", "issuse", "isseu", "IZSUE", "issu", "iss"])
def test_where_nothing_is_found_a_word_is_taken_for_its_neighbours(query):
    """DISCLOSURE.md: nearest vocabulary when nothing matches."""
    assert sorted(found(TRACKER, query)) == ["create_issue", "list_issues"]


def test_where_something_is_found_no_word_is_taken_for_another():
    """DISCLOSURE.md: only when nothing matches."""
    assert found(TRACKER, "isue weather") == ["getWeather"]


@pytest.mark.parametrize("query", ["zz", "isx", "is", "i"])
def test_short_words_are_not_guessed_at(query):
    """Ours: they are near too many."""
    assert "create_issue" not in found(TRACKER, query)


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE tools; --",
        'issue" OR "file',
        "name:issue",
        "iss*",
        "issue AND NOT file",
        "NEAR(issue file, 2)",
        "{name description} : issue",
        "^issue",
        "issue = file",
        '"',
        "(",
        "*",
        "-issue",
        "issue + file",
        ".*",
        "(a+)+$",
        "../../etc/passwd",
        "{{7*7}}",
        "tools MATCH 'x'",
        "\x00issue\x00",
        "issue\ud800",
        "=",
        "issue=",
    ],
)
def test_nothing_in_a_query_is_code(query):
    """002, "Security Implications": plain text, never code; SQL, FTS5, regex, templates, paths."""
    ranking = Ranking(TRACKER)
    plain = "".join(sign if sign.isalnum() or sign == "_" else " " for sign in query)
    assert ranking.search(query) == ranking.search(plain)
    assert found(TRACKER, "issue") == ["create_issue", "list_issues"]


def test_words_of_the_query_language_are_words():
    """002: FTS5's own operators are found as words."""
    tools = [tool("a", "near the coast"), tool("b", "logical or"), tool("c", "match, rank, rowid")]
    assert found(tools, "NEAR") == ["a"]
    assert found(tools, "rowid") == ["c"]


def test_what_is_odd_in_a_descriptor_is_passed_over():
    """Ours: a server behind the gateway may list anything."""
    odd = {"name": "odd", "description": 7, "title": ["x"], "annotations": [], "inputSchema": {"properties": [1]}}
    other = {"name": "other", "inputSchema": {"properties": {"a": True, "b": {"description": None}}}}
    assert found([odd, other], "odd") == ["odd"]


def test_a_title_may_stand_among_the_annotations():
    """MCP: before tools had a `title`."""
    assert found([{**tool("a"), "annotations": {"title": "Rain"}}, tool("b")], "rain") == ["a"]


def test_of_a_long_text_only_the_beginning_is_read():
    """Ours: `MAX_SEARCHED_CHARACTERS`."""
    text = "word " * (MAX_SEARCHED_CHARACTERS // 5)
    assert found([tool("a", text + "late")], "late") == []
    assert found([tool("a", "late " + text)], "late") == ["a"]


def test_a_name_that_is_listed_twice_is_found_twice():
    """Ours: a list is searched as it is."""
    tools = [tool("read", "A file."), tool("read", "A page.")]
    ranking = Ranking(tools)
    assert [match.tool for match in ranking.search("page")] == [tools[1]]
    assert [match.tool for match in Ranking(tools[1:], before=ranking).search("read")] == [tools[1]]


NAMES = st.text(st.sampled_from("ab_"), min_size=1, max_size=4)
TEXT = st.lists(st.sampled_from(["file", "files", "issue", "open", "an", "x1"]), max_size=4).map(" ".join)
TOOLS = st.builds(tool, NAMES, TEXT, p=TEXT)
LISTS = st.lists(TOOLS, max_size=12, unique_by=lambda each: each["name"])
QUERIES = TEXT | st.text(max_size=20) | NAMES | st.text(st.characters(exclude_categories=()), max_size=20)


@given(LISTS, QUERIES, st.integers(1, 5))
def test_pages_give_each_match_once_in_the_same_order(tools, query, size):
    """DISCLOSURE.md: stable, in pages."""
    ranking = Ranking(tools)
    whole = ranking.search(query)
    pages = [ranking.search(query, start, size) for start in range(0, len(whole) + size, size)]
    assert [match for page in pages for match in page] == whole
    names = [match.tool["name"] for match in whole]
    assert len(set(names)) == len(names)
    ranks = [(in_one(match.tool["name"]) == in_one(query), match.score) for match in whole]
    assert ranks == sorted(ranks, reverse=True)


@st.composite
def histories(draw):
    """A list, and what becomes of it: tools come, go, change, and change places."""
    lists = [draw(LISTS)]
    for _ in range(draw(st.integers(0, 4))):
        tools = list(lists[-1])
        for _ in range(draw(st.integers(0, 3))):
            other, at = draw(TOOLS), draw(st.integers(0, len(tools)))
            if other["name"] not in {each["name"] for each in tools}:
                tools.insert(at, other)
            elif at < len(tools):
                taken = tools.pop(at)
                if draw(st.booleans()):
                    tools.insert(draw(st.integers(0, len(tools))), draw(st.sampled_from([taken, tool(taken["name"])])))
        lists.append(tools)
    return lists


@given(histories(), QUERIES)
def test_the_order_depends_on_the_list_alone(lists, query):
    """Ours: not on what the list was before, so that every worker of a server gives the same pages."""
    ranking = None
    for tools in lists:
        ranking = Ranking(tools, before=ranking)
    anew = Ranking(lists[-1])
    assert ranking.search(query) == anew.search(query)
    assert ranking.version == anew.version
    assert ranking.tools == lists[-1]
    assert ranking._index.known == anew._index.known


@given(LISTS, LISTS)
def test_lists_of_one_version_are_searched_alike(one, other):
    """Ours: the version is what a cursor is bound to."""
    same = [fields_of(each, alone) for each in one] == [fields_of(each, alone) for each in other]
    assert (Ranking(one).version == Ranking(other).version) == same


def test_only_what_has_changed_is_read_again(monkeypatch):
    """DISCLOSURE.md: after `list_changed` only the changed server's rows."""
    read = []

    def fields_of(tool, named, search_terms):
        read.append(tool["name"])
        return actual(tool, named, search_terms)

    actual = ranking_module.fields_of
    monkeypatch.setattr(ranking_module, "fields_of", fields_of)
    tools = [tool(f"s{number // 10}__t{number}", "Reads.") for number in range(50)]
    before = Ranking(tools)
    assert len(read) == 50
    changed = [*tools[:10], *(tool(each["name"], "Writes.") for each in tools[10:20]), *tools[20:]]
    read.clear()
    after = Ranking(changed, before=before)
    assert read == [each["name"] for each in changed[10:20]]
    assert [match.tool for match in after.search("writes")] == changed[10:20]
    assert before.search("writes") == []
    assert len(before.search("reads")) == 50
    read.clear()
    found_by_term = Ranking(changed, before=after, search_terms={"s3__t30": ["scribble"]})
    assert read == ["s3__t30"]
    assert [match.tool for match in found_by_term.search("scribble")] == [changed[30]]
    read.clear()
    assert Ranking(changed, before=found_by_term).search("scribble") == []
    assert read == ["s3__t30"]


def test_real_tools_are_found_by_real_tasks():
    """DISCLOSURE.md: Recall@5 of at least .38 on 94 tasks among 527 tools; `python -m benchmarks run` has the rest."""
    tools = [{**each, "name": each["id"]} for each in catalogue()]
    ranking = Ranking(tools, lambda name: tuple(name.split("::", 1)))
    recalls = []
    for task in rows("livemcp.queries.jsonl.gz"):
        first = {match.tool["name"] for match in ranking.search(task["query"], most=5)}
        recalls.append(sum(not first.isdisjoint(step) for step in task["gold"]) / len(task["gold"]))
    assert sum(recalls) / len(recalls) >= 0.38
