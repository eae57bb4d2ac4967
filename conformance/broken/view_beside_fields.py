"""A view beside fields is passed over."""

from honest import Honest


class Broken(Honest):
    def understood(self, request):
        return {name: value for name, value in request.items() if name != "view" or "fields" not in request}


Broken().serve()
