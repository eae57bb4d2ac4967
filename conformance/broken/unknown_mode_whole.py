"""A mode that there is not gets the full output."""

from honest import Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        return None if meta.get("projection", {}).get("mode") == "only" else super().asked(meta, arguments)


Broken().serve()
