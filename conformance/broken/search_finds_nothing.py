"""A search finds nothing."""

from honest import Honest


class Broken(Honest):
    def found(self, query):
        self.check_query(query)
        return []


Broken().serve()
