"""Runs one server process from its start to the end of its drain."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import faulthandler
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from foliot.config import process_secrets
from foliot.core.errors import Conflict
from foliot.engine.model.node import NodeRequest

if TYPE_CHECKING:
    from foliot.app.build import App

STOPPED_AT_ONCE = 130
MARGIN = 15.0
"""Seconds beyond `FOLIOT_SHUTDOWN_SECONDS` that a drain may take; after that the process is ended."""
LEAVE = 3.0
"""Seconds for what is left after the drain: threads that cannot be ended."""
BACKSTOP = 5.0
"""Seconds after which a process that cannot even end itself is ended without Python."""
RESTART = -1
"""Not an exit code: the process is to restart."""


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run to the end on the fastest event loop available."""
    try:
        import uvloop

        factory: Callable[[], asyncio.AbstractEventLoop] | None = uvloop.new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(main)


def listen(host: str, port: int, keys: str = "--port, FOLIOT_PORT") -> socket.socket:
    """Bind the port now, so that a taken one is reported in one clear line before anything else has started."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise Conflict(f"{host} is not an address of this machine: choose one with --host (FOLIOT_HOST)") from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2048)
    except OSError as failed:
        listener.close()
        raise Conflict(_why_not(host, port, failed, keys)) from None
    listener.setblocking(False)
    return listener


def _why_not(host: str, port: int, failed: OSError, keys: str) -> str:
    if failed.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is taken by another program: stop it, or choose another ({keys})"
    if failed.errno in (errno.EACCES, errno.EPERM):
        return f"port {port} of {host} cannot be used by this user: choose one above 1023 ({keys})"
    return f"cannot listen on port {port} of {host} ({failed.strerror}): choose another ({keys})"


def address_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def leave_within(seconds: float, code: int) -> None:
    """End this process after so long, whatever its threads do: the interpreter would wait for each of them.

    What is durable was written before. Runs of a process that did not get so far are handed on by their leases.
    """

    def leave() -> None:
        threading.Event().wait(seconds)
        left = [one.name for one in threading.enumerate() if one is not threading.current_thread()]
        logging.getLogger("foliot.process").warning("exiting although threads are still busy: %s", ", ".join(left))
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)

    threading.Thread(target=leave, name="foliot-exit", daemon=True).start()
    with contextlib.suppress(OSError, ValueError, RuntimeError, AttributeError):
        # In C, so it works even if a thread holds the interpreter lock; it prints what each thread was doing.
        faulthandler.dump_traceback_later(seconds + BACKSTOP, exit=True, file=sys.stderr)


class Stop:
    """The first signal asks the process to drain; a second one ends it at once. Operators' requests are less urgent."""

    def __init__(self, grace: float = 0.0) -> None:
        self.grace = grace
        self.asked = asyncio.Event()
        self.wished = asyncio.Event()
        self.wish: NodeRequest | None = None
        self._requests = 0

    def hear(self, wish: NodeRequest) -> None:
        """A drain can still become a restart; a restart stays one."""
        if self.wish is not NodeRequest.RESTART:
            self.wish = wish
        self.wished.set()

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signalled)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)

    def _signalled(self) -> None:
        self._requests += 1
        if self._requests > 1:
            # No clean-up on purpose: what hangs must not delay the second request. Leases hand the runs over.
            os._exit(STOPPED_AT_ONCE)
        self.ask()

    def ask(self) -> None:
        """Ask for the drain; asking again changes nothing."""
        if not self.asked.is_set():
            self.asked.set()
            leave_within(self.grace + MARGIN, 1)


class SupervisedStop(Stop):
    """The supervisor asks through a pipe, once to drain and twice to end at once; if it dies, the process drains.

    A SIGTERM may come from a service manager that signals every process of the service: it never counts as the second
    request. SIGINT is the supervisor's.
    """

    def __init__(self, grace: float, control: int) -> None:
        super().__init__(grace)
        self.control = control

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.ask)
        loop.add_reader(self.control, self._told)
        try:
            yield
        finally:
            loop.remove_reader(self.control)
            loop.remove_signal_handler(signal.SIGTERM)

    def _told(self) -> None:
        requests = os.read(self.control, 16)
        if not requests:
            asyncio.get_running_loop().remove_reader(self.control)
            self.ask()
        for _ in requests:
            self._signalled()


def calm_memory() -> None:
    """Exempt the objects of the start from garbage collection: they live as long as the server."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


async def live(
    app: App, listener: socket.socket | None, announce: Callable[[], None], control: int | None = None
) -> int:
    """Start the app, serve until asked to stop or a part ends by itself, then drain. Answers the exit code.

    `control`: the pipe of the supervisor that started this process, if there is one.
    """
    from foliot.features.health.health_file import health_file

    grace = app.settings.shutdown_seconds
    stop = Stop(grace) if control is None else SupervisedStop(grace, control)
    if app.engine is not None:
        app.engine.heard = stop.hear
    watched = health_file(app.settings, app.store)
    with stop.on_signals():
        try:
            await app.start()
            if watched is not None:
                app.loop.start([watched])
            calm_memory()
            if listener is not None and app.asgi is not None:
                served = await _serve(app, listener, announce, stop)
            else:
                served = await _wait(app, announce, stop)
        finally:
            if watched is not None:
                watched.remove()
            # Also after a failed start: what did start must end.
            await app.stop(app.settings.shutdown_seconds)
        # Asked to stop while restarting: the last request counts.
        if stop.wish is NodeRequest.RESTART and not stop.asked.is_set():
            return RESTART
    ended = 0 if served else 1
    if stop.asked.is_set():
        leave_within(LEAVE, ended)
    return ended


async def _wait(app: App, announce: Callable[[], None], stop: Stop) -> bool:
    announce()
    stopping = asyncio.create_task(stop.asked.wait(), name="stop")
    idle = asyncio.create_task(_until_idle(app, stop), name="wish")
    await asyncio.wait({stopping, idle}, return_when=asyncio.FIRST_COMPLETED)
    for task in (stopping, idle):
        task.cancel()
    return True


async def _until_idle(app: App, stop: Stop) -> None:
    """Follow the requests of operators; returns after a request to restart, once nothing runs here any more."""
    while stop.wish is not NodeRequest.RESTART:
        stop.wished.clear()
        await stop.wished.wait()
        if app.engine is not None:
            await app.engine.finish()


def restart() -> NoReturn:
    """Replace this process by a new one with the same command and the same process id."""
    sys.stdout.flush()
    sys.stderr.flush()
    command = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, command, process_secrets.whole(os.environ))  # noqa: S606 -- our own command line


async def _serve(app: App, listener: socket.socket, announce: Callable[[], None], stop: Stop) -> bool:
    """True when the end was asked for, False when the server ended by itself."""
    from foliot.servers.http.app import per_address, server_of
    from foliot.servers.http.connections import ConnectionLimits

    asgi: Any = app.asgi
    settings = app.settings
    server = server_of(
        asgi, bounds=ConnectionLimits(per_address(settings.connections_per_address, local=settings.local))
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]), name="http")
    stopping = asyncio.create_task(stop.asked.wait(), name="stop")
    idle = asyncio.create_task(_until_idle(app, stop), name="wish")
    announce()
    await asyncio.wait({serving, stopping, idle}, return_when=asyncio.FIRST_COMPLETED)
    ended_by_itself = serving.done()
    asgi.state.streams.stopping.set()
    server.should_exit = True
    for task in (stopping, idle):
        task.cancel()
    await serving
    return not ended_by_itself
