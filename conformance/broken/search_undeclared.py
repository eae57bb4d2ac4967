"""Search is declared as an extension alone."""

from honest import Honest


class Broken(Honest):
    def capabilities(self):
        return {**super().capabilities(), "tools": {"projection": self.capability()}}


Broken().serve()
