"""Of two different requests one is taken."""

from honest import EXTENSION, KEY, Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        only = {key: meta[key] for key in list(meta) if key != EXTENSION or KEY not in meta}
        return super().asked(only, arguments)


Broken().serve()
