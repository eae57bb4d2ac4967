"""A member of a request that there is not is passed over."""

from honest import Honest


class Broken(Honest):
    def understood(self, request):
        return {name: value for name, value in request.items() if name != "limit"}


Broken().serve()
