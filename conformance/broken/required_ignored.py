"""A required projection that is not possible gets the full output."""

from honest import KEY, Honest


class Broken(Honest):
    def plain(self, name, meta):
        return super().plain(name, {KEY: {}} if KEY in meta else {})


Broken().serve()
