"""A read that names no tool holds all of them."""

from honest import TOOLS, Honest


class Broken(Honest):
    def nothing_named(self):
        return {name: self.description(name, "") for name in TOOLS}


Broken().serve()
