"""A projected answer has a block of content that is none."""

from honest import Honest


class Broken(Honest):
    def projected(self, plan, value, key):
        return {**super().projected(plan, value, key), "content": [{"type": "text"}]}


Broken().serve()
