"""The servers that break a sentence, by their names."""

from dataclasses import dataclass

from honest import OLD, Honest


@dataclass(frozen=True)
class Lie:
    """A server with one method changed.

    Args:
        server: Its class.
        fails: The check that it must fail, and no other; empty for any.
        era: The protocol revision in which it does.
    """

    server: type[Honest]
    fails: str
    era: str


LIES = {}


def breaks(check, era=OLD):
    def add(server):
        LIES[server.__name__] = Lie(server, check, era)
        return server

    return add
