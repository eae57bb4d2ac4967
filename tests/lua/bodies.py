"""What a child does in place of a script: Python, as if somebody had broken Lua and could say and do anything."""

from __future__ import annotations

import ctypes
import itertools
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import threading


def _send(channel, value):
    _send_bytes(channel, value if isinstance(value, bytes) else json.dumps(value).encode())


def _send_bytes(channel, text):
    os.write(channel, len(text).to_bytes(4, "big") + text)


def _receive(channel):
    size = int.from_bytes(os.read(channel, 4), "big")
    text = b""
    while len(text) < size:
        text += os.read(channel, size - len(text))
    return text


# Getting out


def _works(attempt, *arguments, **options):
    try:
        return repr(attempt(*arguments, **options))
    except (OSError, ValueError, RuntimeError, MemoryError) as error:
        return f"refused: {type(error).__name__}"


def _native(name, *arguments):
    call = getattr(ctypes.CDLL(None, use_errno=True), name)
    if call(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)
    return name


def _fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid


def escapes(channel):
    """Try what there is to be tried."""
    _receive(channel)
    parent = os.getppid()
    tried = {
        "open": _works(os.open, "/etc/passwd", os.O_RDONLY),
        "create": _works(os.open, "/tmp/louver-escaped", os.O_CREAT | os.O_WRONLY),
        "list": _works(os.listdir, "/"),
        "status": _works(os.stat, "/"),
        "unlink": _works(os.unlink, "/nowhere"),
        "proc": _works(os.open, f"/proc/{parent}/environ", os.O_RDONLY),
        "socket": _works(socket.socket, socket.AF_INET, socket.SOCK_STREAM),
        "unix": _works(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM),
        "connect": _works(_native, "connect", channel, b"\x01\x00/nowhere", 12),
        "pair": _works(socket.socketpair),
        "descriptors": _works(socket.recv_fds, _Stream(channel), 1, 1),
        "pipe": _works(os.pipe),
        "duplicate": _works(os.dup, channel),
        "fork": _works(_fork),
        "thread": _works(threading.Thread(target=int).start),
        "spawn": _works(subprocess.run, ["/bin/true"], check=False),
        "exec": _works(os.execv, "/bin/true", ["true"]),
        "kill": _works(os.kill, parent, 0),
        "kill all": _works(os.kill, -1, 0),
        "trace": _works(_native, "ptrace", 16, parent, 0, 0),
        "memory of others": _works(_native, "process_vm_readv", parent, 0, 0, 0, 0, 0),
        "executable memory": _works(mmap.mmap, -1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
        "bounds": _works(resource.setrlimit, resource.RLIMIT_CPU, (60, 60)),
        "memory": _works(bytearray, 512 * 1024 * 1024),
        "root": _works(os.setuid, 0),
        "directory": _works(os.chdir, "/tmp"),
        "mount": _works(_native, "mount", b"none", b"/", b"tmpfs", 0, None),
        "kernel": _works(_native, "unshare", 0x10000000),
        "new filter": _works(_native, "prctl", 22, 0, 0, 0, 0),
        "environment": repr({name for name in os.environ if name != "LC_CTYPE"}),
    }
    _send(channel, {"result": tried})


class _Stream:
    """A socket that is none of Python's, which would ask the kernel what it is."""

    def __init__(self, number):
        self._number = number

    def recvmsg(self, *_arguments):
        _native("recvmsg", self._number, b"\0" * 56, 64)


# Saying what cannot be


def says(channel):
    """Say what the host's script is: a list of frames, as JSON or, as text in hexadecimal, as bytes; null takes one."""
    for frame in json.loads(json.loads(_receive(channel))["script"]):
        if frame is None:
            _receive(channel)
        elif isinstance(frame, str):
            os.write(channel, bytes.fromhex(frame))
        else:
            _send(channel, frame)
    while os.read(channel, 65536):
        pass


def floods(channel):
    """Say something small without end, each time as it should be said."""
    _receive(channel)
    for number in itertools.count(1):
        _send(channel, {"paths": number, "fields": ["a"]})


def says_large(channel):
    """Announce more than is read."""
    _receive(channel)
    os.write(channel, (2**31).to_bytes(4, "big"))
    while os.read(channel, 65536):
        pass


# Ending


def ends(channel):
    """End without a word."""
    _receive(channel)


def dies(channel):
    """Be killed by a fault."""
    _receive(channel)
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    ctypes.string_at(0)


def lacks_memory(channel):
    """End as one that has no memory to say so."""
    _receive(channel)
    os._exit(3)


def waits(channel):
    """Do nothing, without using any time, and hold on to it."""
    _receive(channel)
    while True:
        os.read(channel, 65536)


def silent(_channel):
    """End at once."""


def opens(channel):
    """A self-test that was able to do something."""
    _send(channel, {"done": ["open a file"]})


def attempts_but_exec(channel):
    """What the kernel's bounds alone refuse."""
    _receive(channel)
    tried = {
        "open": _works(os.open, "/", os.O_RDONLY),
        "socket": _works(socket.socket, socket.AF_INET, socket.SOCK_STREAM),
        "pipe": _works(os.pipe),
        "list": _works(os.listdir, "/"),
        "bounds": _works(resource.setrlimit, resource.RLIMIT_NOFILE, (64, 64)),
    }
    _send(channel, {"result": {name: not said.startswith("refused") for name, said in tried.items()}})


def wrong(channel):
    """Answer what the script does not say."""
    _receive(channel)
    _send(channel, {"result": 1})


def lingers(channel):
    """Close the socket, and stay."""
    _receive(channel)
    os.close(channel)
    signal.pause()
