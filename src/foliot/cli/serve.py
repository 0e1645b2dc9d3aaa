"""`foliot up`, `api`, `grpc`, `discord`, `scheduler`, `worker`: the commands that stay."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import foliot
from foliot.cli import discord as bot
from foliot.cli import rpc
from foliot.cli.access import READ_HOUSE, WRITE_HOUSE, needs
from foliot.cli.options import Home
from foliot.cli.printing import Exit, Failure, note, one_line_errors
from foliot.cli.volatile import FORGETS, volatile
from foliot.engine.model.node import Role

if TYPE_CHECKING:
    from foliot.app.build import App
    from foliot.config.settings import Settings

Host = Annotated[
    str | None,
    typer.Option(
        help="Address to listen on (FOLIOT_HOST); other than loopback only when tokens are asked for.",
        show_default="127.0.0.1",
    ),
]
Port = Annotated[
    int | None, typer.Option(help="Port to listen on; 0 takes a free one (FOLIOT_PORT).", show_default="8000")
]
Queues = Annotated[
    str | None,
    typer.Option(help="Queues to take runs from, separated by commas (FOLIOT_QUEUES).", show_default="every queue"),
]
MaxRuns = Annotated[
    int | None,
    typer.Option(help="Begin anew after so many runs (FOLIOT_MAX_RUNS).", show_default="never"),
]
Concurrency = Annotated[
    int | None, typer.Option(help="How many runs may be in flight at once (FOLIOT_CONCURRENCY).", show_default="100")
]
LogLevel = Annotated[
    str | None, typer.Option(help="debug, info, warning, error or critical (LOG_LEVEL).", show_default="info")
]


@needs(READ_HOUSE, WRITE_HOUSE)
def up(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    host: Host = None,
    port: Port = None,
    home: Home = None,
    concurrency: Concurrency = None,
    log_level: LogLevel = None,
    grpc_port: rpc.GrpcPort = None,
    pipelines: Annotated[
        Path | None, typer.Option(help="The file that defines pipelines (PIPELINES_CONFIG).", metavar="FILE")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Fill it with a demo, which the dashboard removes with one click.")
    ] = False,
) -> None:
    """Run everything here: API, gRPC, scheduler and workers in one process. Migrates the database by itself."""
    with one_line_errors():
        _refuse_unreadable(pipelines)
        _say_at_once(demo=demo)
        flags = {"concurrency": concurrency, "log_level": log_level, "grpc_port": grpc_port, "pipelines": pipelines}
        settings = _settings("foliot", host=host, port=port, home=home, **flags)
        _leave_if_legacy(settings)
        if settings.broker_shown:
            note(f"{settings.broker_shown} is not used by foliot up, which executes its runs itself.")
        _prepare(settings)
        raise typer.Exit(_up(settings, demo=demo))


@needs(READ_HOUSE, WRITE_HOUSE)
def api(host: Host = None, port: Port = None, log_level: LogLevel = None) -> None:
    """Run the API alone, beside schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("api", host=host, port=port, log_level=log_level)
        _refuse_sqlite(settings, "api")
        raise typer.Exit(_part(settings))


@needs(READ_HOUSE, WRITE_HOUSE)
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
            help="Port to listen on; 0 takes a free one (FOLIOT_GRPC_PORT).",
            show_default="50054",
        ),
    ] = None,
    log_level: LogLevel = None,
) -> None:
    """Run the gRPC door alone, beside schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("grpc", grpc_host=host, grpc_port=port, log_level=log_level)
        _refuse_sqlite(settings, "grpc")
        raise typer.Exit(rpc.serve(settings))


@needs(READ_HOUSE, WRITE_HOUSE)
def discord(log_level: LogLevel = None) -> None:
    """Run the Discord door alone, beside schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings("discord", log_level=log_level)
        _refuse_sqlite(settings, "discord")
        raise typer.Exit(bot.serve(settings))


@needs(READ_HOUSE, WRITE_HOUSE)
def scheduler(concurrency: Concurrency = None, log_level: LogLevel = None) -> None:
    """Run a scheduler alone, without API; as many as wanted share a database.

    It executes its runs itself, unless FOLIOT_BROKER_URL names a broker, through which it hands them to foliot worker.
    """
    with one_line_errors():
        settings = _settings("scheduler", concurrency=concurrency, log_level=log_level)
        _leave_if_legacy(settings)
        _refuse_sqlite(settings, "scheduler")
        raise typer.Exit(_part(settings, Role.SCHEDULER))


def worker(queues: str | None, concurrency: int | None, max_runs: int | None, log_level: str | None) -> None:
    """What bare `foliot worker` does."""
    with one_line_errors():
        settings = _settings("worker", queues=queues, concurrency=concurrency, max_runs=max_runs, log_level=log_level)
        _refuse_sqlite(settings, "worker")
        raise typer.Exit(_part(settings, Role.WORKER))


def _leave_if_legacy(settings: Settings) -> None:
    """SCHEDULER_MODE=legacy: every pipeline once, and nothing stays."""
    if settings.scheduler_mode == "legacy":
        from foliot.cli import process
        from foliot.cli.pipeline_running import legacy

        process.calm_memory()
        raise typer.Exit(legacy(settings))


def _settings(command: str, **flags: object) -> Settings:
    """What a server runs by; it logs from here on, into a file of its own where there is a place for files."""
    import structlog

    from foliot import logs
    from foliot.config import process_secrets
    from foliot.config.settings import Settings

    settings = Settings.load(os.environ, **flags)
    logs.configure(level=settings.log_level, form=settings.log_format, directory=settings.log_dir, name=command)
    # From here on neither a task nor a process that is started reads a key from the environment.
    process_secrets.scrub(os.environ, settings)
    if kind := volatile(settings.home):
        structlog.get_logger("foliot").warning(
            FORGETS.format(path=settings.home, kind=kind), action="home_in_memory", key="FOLIOT_HOME"
        )
    return settings


def _say_at_once(*, demo: bool) -> None:
    """Whoever waits at a terminal sees that something happens; a script reads nothing before it is up."""
    if sys.stderr.isatty():
        note("starting, and making the demo if there is none yet …" if demo else "starting …")


def _refuse_unreadable(pipelines: Path | None) -> None:
    """Whoever names a file in a command means one that is there. One of the environment may still be on its way."""
    if pipelines is None:
        return
    try:
        path = pipelines.expanduser()
        # Not opened before: a pipe would wait for somebody who writes into it.
        why = None if path.is_file() or not path.exists() else "it is no file"
        if why is None:
            path.open("rb").close()
    except (OSError, RuntimeError, ValueError) as failed:
        why = getattr(failed, "strerror", None) or str(failed)
    if why is not None:
        raise Failure(f"--pipelines: {pipelines} cannot be read ({why})", Exit.USAGE)


def _prepare(settings: Settings) -> None:
    """What local mode keeps is the user's alone."""
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
    from foliot.cli import process, showing
    from foliot.db.file_lock import make_private, only_one

    with only_one(settings.sqlite_path), showing.listen(settings, demo=demo) as listener:
        make_private(settings.sqlite_path)
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
        process.begin_anew()
    return ended


def _part(settings: Settings, role: Role | None = None) -> int:
    """A part of Foliot: an engine of this role, or the doors alone."""
    from contextlib import nullcontext

    from foliot.app import build
    from foliot.cli import process
    from foliot.cli.revision import refuse_other_revision

    doors = role is None
    with process.listen(settings.host, settings.port) if doors else nullcontext() as listener:

        def announce() -> None:
            what = f"API on {process.address_of(listener)}" if listener else str(role)
            through = f", runs through {settings.broker_shown}" if role and settings.broker_shown else ""
            typer.echo(
                f"Foliot {foliot.__version__}: {what}, data in {settings.database_shown}{through}; Ctrl-C stops it."
            )

        async def main() -> int:
            await refuse_other_revision(settings)
            app = build.build(settings, http=doors, engine=not doors, role=role or Role.UP)
            return await process.live(app, listener, announce)

        ended = process.run(main())
    if ended == process.RESTART:
        process.begin_anew()
    return ended
