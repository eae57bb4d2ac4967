"""The resource does not say that it is JSON."""

from honest import Honest


class Broken(Honest):
    def resource(self):
        return {**super().resource(), "mimeType": "text/plain"}


Broken().serve()
