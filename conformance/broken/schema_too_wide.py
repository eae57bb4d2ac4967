"""The projected schema accepts everything."""

from honest import Honest


class Broken(Honest):
    def schema(self, plan, kept):
        return {"type": "object"}


Broken().serve()
