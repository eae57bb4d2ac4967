"""Asking for projections, and holding what comes against what was asked.

The way of a call: `asking` (what is asked), `tools` (what is known of the tool), `wire` (the request), `answer`
(whether the answer is what it says), `typed` (the answer as a type of Python).
"""
