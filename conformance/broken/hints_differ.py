"""The two forms of a hint say different things."""

from honest import HINT, Honest


class Broken(Honest):
    def listed(self, name):
        tool = super().listed(name)
        return {**tool, "_meta": {HINT: {"supported": True}}} if "_meta" in tool else tool


Broken().serve()
