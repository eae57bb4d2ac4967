"""A tool that can be projected says so in '_meta' alone."""

from honest import Honest


class Broken(Honest):
    def listed(self, name):
        return {**super().listed(name), "annotations": {"readOnlyHint": True}}


Broken().serve()
