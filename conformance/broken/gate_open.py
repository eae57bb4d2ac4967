"""A tool runs before its description was read."""

from honest import Honest


class Broken(Honest):
    def may_call(self, name, meta, arguments):
        return True


Broken().serve()
