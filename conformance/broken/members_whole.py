"""A path of two names keeps all of the first one."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        return {"address": value["address"]} if plan.fields == ("address.city",) else plan(value)


Broken().serve()
