"""What stands in place of an answer that is kept."""

from hypothesis import given
from hypothesis import strategies as st

from louver.core.preview.field_sizes import size_of
from louver.steps.results.preview import Preview
from louver.steps.results.results import RESULTS_URI
from louver.wire.output import Output

PREVIEW = Preview("t" * 128, f"{RESULTS_URI}{'h' * 32}", 8_388_608, 86_400, wrapped=False)

plain = st.none() | st.booleans() | st.integers() | st.text(max_size=250)
names = st.text(min_size=1, max_size=120)
values = st.dictionaries(names, plain | st.lists(st.dictionaries(names, plain, max_size=9)), max_size=12)


@given(values, st.sampled_from(["structured", "wrapped text", "text"]))
def test_it_is_below_two_kilobytes(value, seat):
    """GATEWAY.md: whatever the answer is, and whatever its fields are called."""
    result = {"content": [{"type": "text", "text": 3000 * "x"}]}
    for by_tool in (False, True):
        shown, extras = PREVIEW.as_preview(result, Output(value, seat, "content"), by_tool=by_tool)
        assert size_of({**shown, "_meta": extras.meta}) < 2_000
