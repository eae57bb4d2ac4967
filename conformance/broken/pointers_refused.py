"""A JSON Pointer is refused."""

from honest import Honest, Refused


class Broken(Honest):
    def understood(self, request):
        if any(str(path).startswith("/") for path in request.get("fields", ())):
            raise Refused({"code": "INVALID_PROJECTION", "message": "no pointers"})
        return request


Broken().serve()
