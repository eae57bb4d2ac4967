"""The list of tools tells of calls."""

from honest import Honest


class Broken(Honest):
    def summary(self, name):
        return f"{super().summary(name)} {self.runs[name]} runs."


Broken().serve()
