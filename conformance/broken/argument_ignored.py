"""The declared argument is not heeded."""

from honest import Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        return super().asked(meta, {})


Broken().serve()
