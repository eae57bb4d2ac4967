"""A request is refused after the tool has run."""

from honest import Honest


class Broken(Honest):
    def asked(self, meta, arguments):
        self.runs["get_person"] += 1
        return super().asked(meta, arguments)


Broken().serve()
