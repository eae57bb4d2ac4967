"""A recommended view names a field that there is not."""

from honest import VIEWS, Honest


class Broken(Honest):
    def __init__(self):
        super().__init__()
        VIEWS["odd"] = ["id", "no_such_member"]


Broken().serve()
