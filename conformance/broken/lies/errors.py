"""Requests that cannot be."""

from honest import EXTENSION, KEY, VIEWS, Honest, Refused

from lies.registry import breaks


@breaks("unknown-mode-is-refused")
class UnknownModeWhole(Honest):
    """A mode that there is not gets the full output."""

    def asked(self, meta, arguments):
        return None if meta.get("projection", {}).get("mode") == "only" else super().asked(meta, arguments)


@breaks("unknown-view-is-refused")
class UnknownViewWhole(Honest):
    """A view that there is not gets the full output."""

    def asked(self, meta, arguments):
        wanted = meta.get("projection", {})
        is_unknown = wanted.get("mode") == "view" and not any(wanted["view"] in views for views in VIEWS.values())
        return None if is_unknown else super().asked(meta, arguments)


@breaks("no-fields-are-refused")
class NoFieldsWhole(Honest):
    """A request without a field gets the full output."""

    def asked(self, meta, arguments):
        return None if meta.get("projection", {}).get("fields") == [] else super().asked(meta, arguments)


@breaks("bad-path-is-refused")
class BadPathWhole(Honest):
    """A path that cannot be read gets the full output."""

    def asked(self, meta, arguments):
        try:
            return super().asked(meta, arguments)
        except Refused as refused:
            if "path" in refused.error:
                return None
            raise


@breaks("unknown-member-is-refused")
class UnknownMemberIgnored(Honest):
    """A member of a request that there is not is passed over."""

    def understood(self, request):
        return {name: value for name, value in request.items() if name != "limit"}


@breaks("view-beside-fields-is-refused")
class ViewBesideFields(Honest):
    """A view beside fields is passed over."""

    def understood(self, request):
        return {name: value for name, value in request.items() if name != "view" or "fields" not in request}


@breaks("two-requests-are-refused")
class TwoRequestsTaken(Honest):
    """Of two different requests one is taken."""

    def asked(self, meta, arguments):
        only = {key: meta[key] for key in list(meta) if key != EXTENSION or KEY not in meta}
        return super().asked(only, arguments)


@breaks("strict-refuses-unknown-fields")
class StrictIgnored(Honest):
    """A strict request is answered like any other."""

    def understood(self, request):
        return {name: value for name, value in request.items() if name != "strict"}


@breaks("required-or-refused")
class RequiredIgnored(Honest):
    """A required projection that is not possible gets the full output."""

    def plain(self, name, meta):
        return super().plain(name, {KEY: {}} if KEY in meta else {})


@breaks("refusal-has-a-code")
class ErrorWithoutCode(Honest):
    """A refusal has neither code nor data."""

    def asked(self, meta, arguments):
        try:
            return super().asked(meta, arguments)
        except Refused:
            raise Refused({"message": "no"}) from None


@breaks("nothing-has-run")
class RefusedAfterRunning(Honest):
    """A request is refused after the tool has run."""

    def asked(self, meta, arguments):
        self.runs["get_person"] += 1
        return super().asked(meta, arguments)
