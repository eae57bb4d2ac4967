"""The receipt says that nothing was left out."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "partial": False}


Broken().serve()
