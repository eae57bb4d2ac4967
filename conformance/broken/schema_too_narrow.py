"""The projected schema is that of one answer alone, and does not say so."""

from honest import Honest


class Broken(Honest):
    def schema(self, plan, kept):
        return {"const": kept}


Broken().serve()
