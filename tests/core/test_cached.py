"""A property that is made once, and for which others do not wait."""

from threading import Event, Thread

from fixtures.failsafe import FAILSAFE_S
from louver.core.cached import cached_property
from louver.core.projection.plan import Plan, compile_projection
from louver.core.projection.request import Projection


class Thing:
    made = 0

    def __init__(self, wait=lambda: None):
        self.wait = wait

    @cached_property
    def made_of(self):
        """What it is made of."""
        self.wait()
        Thing.made += 1
        return [self]


def test_it_is_made_once_and_kept():
    """As `functools.cached_property`."""
    thing = Thing()
    before = Thing.made
    assert thing.made_of is thing.made_of
    assert Thing.made == before + 1
    assert Thing().made_of is not thing.made_of
    assert Thing.made_of.__doc__ == "What it is made of."


def test_while_one_is_made_another_is_made():
    """Not as `functools.cached_property` in Python 3.11: a plan that takes long in a thread holds up no other."""
    begun, done = Event(), Event()

    def wait():
        begun.set()
        assert done.wait(FAILSAFE_S)

    thread = Thread(target=lambda: Thing(wait).made_of)
    thread.start()
    assert begun.wait(FAILSAFE_S)
    other = Thread(target=lambda: Thing().made_of)
    other.start()
    other.join(FAILSAFE_S)
    is_made = not other.is_alive()
    done.set()
    thread.join()
    other.join()
    assert is_made


def test_plans_use_it():
    assert isinstance(vars(Plan)["_derived"], cached_property)
    plan = compile_projection(Projection(include=["id"]), {"type": "object"})
    assert plan.schema is plan.schema
