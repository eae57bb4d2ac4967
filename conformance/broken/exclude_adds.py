"""Exclude adds a member."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        kept = plan(value)
        return {**kept, "left_out": 1} if plan.request.mode == "exclude" else kept


Broken().serve()
