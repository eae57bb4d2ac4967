"""Include keeps a field that was not named."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        kept = plan(value)
        return {**kept, "name": value["name"]} if plan.fields == ("id",) and plan.request.mode == "include" else kept


Broken().serve()
