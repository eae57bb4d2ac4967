"""The resource does not tell how it is used."""

from honest import Honest


class Broken(Honest):
    def resource(self):
        return {**super().resource(), "description": "Read this first."}


Broken().serve()
