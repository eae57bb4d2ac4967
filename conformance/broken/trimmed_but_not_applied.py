"""The receipt says that no projection was applied, and the answer is trimmed."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        return {"applied": False, "reason": "not_supported"}


Broken().serve()
