"""How many files the command may open, and what it starts."""

from __future__ import annotations

import logging
import resource

import pytest

from fixtures.failsafe import until
from louver.cli.process import MAX_OPEN_FILES, raise_open_files
from louver.concurrency import places
from louver.concurrency.places import client_connections, max_open_files, restore_limit
from louver.gateway.back.transports.process import Process

pytestmark = pytest.mark.anyio


@pytest.fixture
def hard_limit(monkeypatch):
    """The hard limit; the soft one is far below."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(places, "_raised_from", None)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard // 2 if 0 < hard < 4_096 else 1_024, hard))
    yield hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_the_limit_of_files_is_raised_for_the_process_alone(hard_limit):
    """TEAM.md, "Second look", row 4: 512 clients were half of the soft limit. A server may raise its own."""
    before = max_open_files()
    raise_open_files()
    raised = MAX_OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(MAX_OPEN_FILES, hard_limit - 1)
    assert max_open_files() == raised
    assert client_connections() == min(places.MAX_CLIENT_CONNECTIONS, raised // 2)
    logger = logging.getLogger("louver.upstream")
    for command, limit in ((["cat"], before), (["sh", "-c", "ulimit -Sn $(ulimit -Hn); exec cat"], hard_limit)):
        process = await Process.start(command, {}, None, logger)
        pid = process._transport.get_pid()
        await until(lambda pid=pid, limit=limit: resource.prlimit(pid, resource.RLIMIT_NOFILE) == (limit, hard_limit))
        restore_limit(pid)
        assert resource.prlimit(pid, resource.RLIMIT_NOFILE) == (limit, hard_limit)
        await process.close()
