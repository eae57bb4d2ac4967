"""A number is taken for a query."""

from honest import Honest


class Broken(Honest):
    def found(self, query):
        return super().found(query if isinstance(query, str) else str(query))


Broken().serve()
