"""A call that asks for nothing gets a receipt."""

from honest import KEY, Honest


class Broken(Honest):
    def whole(self, value):
        return {**super().whole(value), "_meta": {KEY: {"applied": False, "reason": "not_supported"}}}


Broken().serve()
