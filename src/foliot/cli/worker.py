"""`foliot worker`: runs a worker; its sub-commands show and control the running ones."""

from __future__ import annotations

import typer

from foliot.cli import serve
from foliot.features.workers import cli as workers
from foliot.terminal.access import READ_INSTALLATION, WRITE_INSTALLATION, needs
from foliot.terminal.group import CommandGroup
from foliot.terminal.options import SERVER_VARIABLES

group = CommandGroup(no_args_is_help=False, invoke_without_command=True, epilog=SERVER_VARIABLES)
group.add_typer(workers.group)


@group.callback()
@needs(READ_INSTALLATION, WRITE_INSTALLATION)
def worker(
    context: typer.Context,
    queues: serve.Queues = None,
    concurrency: serve.Concurrency = None,
    processes: serve.Processes = None,
    max_runs: serve.MaxRuns = None,
    log_level: serve.LogLevel = None,
) -> None:
    """Run a worker alone: it executes the runs that schedulers create. Any number can share a database and a broker.

    Without FOLIOT_BROKER_URL it takes its runs from the database.
    """
    if context.invoked_subcommand is None:
        serve.worker(queues, concurrency, processes, max_runs, log_level)
