"""The projected schema refuses what is left."""

from honest import Honest


class Broken(Honest):
    def schema(self, plan, kept):
        return {"type": "array"}


Broken().serve()
