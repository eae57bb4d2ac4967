"""The receipt tells other fields than those that were asked for."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "fields": ["*"]}


Broken().serve()
