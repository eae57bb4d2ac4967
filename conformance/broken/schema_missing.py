"""A receipt has no projected schema."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        said = super().receipt(plan, kept, value)
        said.pop("projectedSchema", None)
        return said


Broken().serve()
