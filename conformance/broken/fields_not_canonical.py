"""The receipt repeats fields as they were written."""

from honest import Honest


class Broken(Honest):
    written = ()

    def understood(self, request):
        self.written = request.get("fields", ())
        return request

    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "fields": list(self.written)}


Broken().serve()
