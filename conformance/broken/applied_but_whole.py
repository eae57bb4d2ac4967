"""The receipt says that a projection was applied, and nothing is left out."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        return value


Broken().serve()
