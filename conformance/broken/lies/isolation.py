"""What one call or client leaves to the next."""

from honest import Honest

from lies.registry import breaks


@breaks("request-is-of-one-call")
class RequestSticks(Honest):
    """A request holds for all calls that follow."""

    last = None

    def asked(self, meta, arguments):
        return super().asked(meta, arguments) or self.last

    def projected(self, plan, value, key):
        self.last = plan.request if plan.request.mode == "include" else self.last
        return super().projected(plan, value, key)


@breaks("list-stays")
class ListChanges(Honest):
    """The list of tools tells of calls."""

    def summary(self, name):
        return f"{super().summary(name)} {self.runs[name]} runs."


@breaks("reading-authorises-oneself")
class GrantsShared(Honest):
    """What one client has read authorises all clients of the same user, over HTTP."""

    opened = frozenset()

    def remember(self, names, grant):
        super().remember(names, grant)
        type(self).opened = self.opened | {*names}

    def may_call(self, name, meta, arguments):
        return name in self.opened
