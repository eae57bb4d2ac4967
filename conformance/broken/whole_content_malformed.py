"""A whole answer has a block of content that is none."""

from honest import Honest


class Broken(Honest):
    def whole(self, value):
        return {**super().whole(value), "content": [{"type": "text"}]}


Broken().serve()
