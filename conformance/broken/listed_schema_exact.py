"""The listed schema is the exact one, which trimmed answers do not satisfy."""

from honest import TOOLS, Honest


class Broken(Honest):
    def listed_schema(self, name):
        return TOOLS[name].get("outputSchema")


Broken().serve()
