"""A tool that cannot be projected refuses a call that asks for it."""

from honest import KEY, Honest, Refused


class Broken(Honest):
    def plain(self, name, meta):
        if name == "say_hello" and KEY in meta:
            raise Refused({"code": "INVALID_PROJECTION", "message": "it has no fields"})
        return super().plain(name, meta)


Broken().serve()
