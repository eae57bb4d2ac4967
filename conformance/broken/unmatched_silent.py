"""A field that the schema does not know is passed over in silence."""

from honest import Honest


class Broken(Honest):
    def receipt(self, plan, kept, value):
        said = super().receipt(plan, kept, value)
        said.pop("unmatched", None)
        return said


Broken().serve()
