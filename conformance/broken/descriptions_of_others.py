"""A read holds the descriptions of all tools."""

from honest import TOOLS, Honest


class Broken(Honest):
    def described(self, names, grant):
        return super().described({*names, *TOOLS}, grant)


Broken().serve()
