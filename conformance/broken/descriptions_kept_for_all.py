"""What was read, with its grant, may be kept for everybody."""

from honest import Honest


class Broken(Honest):
    def read_resource(self, params):
        return {**super().read_resource(params), "cacheScope": "public"}


Broken().serve()
