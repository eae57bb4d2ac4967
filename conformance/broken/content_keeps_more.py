"""The content keeps what the structured content has lost."""

from honest import Honest


class Broken(Honest):
    def content(self, kept, value):
        return value


Broken().serve()
