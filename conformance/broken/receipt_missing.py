"""A projected answer says nothing of its projection."""

from honest import Honest


class Broken(Honest):
    def projected(self, plan, value, key):
        return {**super().projected(plan, value, key), "_meta": {}}


Broken().serve()
