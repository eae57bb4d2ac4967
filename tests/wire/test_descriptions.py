"""The URI by which descriptions are asked for: what is read, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.errors import InvalidUri
from louver.limits import MAX_URI_BYTES
from louver.wire.descriptions import is_about_descriptions, tool_names_in, uri_of

BASE = "resource:///tool_descriptions"

READ = {
    "one": ("?tools=a", ["a"]),
    "several": ("?tools=a,b,c", ["a", "b", "c"]),
    "no query": ("", []),
    "an empty query": ("?", []),
    "no value": ("?tools", []),
    "an empty value": ("?tools=", []),
    "commas alone": ("?tools=,,,", []),
    "empty names": ("?tools=,a,,b,", ["a", "b"]),
    "one twice": ("?tools=a,b,a", ["a", "b", "a"]),
    "the parameter twice": ("?tools=a&tools=b,c", ["a", "b", "c"]),
    "others beside it": ("?v=2&tools=a&x=%20&y", ["a"]),
    "others alone": ("?tool=a&TOOLS=b", []),
    "an escaped key": ("?%74ools=a", ["a"]),
    "an escaped comma": ("?tools=a%2Cb,c", ["a,b", "c"]),
    "escaped once": ("?tools=a%252Cb", ["a%2Cb"]),
    "escaped separators": ("?tools=a%26tools%3Db%3F%23%2F", ["a&tools=b?#/"]),
    "a second question mark": ("?tools=a?tools=b", ["a?tools=b"]),
    "an equals sign": ("?tools=a=b", ["a=b"]),
    "a plus is a plus": ("?tools=a+b", ["a+b"]),
    "lower and upper hexadecimal digits": ("?tools=%c3%a9,%C3%A9", ["é", "é"]),
    "beyond ASCII as it is": ("?tools=é", ["é"]),
    "spaces": ("?tools= a,%20", [" a", " "]),
    "dots and slashes": ("?tools=../../etc/passwd", ["../../etc/passwd"]),
}


@pytest.mark.parametrize(("query", "names"), READ.values(), ids=READ)
def test_names_are_read(query, names):
    """000 section 4.3; that each is decoded once, and empty ones are left out, is ours."""
    assert tool_names_in(BASE + query) == names


REFUSED = {
    "another scheme": ("file:///tool_descriptions?tools=a", 0, f"'{BASE}?tools='"),
    "the scheme in capitals": ("RESOURCE:///tool_descriptions?tools=a", 0, f"'{BASE}?tools='"),
    "a host": ("resource://evil.example/tool_descriptions?tools=a", 0, f"'{BASE}?tools='"),
    "a user and a port": ("resource://a:b@c:1/tool_descriptions?tools=a", 0, f"'{BASE}?tools='"),
    "no slashes": ("resource:/tool_descriptions?tools=a", 0, f"'{BASE}?tools='"),
    "a fragment": (f"{BASE}?tools=a#b", 37, "no fragment"),
    "a fragment alone": (f"{BASE}#tools=a", 29, "no fragment"),
    "half an escape": (f"{BASE}?tools=a%2", 38, "two hexadecimal digits after '%'"),
    "a lone percent sign": (f"{BASE}?tools=100%", 40, "two hexadecimal digits after '%'"),
    "no digits": (f"{BASE}?tools=%zz", 37, "two hexadecimal digits after '%'"),
    "digits of another script": (f"{BASE}?tools=%\u0661\u0662", 37, "two hexadecimal digits after '%'"),
    "a bad escape elsewhere": (f"{BASE}?x=%&tools=a", 33, "two hexadecimal digits after '%'"),
    "no UTF-8": (f"{BASE}?tools=a%FF", 37, "escaped UTF-8"),
    "half a character": (f"{BASE}?tools=%C3,%A9", 36, "escaped UTF-8"),
    "an overlong character": (f"{BASE}?tools=%C0%AF", 36, "escaped UTF-8"),
    "an escaped surrogate": (f"{BASE}?tools=%ED%A0%80", 36, "escaped UTF-8"),
    "a lone surrogate": (f"{BASE}?tools=\ud800", 36, "a printable character"),
    "NUL": (f"{BASE}?tools=a\0", 37, "a printable character"),
    "a line break": (f"{BASE}?tools=a\nb", 37, "a printable character"),
    "an escaped NUL": (f"{BASE}?tools=a%00", 37, "an escaped printable character"),
    "an escaped line break": (f"{BASE}?tools=a%0D%0Ab", 37, "an escaped printable character"),
}


@pytest.mark.parametrize(("uri", "offset", "expected"), REFUSED.values(), ids=REFUSED)
def test_a_uri_that_cannot_be_read_is_refused_with_its_place(uri, offset, expected):
    """PRIVACY, "Hostile inputs": the answer is exact."""
    with pytest.raises(InvalidUri) as refused:
        tool_names_in(uri)
    assert refused.value.to_json() == {
        "code": "INVALID_URI",
        "message": f"a URI of descriptions: expected {expected} at offset {offset}, "
        "for example resource:///tool_descriptions?tools=tool_name",
        "offset": offset,
        "expected": expected,
    }


@pytest.mark.parametrize("letter", ["a", "é"])
def test_a_uri_may_have_so_many_bytes_and_no_more(letter):
    """Ours: bytes, for that is what is sent."""
    room = MAX_URI_BYTES - len(f"{BASE}?tools=")
    name = letter * (room // len(letter.encode()))
    assert tool_names_in(f"{BASE}?tools={name}") == [name]
    with pytest.raises(InvalidUri) as refused:
        tool_names_in(f"{BASE}?tools={name}{letter}")
    message = "a URI of descriptions has at most 8192 bytes"
    assert refused.value.to_json() == {"code": "INVALID_URI", "message": message, "limit": 8192}


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=1, max_size=5))
def test_whatever_a_tool_is_called_its_own_uri_names_it(names):
    """000 section 4.3: names match exactly."""
    for name in names:
        assert tool_names_in(uri_of(name)) == [name]
    together = ",".join(uri_of(name).partition("=")[2] for name in names)
    assert tool_names_in(f"{BASE}?tools={together}") == names


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    """Ours: nothing else is raised."""
    for uri in (text, BASE + text, f"{BASE}?tools={text}"):
        try:
            assert all(tool_names_in(uri))
        except InvalidUri as refused:
            refused.to_json()["message"].encode()


@pytest.mark.parametrize(
    ("uri", "is_about"),
    [
        (BASE, True),
        (f"{BASE}?tools=a", True),
        (f"{BASE}#a", True),
        ("file:///tool_descriptions", True),
        ("a+b.c-1://host:80/tool_descriptions?x", True),
        ("resource:/tool_descriptions", True),
        ("resource:///tool_descriptions/a", False),
        ("resource:///tool_descriptions_of_mine", False),
        ("resource:///a/tool_descriptions", False),
        ("resource:///Tool_descriptions", False),
        ("louver://results/0123456789abcdef", False),
        ("/tool_descriptions", False),
        ("", False),
    ],
)
def test_which_uris_are_about_descriptions(uri, is_about):
    """Ours: those of other resources are left to the server."""
    assert is_about_descriptions(uri) is is_about
