"""`foliot up`, `foliot api`, `foliot scheduler`: the commands that stay."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import foliot
from foliot.cli.options import Home
from foliot.cli.printing import note, one_line_errors

if TYPE_CHECKING:
    from foliot.settings import Settings

Host = Annotated[str | None, typer.Option(help="Loopback address to listen on.", show_default="127.0.0.1")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.", show_default="8000")]
Concurrency = Annotated[int | None, typer.Option(help="How many runs may be in flight at once.", show_default="100")]
LogLevel = Annotated[str | None, typer.Option(help="debug, info, warning, error or critical.", show_default="info")]


def up(  # noqa: PLR0913 -- a command has as many arguments as flags
    *,
    host: Host = None,
    port: Port = None,
    home: Home = None,
    concurrency: Concurrency = None,
    log_level: LogLevel = None,
    grpc_port: Annotated[int | None, typer.Option(help="Not used in this version: it has no gRPC door.")] = None,
    pipelines: Annotated[Path | None, typer.Option(help="Not used in this version: it runs no pipelines.")] = None,
) -> None:
    """Run everything here: API, scheduler and workers in one process, on loopback. Migrates the database by itself."""
    with one_line_errors():
        settings = _settings(host=host, port=port, home=home, concurrency=concurrency, log_level=log_level)
        if grpc_port is not None:
            note(f"--grpc-port {grpc_port} is accepted and not used: this version has no gRPC door.")
        if pipelines is not None:
            note(f"--pipelines {pipelines} is accepted and not used: this version runs no pipelines.")
        _prepare(settings)
        raise typer.Exit(_up(settings))


def api(host: Host = None, port: Port = None, log_level: LogLevel = None) -> None:
    """Run the API alone, beside schedulers that share its database (PostgreSQL or MariaDB)."""
    with one_line_errors():
        settings = _settings(host=host, port=port, log_level=log_level)
        _refuse_sqlite(settings, "api")
        raise typer.Exit(_part(settings, doors=True))


def scheduler(concurrency: Concurrency = None, log_level: LogLevel = None) -> None:
    """Run a scheduler with its workers alone, without API; as many as wanted share a database."""
    with one_line_errors():
        settings = _settings(concurrency=concurrency, log_level=log_level)
        _refuse_sqlite(settings, "scheduler")
        raise typer.Exit(_part(settings, doors=False))


def _settings(**flags: object) -> Settings:
    from foliot import logs
    from foliot.settings import Settings

    settings = Settings.load(os.environ, **flags)
    logs.configure(level=settings.log_level, form=settings.log_format, directory=settings.log_dir)
    return settings


def _prepare(settings: Settings) -> None:
    """What local mode keeps is the user's alone."""
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if settings.sqlite_path is not None:
        settings.sqlite_path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _refuse_sqlite(settings: Settings, command: str) -> None:
    from foliot.domain.errors import Conflict

    if settings.is_sqlite:
        raise Conflict(
            f"foliot {command} needs a database that several processes can share, got {settings.database_shown}: "
            "set DATABASE_URL to PostgreSQL or MariaDB, or run everything in one process with foliot up"
        )


def _up(settings: Settings) -> int:
    from foliot.cli import process
    from foliot.cli.lock import only_one

    with only_one(settings.sqlite_path), process.listen(settings.host, settings.port) as listener:

        def announce() -> None:
            address = process.address_of(listener)
            typer.echo(
                f"Foliot {foliot.__version__} is up; Ctrl-C stops it.\n"
                f"  API   {address}  (documentation: {address}/docs)\n"
                f"  Data  {settings.sqlite_path or settings.database_shown}"
            )

        async def main() -> int:
            from foliot import bootstrap

            await bootstrap.migrate(settings)
            return await process.live(bootstrap.build(settings, doors=True, engine=True), listener, announce)

        return process.run(main())


def _part(settings: Settings, *, doors: bool) -> int:
    from contextlib import nullcontext

    from foliot import bootstrap
    from foliot.cli import process
    from foliot.cli.revision import refuse_other_revision

    with process.listen(settings.host, settings.port) if doors else nullcontext() as listener:

        def announce() -> None:
            what = f"API on {process.address_of(listener)}" if listener else "scheduler"
            typer.echo(f"Foliot {foliot.__version__}: {what}, data in {settings.database_shown}; Ctrl-C stops it.")

        async def main() -> int:
            await refuse_other_revision(settings)
            return await process.live(bootstrap.build(settings, doors=doors, engine=not doors), listener, announce)

        return process.run(main())
