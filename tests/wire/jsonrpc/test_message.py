"""Messages are read strictly."""

import gc
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fixtures.faulty import BODIES, DIGITS, OTHER_ANSWERS, answer, bad_answers
from louver.cli.commands.serve import set_up_process
from louver.errors import UpstreamError, UpstreamInvalidOutput, UpstreamTooLarge
from louver.limits import MAX_UPSTREAM_BYTES, MAX_UPSTREAM_DEPTH
from louver.wire.jsonrpc import codec as wire
from louver.wire.jsonrpc.codec import MAX_UPSTREAM_CONTAINERS
from louver.wire.jsonrpc.errors import JsonRpcError

SAID = "the upstream sends what cannot be used: not strictly JSON: "

REASONS = {
    "nan": "NaN and infinities are no numbers of JSON",
    "infinity": "NaN and infinities are no numbers of JSON",
    "exponent": "a number is too large",
    "duplicate": "a key stands twice",
    "nested_duplicate": "a key stands twice",
    "depth": "it is nested deeper than 128 levels",
    "surrogate": "a text holds half a surrogate pair",
    "surrogate_key": "a text holds half a surrogate pair",
    "utf8": "it is not UTF-8",
    "truncated": "it is not JSON",
    "many_digits": "an integer has too many digits",
}

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda below: st.lists(below) | st.dictionaries(st.text(st.characters(codec="utf-8")), below),
    max_leaves=12,
)


@pytest.fixture
def own_process():
    """As `louver serve` has it."""
    digits, thresholds = sys.get_int_max_str_digits(), gc.get_threshold()
    set_up_process()
    yield
    sys.set_int_max_str_digits(digits)
    gc.set_threshold(*thresholds)


def value(text):
    return wire.read(b'{"jsonrpc":"2.0","id":1,"result":{"value":%b}}' % text).result()["value"]


RESULT_TEXT = b'{"n": 1e2 ,"text":"\\u00e9\\/","rows":[ ]}'


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","id":7,"result":%b}',
        b'{"id":"a","jsonrpc":"2.0","result":%b}',
        b'{"result":%b,"jsonrpc":"2.0","id":7}',
        '{"jsonrpc":"2.0","id":"é","result":%b}'.encode(),
    ],
)
def test_a_result_knows_its_text(answer):
    """GATEWAY.md, "Fast path": answers that nothing changes pass as bytes."""
    result = wire.read(answer % RESULT_TEXT).result()
    assert result == {"n": 100, "text": "é/", "rows": []}
    assert bytes(result.text()) == RESULT_TEXT


@pytest.mark.parametrize(
    "answer",
    [
        b'{"jsonrpc":"2.0","result":%b,"id":7}',
        b'{"jsonrpc": "2.0", "id": 7, "result": %b}',
        b'{"jsonrpc":"2.0","id":7,"result":%b}\n',
        b'{"result":%b,"jsonrpc":"2.0","id":7 }',
    ],
)
def test_a_result_that_stands_unusually_has_no_text(answer):
    result = wire.read(answer % RESULT_TEXT).result()
    assert result == {"n": 100, "text": "é/", "rows": []}
    assert result.text() is None


def test_the_table_of_reasons_is_whole():
    assert REASONS.keys() | {"brackets"} == BODIES.keys()


@pytest.mark.whole
@pytest.mark.parametrize("fault", REASONS)
def test_what_is_not_strict_is_refused_with_a_constant_text(fault):
    """GATEWAY.md, "JSON strictly"; PRIVACY.md: no value of an output in a message."""
    with pytest.raises(UpstreamInvalidOutput) as refused:
        wire.read(answer(1, BODIES[fault]))
    assert str(refused.value) == SAID + REASONS[fault]


def test_a_million_brackets_are_too_many():
    """Ours: they are small to send and large to keep."""
    with pytest.raises(UpstreamTooLarge):
        wire.read(answer(1, BODIES["brackets"]))


def test_brackets_of_a_text_are_none_of_the_message():
    """Ours: minified code, or JSON that is quoted, has as many as it likes."""
    text = "[" * (MAX_UPSTREAM_CONTAINERS + 1) + '\\"{'
    assert value(json.dumps([text]).encode()) == [text]


@pytest.mark.parametrize(
    "text", ["1", "1.0", "1e22", "-0.0", "1180591620717411303424", '"\\ud83d\\ude00"', '"\\\\ud83d"']
)
def test_what_is_strict_is_read_as_it_stands(text):
    """RFC 8259; a whole pair of surrogates is one character, and a written backslash begins no escape."""
    read = value(text.encode())
    assert (read, type(read)) == (json.loads(text), type(json.loads(text)))


def test_an_integer_of_five_thousand_digits_is_kept():
    """PRIVACY.md, "Hostile inputs"; Python's own readers stop at 4,300."""
    read = wire.read(answer(1, DIGITS)).result()["value"]
    assert read == 1 - 10**5000
    assert sys.get_int_max_str_digits() == 4300


@pytest.mark.parametrize("levels", [MAX_UPSTREAM_DEPTH - 2, MAX_UPSTREAM_DEPTH - 1])
def test_the_depth_is_counted_with_the_message_itself(levels):
    """GATEWAY.md: depth over 128."""
    text = b"[" * levels + b'"[{"' + b"]" * levels
    if levels + 2 <= MAX_UPSTREAM_DEPTH:
        assert value(text)
    else:
        with pytest.raises(UpstreamInvalidOutput):
            value(text)


@given(JSON)
def test_what_is_written_is_read_again(written):
    """Ours: for every JSON value."""
    message = wire.read(wire.response(1, {"value": written}))
    assert message.result()["value"] == written


@given(JSON, st.booleans())
def test_how_it_is_spelt_does_not_matter(written, ascii_only):
    """Ours: servers in Python write spaces and escapes, those in JavaScript do not."""
    assert value(json.dumps(written, ensure_ascii=ascii_only).encode()) == written


@pytest.mark.whole
@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'"text"',
        b'{"id":1,"result":{}}',
        b'{"jsonrpc":"1.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1.0,"result":{}}',
        b'{"jsonrpc":"2.0","id":true,"result":{}}',
        b'{"jsonrpc":"2.0","id":[1],"result":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"jsonrpc":"2.0","method":"ping","params":[]}',
    ],
)
def test_other_json_is_no_message(body):
    """JSON-RPC 2.0; MCP: ids are numbers or texts, params are objects."""
    with pytest.raises(UpstreamInvalidOutput):
        wire.read(body)


def test_zero_and_the_empty_text_are_ids():
    """Both are falsy in Python."""
    for written, number in ((b"0", 0), (b'""', "")):
        asked = wire.read(b'{"jsonrpc":"2.0","id":%b,"method":"roots/list"}' % written)
        assert (asked.id, asked.method, asked.params) == (number, "roots/list", None)


@pytest.mark.parametrize(("written", "number"), [(b'"74"', 74), (b'"x"', "x"), (b'""', ""), (b'"-1"', "-1")])
def test_the_number_of_a_request_may_come_back_as_a_text(written, number):
    """Both SDKs take it for the number; the id of a question is the upstream's own."""
    assert wire.read(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % written).id == number
    assert wire.read(b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % written).id == written.decode().strip('"')


def test_the_call_of_an_unusable_answer_is_known_by_a_text():
    """Likewise."""
    for raw in (b'{"jsonrpc":"2.0","id":"74","result":NaN}', b'{"jsonrpc":"2.0","result":NaN,"id":"74"}'):
        assert wire.peek_response_id(raw) == 74


def test_an_error_is_the_error():
    """`data` included."""
    with pytest.raises(JsonRpcError) as error:
        wire.read(b'{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"m","data":{"a":null}}}').result()
    assert (error.value.code, error.value.message, error.value.data) == (-5, "m", {"a": None})


@pytest.mark.parametrize("name", [name for name in OTHER_ANSWERS if name != "no_version"])
def test_an_answer_of_neither_kind_is_none(name):
    with pytest.raises(UpstreamInvalidOutput):
        wire.read(OTHER_ANSWERS[name] % 1).result()


@pytest.mark.whole
@pytest.mark.parametrize("name", bad_answers(1))
def test_the_call_of_an_unusable_answer_is_known(name):
    """Ours: so that the call fails at once and not by its deadline."""
    raw = bad_answers(74)[name]
    try:
        found = wire.read(raw).id
    except UpstreamError:
        found = wire.peek_response_id(raw)
    assert found == 74


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        b'{"jsonrpc":"2.0","id":74,"method":"sampling/createMessage","params":{"a":NaN}}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"result":1,"id":74}}',
        b'{"result":{"a":NaN,"id":74}}',
        b'{"result":{"a":[{"id":74}',
        b'{"jsonrpc":"2.0","id":"7x4","result":NaN}',
    ],
)
def test_nobody_is_taken_for_the_call_of_something_else(raw):
    """Ours: a question of the upstream has ids of its own."""
    assert wire.peek_response_id(raw) is None


@pytest.mark.anyio
async def test_others_run_while_the_largest_message_is_read(own_process):
    """GATEWAY.md: the event loop never stalls over 250 ms."""
    rows = b'{"id": 1, "name": "abc", "tags": ["a", "b"]},' * (MAX_UPSTREAM_BYTES // 46)
    message = await wire.read_in_thread(answer(1, b'{"rows":[' + rows + b"0]}"))
    assert len(message.result()["rows"]) > 180_000


def test_what_is_sent_is_compact():
    assert wire.request(7, "tools/call", {"name": "é"}) == (
        '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"é"}}'.encode()
    )
    assert wire.notification("notifications/initialized", None) == (
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
    )
    assert wire.response("", {}) == b'{"jsonrpc":"2.0","id":"","result":{}}'


@pytest.mark.parametrize("params", [{"a": float("nan")}, {"a": "\ud800"}, {"a": 10**5000}])
def test_what_is_not_json_is_not_sent(params):
    """Ours: it would be the gateway's fault, and orjson writes `null` for NaN."""
    with pytest.raises(JsonRpcError) as refused:
        wire.request(1, "tools/call", params)
    assert refused.value.code == -32602


def test_an_error_that_cannot_be_written_is_answered_all_the_same():
    """Ours: the upstream waits."""
    said = json.loads(wire.error_response(0, JsonRpcError(-5, "m", {"a": float("inf")})))
    assert said == {"jsonrpc": "2.0", "id": 0, "error": {"code": -32603, "message": "Internal error"}}
