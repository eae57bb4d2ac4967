"""A query that is refused has no code."""

from honest import Honest, Refused


class Broken(Honest):
    def check_query(self, query):
        try:
            super().check_query(query)
        except Refused:
            raise Refused({"message": "no"}) from None


Broken().serve()
