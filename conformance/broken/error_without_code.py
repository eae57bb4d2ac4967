"""A refusal has neither code nor data."""

from honest import Honest, Refused


class Broken(Honest):
    def asked(self, meta, arguments):
        try:
            return super().asked(meta, arguments)
        except Refused:
            raise Refused({"message": "no"}) from None


Broken().serve()
