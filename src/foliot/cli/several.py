"""`foliot up --processes N` and `foliot worker --processes N`: several processes that share a port and the tables.

The listening socket is opened once and inherited: whichever process is free accepts a connection, and connections that
wait in its queue outlive the process that would have accepted them. With SO_REUSEPORT each process has a queue of its
own, which is lost with it, and a second installation could share the port by mistake.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

import foliot
from foliot.cli import grpc as rpc
from foliot.engine.model.node import NodeRole

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from foliot.app.build import App
    from foliot.cli.supervisor import ServerProcess
    from foliot.config.settings import Settings


def up(settings: Settings) -> int:
    """The first process has what exists once: the gRPC server and the Discord bot. All have API, engine and slots."""
    from foliot.cli import process
    from foliot.cli import serve_output as showing

    with process.listen(settings.host, settings.port) as listener:
        rpc_port, remark = rpc.fixed_port(settings)
        address = process.address_of(listener)

        def built(number: int) -> App:
            from foliot.app import build

            first = number == 1
            return build.build(
                settings,
                http=True,
                engine=True,
                rpc_port=rpc_port if first else None,
                discord=first and settings.discord_token is not None,
            )

        def described(app: App) -> str:
            return showing.block(app, address, remark, keys=False)

        return _supervise(settings, "foliot", built, described, listener=listener)


def workers(settings: Settings) -> int:
    """Workers with the same queues, each with its own slots."""

    def built(_: int) -> App:
        from foliot.app import build

        return build.build(settings, http=False, engine=True, role=NodeRole.WORKER)

    def described(_: App) -> str:
        through = f", runs through {settings.broker_shown}" if settings.broker_shown else ""
        return f"Foliot {foliot.__version__}: worker, data in {settings.database_shown}{through}; Ctrl-C stops it."

    return _supervise(settings, "worker", built, described)


def _supervise(
    settings: Settings,
    name: str,
    built: Callable[[int], App],
    described: Callable[[App], str],
    listener: socket.socket | None = None,
) -> int:
    from foliot.cli.supervisor import Supervisor
    from foliot.features.health.health_file import PERIOD, JointHealthFile

    path = settings.health_file
    health = None if path is None else JointHealthFile(path, settings.server_processes, PERIOD * settings.time_scale)

    def serve(own: ServerProcess) -> int:
        from foliot.terminal.output import one_line_errors

        _own_log(settings, name, own.number)
        theirs = settings if health is None else replace(settings, health_file=health.part(own.number))
        with one_line_errors():
            return _serve(theirs, own, built, described, listener)

    _preload(http=listener is not None)
    return Supervisor(
        count=settings.server_processes,
        serve=serve,
        announce=lambda text, pids: typer.echo(
            f"{text}\n  Processes  {len(pids)}: {', '.join(str(pid) for pid in pids)}"
        ),
        grace=settings.shutdown_seconds,
        health=health,
    ).run()


def _serve(
    settings: Settings,
    own: ServerProcess,
    built: Callable[[int], App],
    described: Callable[[App], str],
    listener: socket.socket | None,
) -> int:
    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.database import refuse_other_revision

    async def main() -> int:
        if listener is not None and own.number == 1:
            await build.migrate(settings)
        else:
            await refuse_other_revision(settings)
        app = built(own.number)
        app.settings = settings
        return await process.live(app, listener, lambda: own.announce(described(app)), own.control)

    return process.run(main())


def _own_log(settings: Settings, name: str, number: int) -> None:
    """A log file of its own, and the number of the process on every line."""
    import structlog

    from foliot import logs

    logs.configure(level=settings.log_level, form=settings.log_format, directory=settings.log_dir, name=name)
    structlog.contextvars.bind_contextvars(process=number)


def _preload(*, http: bool) -> None:
    """Import what every process needs before the fork, so that they share its memory and start quickly."""
    from foliot.app import build  # noqa: F401

    if http:
        from foliot.app import http as routes  # noqa: F401
    gc.collect()
    gc.freeze()
