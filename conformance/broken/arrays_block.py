"""A name does not look through an array."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        blocked = plan.request.mode == "include" and any(path.startswith("orders.") for path in plan.fields)
        return {"orders": []} if blocked else plan(value)


Broken().serve()
