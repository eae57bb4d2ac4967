"""The instructions do not tell how a query is written."""

from honest import Honest


class Broken(Honest):
    def instructions(self):
        return "Ask for people."


Broken().serve()
