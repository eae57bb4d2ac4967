"""`louver serve`: the gateway in front of other servers, or the example server.

    louver serve -- npx -y @modelcontextprotocol/server-memory    one server, by its command
    louver serve --config mcp.json                                the servers of a file
    louver serve --example                                        the built-in server

It serves over stdio, or over Streamable HTTP with `--http HOST:PORT`; it reports on standard error.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from errno import EBADF
from fcntl import F_GETFL, fcntl
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.catalogue.policy.principal import NOBODY
from louver.cli import logs, upstreams
from louver.cli.listen_address import Address
from louver.cli.signals import by_signal
from louver.errors import InvalidInput, LouverError
from louver.gateway.gateway import Gateway
from louver.gateway.serve.fast_path import Fast
from louver.gateway.serve.http import listening_at, serve
from louver.gateway.serve.sessions import app_of, security_of
from louver.gateway.serve.stdio import serve_stdio
from louver.limits import FOLLOWED_S, MAX_INTEGER_DIGITS
from louver.server.request import Identity
from louver.server.sdk_internals import lowlevel_of

if TYPE_CHECKING:
    import socket
    from argparse import Namespace
    from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence

    from starlette.types import ASGIApp

    from louver.gateway.auth.settings import Auth
    from louver.gateway.config.reload import ConfigFile

logger = logging.getLogger(__name__)


def run(arguments: Namespace) -> int:
    """Serve until the client disconnects, or until a signal ends the process."""
    address = None if arguments.http is None else Address.read(arguments.http)
    if address is None and (arguments.anyone or arguments.known_as):
        raise InvalidInput("--anyone and --known-as are for --http: over stdio there is just who starts it")
    hosts = [] if address is None else address.known_as(arguments.known_as)
    if address is None and fcntl(1, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        # Standard output was closed, so no client could be answered.
        raise OSError(EBADF, os.strerror(EBADF))
    if arguments.example:
        if arguments.exposure in ("discovery", "gateway") or arguments.execute:
            exposure = (arguments.exposure or "full") + (" --execute" if arguments.execute else "")
            raise InvalidInput(
                "discovery, the one tool and scripts are for servers behind the gateway: "
                f"louver serve --exposure {exposure} -- louver serve --example"
            )
        if arguments.ready_views:
            raise InvalidInput("ready views are for servers behind the gateway: the example has its own views")
        if address is not None:
            address.check_is_for(tokens=False, anyone=arguments.anyone)
        _serve_example(address, hosts, minimal=arguments.exposure == "minimal")
        return 0
    logs.configure(arguments.log)
    file = None if arguments.config is None else _file(arguments.config)
    config = upstreams.read(arguments) if file is None else file.current
    if address is not None:
        address.check_is_for(tokens=config.auth is not None, anyone=arguments.anyone)
    set_up_process()
    made = partial(
        Gateway,
        config,
        exposure=arguments.exposure,
        execute=arguments.execute,
        ready_views=arguments.ready_views,
        changes=file is not None,
    )
    if address is None:
        asyncio.run(_gateway_over_stdio(partial(made, identity=Identity(config.principal or NOBODY)), file))
    else:
        asyncio.run(_gateway_over_http(made, file, config.auth, address, hosts))
    return 0


def set_up_process() -> None:
    """Set what holds for the whole process, which is the gateway's alone."""
    # Integers are sent on whatever their size, and Python writes none of more than 4,300 digits by itself.
    sys.set_int_max_str_digits(MAX_INTEGER_DIGITS)
    # Of a large message the collector would look at every part again and again, while nobody else runs.
    gc.set_threshold(10_000)


async def _gateway_over_stdio(made: Callable[..., Gateway], file: ConfigFile | None) -> None:
    telling: asyncio.Task[None] | None = None

    def opened() -> None:
        nonlocal telling
        if telling is None:
            telling = asyncio.create_task(_tell(gateway))
            behind.callback(telling.cancel)

    gateway = made(serves_one=True, opened=opened)
    if sys.stdin.isatty() and not logs.is_json():
        print("louver: waiting for a client on standard input; --http HOST:PORT serves many", file=sys.stderr)
    async with _working(gateway, file) as behind:
        await serve_stdio(
            gateway.server, ready=by_signal, end_streams=gateway.listening.close, end_behind=behind.aclose
        )


async def _gateway_over_http(
    made: Callable[..., Gateway], file: ConfigFile | None, auth: Auth | None, address: Address, hosts: Sequence[str]
) -> None:
    with listening_at(address.host, address.port) as listening:
        gateway = made(serves_one=False)
        async with _working(gateway, file) as behind:
            front = _front(gateway, auth, hosts)
            await behind.enter_async_context(_meanwhile(_tell_and_settle(gateway)))
            ready = partial(_tell_address, address.host, listening)
            end_streams = gateway.listening.close
            await serve(front, listening, ready=ready, end_streams=end_streams, end_behind=behind.aclose)


@asynccontextmanager
async def _working(gateway: Gateway, file: ConfigFile | None) -> AsyncGenerator[AsyncExitStack]:
    """Run the work behind the gateway; it is closed when calls are done, or else with the block."""
    try:
        async with AsyncExitStack() as behind:
            behind.push_async_callback(gateway.end)
            if file is not None:
                await behind.enter_async_context(_meanwhile(_follow(gateway, file)))
            yield behind
    finally:
        await gateway.close()


def _front(gateway: Gateway, auth: Auth | None, hosts: Sequence[str]) -> ASGIApp:
    """The ASGI application; authentication, if there is any, comes before everything else."""
    if auth is None:
        return Fast(app_of(gateway.server, known_as=hosts), gateway)
    # Imported here: without tokens no cryptography is needed.
    from louver.gateway.auth.authenticated import Authenticated, known_as

    app = app_of(gateway.server, known_as=[*hosts, *known_as(auth)])
    return Authenticated(Fast(app, gateway), auth)


def _file(path: str) -> ConfigFile:
    # Imported here, as in `upstreams.read`.
    from louver.gateway.config.reload import ConfigFile

    return ConfigFile(Path(path))


@asynccontextmanager
async def _meanwhile(doing: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run a coroutine as a task until the block ends."""
    task = asyncio.create_task(doing)
    try:
        yield
    finally:
        task.cancel()


async def _tell_and_settle(gateway: Gateway) -> None:
    await _tell(gateway)
    # These objects stay: exclude them from the garbage collections that large answers cause.
    gc.freeze()


async def _follow(gateway: Gateway, file: ConfigFile) -> None:
    started = file.current
    first_audit = started.audit
    await _changed(file)
    while True:
        said = file.current
        # Calls in flight are audited in the file in which they began.
        first_audit = first_audit or said.audit
        audit = None if said.audit is None else first_audit
        if (said.auth, said.principal, said.audit) != (started.auth, started.principal, audit):
            logger.error("who clients are and where is audited stays as it was: start again for what the file says")
        try:
            await gateway.change(replace(said, audit=audit))
        except LouverError as error:
            logger.error("the gateway stays as it was: %s", error.message)
            await _changed(file)
        else:
            # In a task: a silent server delays no other change.
            async with _meanwhile(_tell(gateway)):
                await _changed(file)


async def _changed(file: ConfigFile) -> None:
    """Wait until the file holds another configuration that can be served."""
    while True:
        await asyncio.sleep(FOLLOWED_S)
        if file.refresh():
            return


def _serve_example(address: Address | None, hosts: Sequence[str], *, minimal: bool) -> None:
    # Imported here: the gateway needs no example.
    from louver import attach
    from louver.example import build_server
    from louver.shipped import folder

    server = build_server()
    disclosure = "enforce" if minimal else "off"
    attach(
        server,
        views=folder("views"),
        argument=True,
        disclosure=disclosure,
        search=minimal,
    )
    if address is None:
        asyncio.run(
            serve_stdio(lowlevel_of(server), ready=by_signal, end_streams=_no_streams, end_behind=_nothing_behind)
        )
        return
    with listening_at(address.host, address.port) as listening:
        ready = partial(_tell_address, address.host, listening)
        app = server.streamable_http_app(transport_security=security_of(hosts))
        asyncio.run(serve(app, listening, ready=ready, end_streams=_no_streams, end_behind=_nothing_behind))


def _no_streams() -> None:
    pass


async def _nothing_behind() -> None:
    pass


async def _tell(gateway: Gateway) -> None:
    """Open the gateway and report its upstreams."""
    states = await gateway.open()
    if logs.is_json():
        for sentence in upstreams.sentences(states):
            logger.info("%s", sentence)
        return
    print(upstreams.lines(states), end="", file=sys.stderr, flush=True)


def _tell_address(host: str, listening: socket.socket, end: Callable[[], None]) -> None:
    by_signal(end)
    # Reported at once: the socket accepts already, and early clients wait until the server has started.
    shown = f"[{host}]" if ":" in host else host
    told = f"serving at http://{shown}:{listening.getsockname()[1]}/mcp"
    if logs.is_json():
        logger.info("%s", told)
    else:
        print(f"louver: {told}", file=sys.stderr, flush=True)
