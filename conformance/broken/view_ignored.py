"""A view is answered with everything."""

from honest import Honest


class Broken(Honest):
    def kept(self, plan, value):
        return value if plan.request.mode == "view" else plan(value)


Broken().serve()
