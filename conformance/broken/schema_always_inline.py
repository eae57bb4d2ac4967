"""The schema is told inline, whatever was asked for."""

from honest import Honest


class Broken(Honest):
    def understood(self, request):
        return {name: value for name, value in request.items() if name != "schema"}


Broken().serve()
