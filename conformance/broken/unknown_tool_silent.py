"""A tool that there is not is passed over."""

from honest import TOOLS, Honest


class Broken(Honest):
    def described(self, names, grant):
        return {name: each for name, each in super().described(names, grant).items() if name in TOOLS}


Broken().serve()
