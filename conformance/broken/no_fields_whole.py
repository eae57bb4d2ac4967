"""A request without a field gets the full output."""

from honest import Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        return None if meta.get("projection", {}).get("fields") == [] else super().asked(meta, arguments)


Broken().serve()
