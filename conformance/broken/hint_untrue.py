"""A tool says that it can be projected, and refuses."""

from honest import Honest, Refused


class Broken(Honest):
    def plan(self, asked):
        raise Refused({"code": "INVALID_PROJECTION", "message": "not today"})


Broken().serve()
