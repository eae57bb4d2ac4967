"""The zygote and a child for themselves, in this process: what they are told, and what they say."""

from __future__ import annotations

import json
import os
import socket
import warnings

import pytest

from louver.lua import fork_server, worker
from louver.lua.fork_server import SPARE_CHILDREN
from lua.hosts import is_there

LIMITS = {"cpu": 2, "heap": 2**25, "calls": 2, "arguments": 1000, "reply": 1000, "result": 1000, "depth": 32}


def obeying(*orders, body=worker.serve):
    """What a zygote says that gets these orders and then no more, and the sockets that it gives."""
    ours, theirs = socket.socketpair()
    ours.sendall(b"".join(json.dumps(order).encode() + b"\n" for order in orders))
    ours.shutdown(socket.SHUT_WR)
    with ours, theirs, warnings.catch_warnings():
        # Python warns of threads at a fork; the child runs none.
        warnings.simplefilter("ignore", DeprecationWarning)
        fork_server.ForkServer(theirs, body, strict=False).serve()
        theirs.close()
        data, numbers = b"", []
        while True:
            part, given, _, _ = socket.recv_fds(ours, 65536, 8)
            data, numbers = data + part, numbers + given
            if not part:
                break
    for number in numbers:
        os.close(number)
    return [json.loads(line) for line in data.splitlines()], len(numbers)


def test_a_zygote_gives_children_and_ends_them_with_itself():
    """*Ours*: whatever was given, and the spares."""
    said, given = obeying({"give": True}, {"give": True}, {"give": True})
    assert said[0] == {"ready": True}
    pids = [one["given"] for one in said if "given" in one]
    assert (len(set(pids)), given) == (3, 3)
    ended = [one for one in said if "ended" in one]
    assert len(ended) == 3 + SPARE_CHILDREN
    assert all(one["signal"] == 9 for one in ended)
    assert not any(is_there(one["ended"]) for one in ended)


def test_a_zygote_kills_none_but_its_own():
    """*Ours*: a number that is not, or no longer, a child's is passed over."""
    said, _ = obeying({"kill": os.getpid()}, {"kill": 1})
    assert len([one for one in said if "ended" in one]) == SPARE_CHILDREN


def test_a_zygote_that_cannot_load_what_its_children_do_says_so():
    """*Ours*: by the kind of error alone."""
    ours, theirs = socket.socketpair()
    with ours, pytest.raises(SystemExit):
        fork_server.main(theirs.detach(), "louver.lua.nothing:at_all", "strict")


def serving(*frames):
    """What a child says to these frames, and to the end after them."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        for frame in frames:
            text = json.dumps(frame).encode()
            ours.sendall(len(text).to_bytes(4, "big") + text)
        ours.shutdown(socket.SHUT_WR)
        worker.serve(theirs.fileno())
        theirs.close()
        data = b"".join(iter(lambda: ours.recv(65536), b""))
    said = []
    while data:
        size = int.from_bytes(data[:4], "big")
        said.append(json.loads(data[4 : 4 + size]))
        data = data[4 + size :]
    return said


def first(script, **limits):
    """The frame that brings a script."""
    return {"script": script, "servers": ["a"], "limits": {**LIMITS, **limits}}


def test_a_child_asks_in_frames():
    """*Ours*: the talk as `worker.py` shows it."""
    said = serving(first("result(a.b():await())"), {"reply": 1, "value": {"x": 2}})
    assert said == [
        {"call": 1, "server": "a", "tool": "b", "arguments": {}},
        {"wait": True},
        {"result": {"x": 2}},
    ]


def test_a_child_that_nobody_answers_ends():
    """*Ours*: without a word."""
    assert serving(first("result(a.b():await())"))[-1] == {"wait": True}
    assert serving() == []


def test_a_child_without_memory_for_the_script_itself_says_so(monkeypatch):
    """*Ours*: where Lua has none to say it with."""
    monkeypatch.setattr(worker, "MAX_SCRIPT_HEAP", 4 * 1024 * 1024)
    servers = [f"s{number}" for number in range(18_000)]
    assert serving({**first("result(1)"), "servers": servers})[0]["error"]["code"] == "SANDBOX_MEMORY"
