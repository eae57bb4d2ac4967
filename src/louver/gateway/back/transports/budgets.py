"""The budgets of one upstream: what it may use at once, over all connections of all clients."""

from __future__ import annotations

import asyncio

from louver.concurrency.budget import BudgetByKey, PeerBudget, Turnstile
from louver.limits import MAX_PEER_CALLS, MAX_UPSTREAM_CONNECTIONS, MAX_UPSTREAM_IDLE, MAX_UPSTREAM_QUESTIONS

MAX_UPSTREAM_SENDS = 16
"""Messages without an answer that an HTTP upstream gets at once, each over a connection; further ones wait."""

MAX_UPSTREAM_NOTIFICATIONS = 200
"""Notifications that an HTTP upstream has not accepted yet; further ones are dropped."""


class UpstreamBudgets:
    def __init__(self) -> None:
        self.connections = PeerBudget(MAX_UPSTREAM_CONNECTIONS)
        self.calls = BudgetByKey(MAX_PEER_CALLS)  # by whose they are
        self.idle = PeerBudget(MAX_UPSTREAM_IDLE)  # connections
        self.questions = PeerBudget(MAX_UPSTREAM_QUESTIONS)  # its requests, until their answers are sent
        self.notifications = PeerBudget(MAX_UPSTREAM_NOTIFICATIONS)  # to it, until it has accepted them
        self.sends = asyncio.Semaphore(MAX_UPSTREAM_SENDS)  # answers and notifications on their way
        self.turnstile = Turnstile()  # for what has more to read than one turn of the loop takes
