"""A progress token puts the projection out of force."""

from honest import Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        return None if "progressToken" in meta else super().asked(meta, arguments)


Broken().serve()
