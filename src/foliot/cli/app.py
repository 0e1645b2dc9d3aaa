"""Every command, in the order in which `foliot --help` lists them."""

from __future__ import annotations

from typing import Annotated

import typer

import foliot
from foliot.cli import (
    access,
    articles,
    audit,
    bulks,
    crawls,
    demo,
    endpoints,
    keys,
    letters,
    overview,
    people,
    pipelines,
    presets,
    queues,
    runs,
    schedule_acts,
    secrets,
    serve,
    tasks,
    tenants,
    token,
    upkeep,
    workers,
)
from foliot.cli.options import CLIENT_VARIABLES, SERVER_VARIABLES
from foliot.cli.printing import EXIT_CODES

app = typer.Typer(
    name="foliot",
    help="Fires web work at the right instant, exactly once, and shows what happened and why.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"foliot {foliot.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Fires web work at the right instant, exactly once, and shows what happened and why."""


SERVER = "Run a server"
UPKEEP = "Look after it"
CLIENT = "Talk to a running server"

app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(serve.up)
app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(serve.api)
app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(serve.grpc)
app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(serve.discord)
app.command(rich_help_panel=SERVER, epilog=SERVER_VARIABLES)(serve.scheduler)
app.add_typer(workers.group, name="worker", rich_help_panel=SERVER, epilog=SERVER_VARIABLES)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(upkeep.migrate)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(upkeep.check)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(token.token)
app.add_typer(audit.group, name="audit", rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)
for look in (overview.attention, overview.timeline, overview.calendar, overview.ranking, endpoints.endpoints):
    app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(look)
for name, group in (
    ("schedule", schedule_acts.group),
    ("run", runs.group),
    ("task", tasks.group),
    ("preset", presets.group),
    ("dead-letter", letters.group),
    ("bulk", bulks.group),
    ("queue", queues.group),
    ("apikey", keys.group),
    ("tenant", tenants.group),
):
    for registered in group.registered_commands:
        registered.epilog = CLIENT_VARIABLES
        if registered.callback is not None:
            access.asks(registered.callback)
    app.add_typer(group, name=name, rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)
app.add_typer(crawls.group, name="crawl", rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)
app.add_typer(articles.group, name="articles", rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)
app.add_typer(pipelines.group, name="pipeline", rich_help_panel=CLIENT)
app.add_typer(secrets.group, name="secret", rich_help_panel=CLIENT)
app.add_typer(demo.group, name="demo", rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(people.login_link)
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(people.members)
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(runs.health)
