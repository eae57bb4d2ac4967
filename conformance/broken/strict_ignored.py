"""A strict request is answered like any other."""

from honest import Honest


class Broken(Honest):
    def understood(self, request):
        return {name: value for name, value in request.items() if name != "strict"}


Broken().serve()
