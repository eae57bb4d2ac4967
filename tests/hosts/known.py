"""What cannot work, and why: a cell of a stack -> the reason. A cell that works after all is found by the tests."""

KNOWN = {}
