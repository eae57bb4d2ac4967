"""A query is read as a pattern."""

import re

from honest import Honest, Refused


class Broken(Honest):
    def found(self, query):
        self.check_query(query)
        try:
            re.compile(query)
        except re.error:
            raise Refused({"code": "INVALID_QUERY", "message": "a pattern"}) from None
        return super().found(query)


Broken().serve()
