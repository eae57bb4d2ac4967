"""Budgets: what is over one is refused and changes nothing, and what is given back can be taken again."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from louver.concurrency.budget import BudgetByKey, PeerBudget


def test_what_is_over_a_budget_is_refused_until_something_is_given_back():
    """TRUST.md: over budget, that peer is refused."""
    budget = PeerBudget(2)
    assert [budget.take(), budget.take(), budget.take()] == [True, True, False]
    budget.give_back()
    assert [budget.take(), budget.take(), budget.used] == [True, False, 2]


def test_an_amount_is_taken_whole_or_not_at_all():
    """Ours: half of it would be of no use."""
    budget = PeerBudget(100)
    assert [budget.take(60), budget.take(60), budget.used] == [True, False, 60]
    assert [budget.take(40), budget.used] == [True, 100]


def test_only_what_was_taken_can_be_given_back():
    """Ours: a budget that grows by mistake is none."""
    with pytest.raises(AssertionError):
        PeerBudget(2).give_back()


def test_one_key_does_not_use_what_is_anothers():
    """TRUST.md: nobody else notices."""
    budgets = BudgetByKey(1)
    assert [budgets.take("a"), budgets.take("a"), budgets.take("b")] == [True, False, True]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 3))))
def test_a_key_that_uses_nothing_is_forgotten(takes):
    """Ours: a client can have as many keys as there are addresses."""
    budgets = BudgetByKey(5)
    taken = [(key, amount) for key, amount in takes if budgets.take(key, amount)]
    assert all(budgets.used(key) == sum(amount for each, amount in taken if each == key) <= 5 for key in "abc")
    assert len(budgets) == len({key for key, _ in taken})
    for key, amount in taken:
        budgets.give_back(key, amount)
    assert len(budgets) == 0


def test_what_is_refused_to_a_new_key_leaves_no_trace():
    """Ours: likewise."""
    budgets = BudgetByKey(5)
    assert not budgets.take("a", 6)
    assert len(budgets) == 0


def test_what_is_used_within_a_block_is_given_back_however_it_ends():
    """TRUST.md: over budget, that peer is refused; who is nobody's peer has no bound."""
    budgets = BudgetByKey(1)
    with suppress(KeyError), budgets.using("a") as first, budgets.using("a") as second:
        assert [first, second, budgets.used("a")] == [True, False, 1]
        raise KeyError
    assert len(budgets) == 0
    with budgets.using(None) as first, budgets.using(None) as second:
        assert [first, second, len(budgets)] == [True, True, 0]
