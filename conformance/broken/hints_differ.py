"""The two forms of a hint say different things."""

from honest import EXTENSION, Honest


class Broken(Honest):
    def listed(self, name):
        tool = super().listed(name)
        return {**tool, "_meta": {EXTENSION: {"supported": True}}} if "_meta" in tool else tool


Broken().serve()
