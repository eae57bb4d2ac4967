"""A path that cannot be read gets the full output."""

from honest import Honest, Refused


class Broken(Honest):
    def asked(self, meta, arguments):
        try:
            return super().asked(meta, arguments)
        except Refused as refused:
            if "path" in refused.error:
                return None
            raise


Broken().serve()
