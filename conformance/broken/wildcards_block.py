"""A wildcard matches nothing."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        return {} if any(".*." in path for path in plan.fields) else plan(value)


Broken().serve()
