"""What is kept of an answer, and its receipt."""

from honest import KEY, Honest, Refused

from lies.registry import breaks


@breaks("receipt-given")
class ReceiptMissing(Honest):
    """A projected answer says nothing of its projection."""

    def projected(self, plan, value, key):
        return {**super().projected(plan, value, key), "_meta": {}}


@breaks("not-applied-is-whole")
class TrimmedButNotApplied(Honest):
    """The receipt says that no projection was applied, and the answer is trimmed."""

    def receipt(self, plan, kept, value):
        return {"applied": False, "reason": "not_supported"}


@breaks("applied-is-trimmed")
class AppliedButWhole(Honest):
    """The receipt says that a projection was applied, and nothing is left out."""

    def kept(self, plan, value):
        return value


@breaks("receipt-repeats")
class FieldsWrong(Honest):
    """The receipt tells other fields than those that were asked for."""

    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "fields": ["*"]}


@breaks("fields-canonical")
class FieldsNotCanonical(Honest):
    """The receipt repeats fields as they were written."""

    written = ()

    def understood(self, request):
        self.written = request.get("fields", ())
        return request

    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "fields": list(self.written)}


@breaks("partial-told")
class PartialNotTold(Honest):
    """The receipt says that nothing was left out."""

    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "partial": False}


@breaks("unmatched-told")
class UnmatchedSilent(Honest):
    """A field that the schema does not know is passed over in silence."""

    def receipt(self, plan, kept, value):
        said = super().receipt(plan, kept, value)
        said.pop("unmatched", None)
        return said


@breaks("include-keeps-named")
class IncludeKeepsMore(Honest):
    """Include keeps a field that was not named."""

    def kept(self, plan, value):
        kept = plan(value)
        return {**kept, "name": value["name"]} if plan.fields == ("id",) and plan.request.mode == "include" else kept


@breaks("exclude-leaves-out")
class ExcludeAdds(Honest):
    """Exclude adds a member."""

    def kept(self, plan, value):
        kept = plan(value)
        return {**kept, "left_out": 1} if plan.request.mode == "exclude" else kept


@breaks("exclude-leaves-out")
class ExcludeStaysAtTheTop(Honest):
    """Exclude leaves nothing out within a member."""

    def kept(self, plan, value):
        is_within = plan.request.mode == "exclude" and any(path.startswith("address.") for path in plan.fields)
        return value if is_within else plan(value)


@breaks("view-keeps-its-fields")
class ViewIgnored(Honest):
    """A view is answered with everything."""

    def kept(self, plan, value):
        return value if plan.request.mode == "view" else plan(value)


@breaks("path-of-a-member")
class MembersWhole(Honest):
    """A path of two names keeps all of the first one."""

    def kept(self, plan, value):
        is_it = plan.fields == ("address.city",) and plan.request.mode == "include"
        return {"address": value["address"]} if is_it else plan(value)


@breaks("path-through-an-array")
class ArraysBlock(Honest):
    """A name does not look through an array."""

    def kept(self, plan, value):
        blocked = plan.request.mode == "include" and any(path.startswith("orders.") for path in plan.fields)
        return {"orders": []} if blocked else plan(value)


@breaks("path-with-a-wildcard")
class WildcardsBlock(Honest):
    """A wildcard matches nothing."""

    def kept(self, plan, value):
        return {} if any(".*." in path for path in plan.fields) else plan(value)


@breaks("path-in-other-forms")
class PointersRefused(Honest):
    """A JSON Pointer is refused."""

    def understood(self, request):
        if any(str(path).startswith("/") for path in request.get("fields", ())):
            raise Refused({"code": "INVALID_PROJECTION", "message": "no pointers"})
        return request


@breaks("rows-are-right-or-refused")
class RowsWhole(Honest):
    """A test of rows selects all of them."""

    def kept(self, plan, value):
        return plan(value) if "[" not in plan.fields[0] else {"orders": value["orders"]}


@breaks("exclude-at-any-depth")
class DepthsRefused(Honest):
    """A name at any depth is refused."""

    def understood(self, request):
        if any(str(path).startswith("**") for path in request.get("fields", ())):
            raise Refused({"code": "INVALID_PROJECTION", "message": "not at any depth"})
        return request


@breaks("content-is-the-same")
class ContentKeepsMore(Honest):
    """The content keeps what the structured content has lost."""

    def content(self, kept, value):
        return value


@breaks("content-is-the-same")
class ContentGone(Honest):
    """A projected answer has no content."""

    def projected(self, plan, value, key):
        return {**super().projected(plan, value, key), "content": []}


@breaks("no-value-elsewhere")
class LeftOutInReceipt(Honest):
    """The receipt tells what was left out."""

    def receipt(self, plan, kept, value):
        return {**super().receipt(plan, kept, value), "leftOut": value}


@breaks("without-request-as-ever")
class ReceiptUnasked(Honest):
    """A call that asks for nothing gets a receipt."""

    def whole(self, value):
        return {**super().whole(value), "_meta": {KEY: {"applied": False, "reason": "not_supported"}}}


@breaks("degrades-to-full-output")
class ProseRefused(Honest):
    """A tool that cannot be projected refuses a call that asks for it."""

    def plain(self, name, meta):
        if name == "say_hello" and KEY in meta:
            raise Refused({"code": "INVALID_PROJECTION", "message": "it has no fields"})
        return super().plain(name, meta)


@breaks("degrades-to-full-output")
class ProseProjected(Honest):
    """The receipt of prose says that a projection was applied."""

    def plain(self, name, meta):
        answer = super().plain(name, meta)
        return {**answer, "_meta": {KEY: {"applied": True}}} if name == "say_hello" and "_meta" in answer else answer


@breaks("extension-key")
class ExtensionKeyLost(Honest):
    """The receipt stands under the literal key, whatever the request's."""

    def projected(self, plan, value, key):
        return super().projected(plan, value, KEY)


@breaks("argument-asks")
class ArgumentIgnored(Honest):
    """The declared argument is not heeded."""

    def asked(self, meta, arguments):
        return super().asked(meta, {})


@breaks("progress-beside")
class ProgressInstead(Honest):
    """A progress token puts the projection out of force."""

    def asked(self, meta, arguments):
        return None if "progressToken" in meta else super().asked(meta, arguments)
