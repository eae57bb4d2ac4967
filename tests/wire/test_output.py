"""Where a tool's output stands: the three places, and what is in none of them."""

import pytest

from louver.wire.output import Output, find_output

JSON = {"type": "text", "text": '{"id": 1}'}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
NULL = {"type": "text", "text": "null"}


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ({"structuredContent": {"id": 2}, "content": [JSON]}, Output({"id": 2}, "structured")),
        (
            {"structuredContent": {"result": '{"id": 3}'}, "content": [JSON]},
            Output({"id": 3}, "wrapped text", "result"),
        ),
        ({"structuredContent": {"result": "no JSON"}}, Output({"result": "no JSON"}, "structured")),
        ({"content": [JSON, IMAGE]}, Output({"id": 1}, "text")),
        ({"content": [JSON, JSON]}, None),
        ({"content": [IMAGE]}, None),
        ({"content": 5}, None),
        # WIRE.md, Content; some servers write `null` where they have nothing structured, and SDKs take it for that.
        ({"structuredContent": None, "content": [JSON]}, Output({"id": 1}, "text")),
        ({"structuredContent": None, "content": [IMAGE]}, None),
        ({"structuredContent": None, "content": [{"type": "text", "text": "none found"}]}, None),
        ({"structuredContent": None, "content": [NULL]}, Output(None, "structured")),
        ({"structuredContent": None}, Output(None, "structured")),
    ],
)
def test_an_output_is_found_where_it_stands(result, found):
    assert find_output(result, "result") == found
