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
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import replace
from errno import EBADF
from fcntl import F_GETFL, fcntl
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from louver.cli import logs, servers, upstreams
from louver.cli.listen_address import ListenAddress
from louver.cli.process import CATALOGUES, LOGINS, SAVINGS, by_signal, raise_open_files, state
from louver.concurrency import stalls
from louver.errors import InvalidInput, LouverError
from louver.gateway.gateway import Gateway
from louver.limits import MAX_INTEGER_DIGITS
from louver.policy.principal import NOBODY
from louver.seams import plugged_in
from louver.steps.request import Identity
from louver.steps.shared_state import is_same_store

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator

    from louver.cli.listener import HttpListener
    from louver.gateway.config.auth import Auth
    from louver.gateway.config.model import Config
    from louver.gateway.config.reload import ConfigFile

FOLLOWED_S = 1.0
"""How often the configuration file is checked for changes, in seconds."""


logger = logging.getLogger(__name__)


def run(arguments: Namespace) -> int:
    """Serve until the client disconnects, or until a signal ends the process."""
    address = None if arguments.http is None else ListenAddress.read(arguments.http)
    metrics = None if arguments.metrics is None else ListenAddress.read(arguments.metrics, "--metrics")
    _check_over_http(arguments)
    if address is None and fcntl(1, F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        # Standard output was closed, so no client could be answered.
        raise OSError(EBADF, os.strerror(EBADF))
    if arguments.example:
        _check_for_example(arguments)
        _serve_example(_listener(arguments, address, None), minimal=arguments.exposure == "minimal")
        return 0
    signals = _exported_signals()
    logs.configure(arguments.log)
    file, config = configuration(arguments)
    listener = _listener(arguments, address, config.auth)
    set_up_process()
    make_gateway = partial(
        Gateway,
        config,
        exposure=arguments.exposure,
        execute=arguments.execute,
        ready_views=arguments.ready_views,
        can_reload=file is not None,
        # With tokens, several principals share the upstreams.
        catalogues=state(CATALOGUES) if listener is None or config.auth is None else None,
        savings=state(SAVINGS),
        logins=state(LOGINS),
    )
    with _telemetry(metrics, signals):
        if listener is None:
            stalls.run(_gateway_over_stdio(make_gateway, file, Identity(config.principal or NOBODY)))
        else:
            stalls.run(gateway_over_http(make_gateway, file, listener))
    return 0


def _check_over_http(arguments: Namespace) -> None:
    """Refuse options that only serving over HTTP knows."""
    over_http = (arguments.no_auth, arguments.allowed_host, arguments.access_log)
    if arguments.http is None and any(over_http):
        raise InvalidInput(
            "--no-auth, --allowed-host and --access-log need --http: over stdio only the parent process is served"
        )
    if arguments.ui and (arguments.http is None or arguments.no_auth):
        raise InvalidInput("--ui needs --http, without --no-auth: the page calls tools, so its users need a token")


def _check_for_example(arguments: Namespace) -> None:
    """Refuse options that the example does not know, which is no gateway."""
    if arguments.exposure in ("discovery", "gateway") or arguments.execute:
        exposure = (arguments.exposure or "full") + (" --execute" if arguments.execute else "")
        raise InvalidInput(
            "discovery, the one tool and scripts are for servers behind the gateway: "
            f"louver serve --exposure {exposure} -- louver serve --example"
        )
    if arguments.ui:
        raise InvalidInput("the page is for servers behind the gateway: louver ui -- louver serve --example")
    if arguments.metrics is not None or arguments.access_log:
        raise InvalidInput("--metrics and --access-log are for servers behind the gateway: the example is one process")
    if arguments.ready_views:
        raise InvalidInput("ready views are for servers behind the gateway: the example has its own views")


def _listener(arguments: Namespace, address: ListenAddress | None, auth: Auth | None) -> HttpListener | None:
    if address is None:
        return None
    # Imported here, as below: over stdio nothing of HTTP is needed.
    from louver.cli.listener import HttpListener

    return HttpListener.open(arguments, address, auth)


def set_up_process() -> None:
    """Set what holds for the whole process, which is the gateway's alone."""
    # Integers are sent on whatever their size, and Python writes none of more than 4,300 digits by itself.
    sys.set_int_max_str_digits(MAX_INTEGER_DIGITS)
    # Of a large message the collector would look at every part again and again, while nobody else runs.
    gc.set_threshold(10_000)
    raise_open_files()


async def _gateway_over_stdio(
    make_gateway: Callable[..., Gateway], file: ConfigFile | None, identity: Identity
) -> None:
    report_task: asyncio.Task[None] | None = None

    def on_opened() -> None:
        nonlocal report_task
        if report_task is None:
            report_task = asyncio.create_task(_report_upstreams(gateway))
            exit_stack.callback(report_task.cancel)

    # Imported here, as below: each front only where it is used.
    from louver.gateway.front.stdio import serve_stdio

    gateway = make_gateway(single_client=True, on_opened=on_opened)
    if sys.stdin.isatty() and not logs.is_json():
        print("louver: waiting for a client on standard input; --http HOST:PORT serves many", file=sys.stderr)
    async with _gateway_lifetime(gateway, file) as exit_stack:
        await serve_stdio(
            gateway.answer,
            versions=gateway.versions,
            identity=identity,
            ready=by_signal,
            end_streams=gateway.listen_streams.close,
            close_upstreams=exit_stack.aclose,
        )


async def gateway_over_http(
    make_gateway: Callable[..., Gateway], file: ConfigFile | None, listener: HttpListener
) -> None:
    from louver.gateway.front.http import serve

    with ExitStack() as lifetime:
        lifetime.enter_context(listener.socket)
        gateway = make_gateway(single_client=False)
        async with _gateway_lifetime(gateway, file) as exit_stack:
            app = listener.app(gateway, lifetime)
            await exit_stack.enter_async_context(_background_task(_report_and_freeze(gateway)))
            await serve(
                app,
                listener.socket,
                ready=listener.report,
                end_streams=gateway.listen_streams.close,
                close_upstreams=exit_stack.aclose,
                is_outdated=lambda: gateway.is_outdated,
            )


def _exported_signals() -> list[str]:
    """The signals that variables of OpenTelemetry have sent."""
    if not any(name.startswith("OTEL_") for name in os.environ):
        return []
    return plugged_in("team.telemetry:exported_signals")(os.environ)


@contextmanager
def _telemetry(metrics: ListenAddress | None, signals: list[str]) -> Generator[None]:
    """Measure and trace the process meanwhile, where that is wanted."""
    if metrics is None and not signals:
        yield
        return
    telemetry = plugged_in("team.telemetry:Telemetry")(metrics, signals)
    if telemetry.log_handler is not None:
        logging.getLogger("louver").addHandler(telemetry.log_handler)
    try:
        yield
    finally:
        telemetry.close()


@asynccontextmanager
async def _gateway_lifetime(gateway: Gateway, file: ConfigFile | None) -> AsyncGenerator[AsyncExitStack]:
    """Run the work behind the gateway; it is closed when calls are done, or else with the block."""
    try:
        async with AsyncExitStack() as exit_stack:
            exit_stack.push_async_callback(gateway.end)
            if file is not None:
                await exit_stack.enter_async_context(_background_task(_watch_config(gateway, file)))
            yield exit_stack
    finally:
        await gateway.close()


def configuration(arguments: Namespace) -> tuple[ConfigFile | None, Config]:
    """The configuration that the options name, and its file, if it has one, to follow."""
    if arguments.config is None:
        return None, servers.read(arguments)
    # Imported here, as in `servers.read`.
    from louver.gateway.config.reload import ConfigFile

    file = ConfigFile(Path(arguments.config), server=arguments.server)
    return file, file.current


@asynccontextmanager
async def _background_task(work: Coroutine[Any, Any, None]) -> AsyncGenerator[None]:
    """Run a coroutine as a task until the block ends."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()


async def _report_and_freeze(gateway: Gateway) -> None:
    await _report_upstreams(gateway)
    await gateway.open()
    # These objects stay: exclude them from the garbage collections that large answers cause.
    gc.freeze()


async def _watch_config(gateway: Gateway, file: ConfigFile) -> None:
    started = file.current
    first_audit = started.audit
    await _wait_for_change(file)
    while True:
        current = file.current
        # Calls in flight are audited in the file in which they began.
        first_audit = first_audit or current.audit
        audit = None if current.audit is None else first_audit
        if (current.auth, current.principal, current.audit) != (started.auth, started.principal, audit):
            logger.error("who clients are and where is audited stays as it was: start again for what the file says")
        if not is_same_store(current.state, started.state):
            logger.error("the state that replicas share stays as it was: start again for what the file says")
        try:
            await gateway.reconfigure(replace(current, audit=audit))
        except LouverError as error:
            logger.error("the gateway stays as it was: %s", error.message)
            await _wait_for_change(file)
        else:
            # In a task: a silent server delays no other change.
            async with _background_task(_report_upstreams(gateway)):
                await _wait_for_change(file)


async def _wait_for_change(file: ConfigFile) -> None:
    """Wait until the file holds another configuration that can be served."""
    while True:
        await asyncio.sleep(FOLLOWED_S)
        if file.refresh():
            return


def _serve_example(listener: HttpListener | None, *, minimal: bool) -> None:
    # Imported here: the gateway needs neither the example nor the SDK.
    from louver.cli.example_server import example_server, serve_over_http, serve_over_stdio

    server = example_server(minimal=minimal)
    if listener is None:
        serve_over_stdio(server)
    else:
        serve_over_http(server, listener)


async def _report_upstreams(gateway: Gateway) -> None:
    """Open the gateway and report its upstreams."""
    states = await gateway.open()
    if logs.is_json():
        for sentence in upstreams.sentences(states):
            logger.info("%s", sentence)
        return
    # Nobody may read the pipe.
    output = logs.LineOutput(sys.stderr)
    output.write(upstreams.lines(states).encode(errors="backslashreplace"))
    await asyncio.to_thread(output.close)
