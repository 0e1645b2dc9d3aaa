"""`foliot up`, `api`, `grpc`, `discord`, `scheduler` and what `worker` runs: the server processes."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import foliot
from foliot.cli import discord as bot
from foliot.cli import grpc as rpc
from foliot.cli import several
from foliot.cli.volatile import FORGETS, volatile
from foliot.engine.model.node import NodeRole
from foliot.terminal.access import READ_INSTALLATION, WRITE_INSTALLATION, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import Home
from foliot.terminal.output import Exit, Failure, note, one_line_errors

if TYPE_CHECKING:
    from foliot.app.build import App
    from foliot.config.settings import Settings

group = CommandGroup()

Host = Annotated[
    str | None,
    typer.Option(
        help="Address to listen on (FOLIOT_HOST); other than loopback only when tokens are required.",
        show_default="127.0.0.1",
    ),
]
Port = Annotated[
    int | None, typer.Option(help="Port to listen on; 0 picks a free one (FOLIOT_PORT).", show_default="8000")
]
Queues = Annotated[
    str | None,
    typer.Option(help="Queues to take runs from, separated by commas (FOLIOT_QUEUES).", show_default="every queue"),
]
MaxRuns = Annotated[
    int | None,
    typer.Option(help="Restart after this many runs (FOLIOT_MAX_RUNS).", show_default="never"),
]
Concurrency = Annotated[
    int | None,
    typer.Option(help="How many runs may execute at the same time (FOLIOT_CONCURRENCY).", show_default="100"),
]
Processes = Annotated[
    int | None,
    typer.Option(
        help="How many processes share the work (FOLIOT_SERVER_PROCESSES); more than 1 needs PostgreSQL or MariaDB.",
        show_default="1",
    ),
]
LogLevel = Annotated[
    str | None, typer.Option(help="debug, info, warning, error or critical (LOG_LEVEL).", show_default="info")
]


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def up(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    host: Host = None,
    port: Port = None,
    home: Home = None,
    concurrency: Concurrency = None,
    processes: Processes = None,
    log_level: LogLevel = None,
    grpc_port: rpc.GrpcPort = None,
    pipelines: Annotated[
        Path | None, typer.Option(help="The file that defines pipelines (PIPELINES_CONFIG).", metavar="FILE")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Add demo data, which the dashboard removes with one click.")
    ] = False,
) -> None:
    """Run API, gRPC, scheduler and workers, in one process or several. Migrates the database automatically."""
    with one_line_errors():
        _refuse_unreadable(pipelines)
        _note_start(demo=demo)
        flags = {"concurrency": concurrency, "log_level": log_level, "grpc_port": grpc_port, "pipelines": pipelines}
        settings = _settings("foliot", host=host, port=port, home=home, server_processes=processes, **flags)
        if demo and settings.server_processes > 1:
            raise Failure("--demo runs in one process: leave out --processes (FOLIOT_SERVER_PROCESSES)", Exit.USAGE)
        _leave_if_legacy(settings)
        if settings.broker_shown:
            note(f"{settings.broker_shown} is not used by foliot up, which executes its runs itself.")
        _prepare(settings)
        raise typer.Exit(several.up(settings) if settings.server_processes > 1 else _up(settings, demo=demo))


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def api(host: Host = None, port: Port = None, log_level: LogLevel = None) -> None:
    """Run the API alone, next to schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("api", host=host, port=port, log_level=log_level)
        _refuse_sqlite(settings, "api")
        raise typer.Exit(_part(settings))


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def grpc(
    host: Annotated[
        str | None,
        typer.Option("--host", "--grpc-host", help="Address to listen on (FOLIOT_GRPC_HOST, or FOLIOT_HOST)."),
    ] = None,
    port: Annotated[
        str | None,
        typer.Option(
            "--port",
            "--grpc-port",
            help="Port to listen on; 0 picks a free one (FOLIOT_GRPC_PORT).",
            show_default="50054",
        ),
    ] = None,
    log_level: LogLevel = None,
) -> None:
    """Run the gRPC server alone, next to schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("grpc", grpc_host=host, grpc_port=port, log_level=log_level)
        _refuse_sqlite(settings, "grpc")
        raise typer.Exit(rpc.serve(settings))


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def discord(log_level: LogLevel = None) -> None:
    """Run the Discord bot alone, next to schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("discord", log_level=log_level)
        _refuse_sqlite(settings, "discord")
        raise typer.Exit(bot.serve(settings))


@group.command()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def scheduler(concurrency: Concurrency = None, log_level: LogLevel = None) -> None:
    """Run a scheduler alone, without the API; any number can share a database.

    It executes its runs itself, unless FOLIOT_BROKER_URL names a broker that passes them to foliot worker.
    """
    with one_line_errors():
        settings = _settings("scheduler", concurrency=concurrency, log_level=log_level)
        _leave_if_legacy(settings)
        _refuse_sqlite(settings, "scheduler")
        raise typer.Exit(_part(settings, NodeRole.SCHEDULER))


def worker(
    queues: str | None, concurrency: int | None, processes: int | None, max_runs: int | None, log_level: str | None
) -> None:
    """What bare `foliot worker` does."""
    with one_line_errors():
        flags = {"queues": queues, "concurrency": concurrency, "server_processes": processes, "max_runs": max_runs}
        settings = _settings("worker", log_level=log_level, **flags)
        _refuse_sqlite(settings, "worker")
        if settings.server_processes > 1:
            raise typer.Exit(several.workers(settings))
        raise typer.Exit(_part(settings, NodeRole.WORKER))


def _leave_if_legacy(settings: Settings) -> None:
    """SCHEDULER_MODE=legacy: run every pipeline once, then exit."""
    if settings.scheduler_mode == "legacy":
        from foliot.cli import process
        from foliot.cli.pipeline_run import legacy

        process.calm_memory()
        raise typer.Exit(legacy(settings))


def _settings(command: str, **flags: object) -> Settings:
    """The settings of a server process; starts its log, in a file of its own if there is a directory for logs."""
    import structlog

    from foliot import logs
    from foliot.config import process_secrets
    from foliot.config.settings import Settings

    settings = Settings.load(os.environ, **flags)
    logs.configure(level=settings.log_level, form=settings.log_format, directory=settings.log_dir, name=command)
    # From here on neither tasks nor child processes can read a key from the environment.
    process_secrets.scrub(os.environ, settings)
    if kind := volatile(settings.home):
        structlog.get_logger("foliot").warning(
            FORGETS.format(path=settings.home, kind=kind), action="home_in_memory", key="FOLIOT_HOME"
        )
    return settings


def _note_start(*, demo: bool) -> None:
    """On a terminal, say at once that it starts; scripts get no output before it is up."""
    if sys.stderr.isatty():
        note("starting, and creating the demo data if there is none yet …" if demo else "starting …")


def _refuse_unreadable(pipelines: Path | None) -> None:
    """A file given as a flag must exist; one named by the environment may appear later."""
    if pipelines is None:
        return
    try:
        path = pipelines.expanduser()
        # Not opened before this: opening a pipe would wait for a writer.
        why = None if path.is_file() or not path.exists() else "it is not a file"
        if why is None:
            path.open("rb").close()
    except (OSError, RuntimeError, ValueError) as failed:
        why = getattr(failed, "strerror", None) or str(failed)
    if why is not None:
        raise Failure(f"--pipelines: {pipelines} cannot be read ({why})", Exit.USAGE)


def _prepare(settings: Settings) -> None:
    """Creates the directories of local mode, private to the user."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.sqlite_path is not None:
        settings.sqlite_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _refuse_sqlite(settings: Settings, command: str) -> None:
    from foliot.core.errors import Conflict

    if settings.is_sqlite:
        raise Conflict(
            f"foliot {command} needs a database that several processes can share, got {settings.database_shown}: "
            "set DATABASE_URL to PostgreSQL or MariaDB, or run everything in one process with foliot up"
        )


def _up(settings: Settings, *, demo: bool) -> int:
    from foliot.cli import process
    from foliot.cli import serve_output as showing
    from foliot.db.file_lock import make_private, only_one

    with only_one(settings.sqlite_path), showing.listen(settings, demo=demo) as listener:
        make_private(settings.sqlite_path)
        # Links in notifications name the port that was found, not the one that was asked for.
        settings = replace(settings, port=listener.getsockname()[1])
        rpc_port, remark = rpc.open_port(settings)
        if demo:
            from foliot.features.demo.wiring import with_own_service

            settings = with_own_service(settings, rpc_port)
        address = process.address_of(listener)

        def announce(app: App) -> None:
            typer.echo(showing.block(app, address, remark))

        async def main() -> int:
            from foliot.app import build

            await build.migrate(settings)
            app = build.build(
                settings,
                http=True,
                engine=True,
                rpc_port=rpc_port,
                discord=settings.discord_token is not None,
                demo=address if demo else None,
            )
            with showing.keys(address):
                return await process.live(app, listener, lambda: announce(app))

        ended = process.run(main())
    if ended == process.RESTART:
        process.restart()
    return ended


def _part(settings: Settings, role: NodeRole | None = None) -> int:
    """Run one part: an engine of this role, or the API alone."""
    from contextlib import nullcontext

    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.database import refuse_other_revision

    serves_http = role is None
    with process.listen(settings.host, settings.port) if serves_http else nullcontext() as listener:

        def announce() -> None:
            what = f"API on {process.address_of(listener)}" if listener else str(role)
            through = f", runs through {settings.broker_shown}" if role and settings.broker_shown else ""
            typer.echo(
                f"Foliot {foliot.__version__}: {what}, data in {settings.database_shown}{through}; Ctrl-C stops it."
            )

        async def main() -> int:
            await refuse_other_revision(settings)
            app = build.build(settings, http=serves_http, engine=not serves_http, role=role or NodeRole.UP)
            return await process.live(app, listener, announce)

        ended = process.run(main())
    if ended == process.RESTART:
        process.restart()
    return ended
