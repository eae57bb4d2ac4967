"""A view in a hint is no list of paths."""

from honest import Honest


class Broken(Honest):
    def hint(self):
        return {"supported": True, "recommendedViews": {"minimal": ["id", "address..city"]}}


Broken().serve()
