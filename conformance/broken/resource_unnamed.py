"""The name of the resource does not say what it holds."""

from honest import Honest


class Broken(Honest):
    def resource(self):
        return {**super().resource(), "name": "Everything"}


Broken().serve()
