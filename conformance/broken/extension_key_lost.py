"""The receipt stands under the literal key, whatever the request's."""

from honest import KEY, Honest


class Broken(Honest):
    def projected(self, plan, value, key):
        return super().projected(plan, value, KEY)


Broken().serve()
