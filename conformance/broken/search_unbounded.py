"""A query may be as long as it likes."""

from honest import Honest


class Broken(Honest):
    def check_query(self, query):
        if not isinstance(query, str) or not query.isprintable():
            super().check_query("\n")


Broken().serve()
