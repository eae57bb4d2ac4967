"""A search finds tools that do not fit."""

from honest import TOOLS, Honest


class Broken(Honest):
    def found(self, query):
        self.check_query(query)
        return list(TOOLS)


Broken().serve()
