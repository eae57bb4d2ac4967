"""The receipt tells what was left out."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "leftOut": value}


Broken().serve()
