"""The capability does not tell that fields can be excluded."""

from honest import Honest


class Broken(Honest):
    def capability(self):
        return {**super().capability(), "modes": ["include", "view"]}


Broken().serve()
