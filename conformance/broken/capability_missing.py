"""The capability is declared as an extension alone."""

from honest import Honest


class Broken(Honest):
    def capabilities(self):
        return {**super().capabilities(), "tools": {"filtering": True}}


Broken().serve()
