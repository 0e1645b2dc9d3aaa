"""Every command, in the order in which `foliot --help` lists them."""

from __future__ import annotations

import os

import typer
from typer.models import CommandInfo

from foliot.cli import audit, pipelines, secrets, token, upkeep, workers
from foliot.cli import backup as backups
from foliot.cli.root import SERVER, root
from foliot.features.api_keys import cli as keys
from foliot.features.articles.cli import articles
from foliot.features.bulk import cli as bulks
from foliot.features.crawls.cli import crawls
from foliot.features.dead_letters import cli as letters
from foliot.features.demo import cli as demo
from foliot.features.endpoints import cli as endpoints
from foliot.features.insights import cli as overview
from foliot.features.presets import cli as presets
from foliot.features.queues import cli as queues
from foliot.features.runs import cli as runs
from foliot.features.schedules.cli import instants as schedule_acts
from foliot.features.sessions import cli as people
from foliot.features.tasks import cli as tasks
from foliot.features.tenants import cli as tenants
from foliot.terminal import access
from foliot.terminal.options import CLIENT_VARIABLES, SERVER_VARIABLES

app = root()

UPKEEP = "Look after it"
CLIENT = "Talk to a running server"
COMPLETING = "_FOLIOT_COMPLETE"
"""Set by a shell that wants to know what could come next."""

app.add_typer(workers.group, name="worker", rich_help_panel=SERVER, epilog=SERVER_VARIABLES)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(upkeep.migrate)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(upkeep.check)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(backups.backup)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(backups.restore)
app.command(rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)(token.token)
app.add_typer(audit.group, name="audit", rich_help_panel=UPKEEP, epilog=SERVER_VARIABLES)
for look in (overview.attention, overview.timeline, overview.calendar, overview.ranking):
    app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(look)
app.add_typer(endpoints.group, name="endpoints", rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)
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
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(people.sign_out)
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(people.members)
app.command(rich_help_panel=CLIENT, epilog=CLIENT_VARIABLES)(runs.health)


def narrow(whole: typer.Typer, words: list[str]) -> None:
    """Leave only the command that these words begin with: to make them all takes longer than most take to run.

    Whoever asks for help, completes a word or mistypes one is told about all of them.
    """
    groups = [one for one in whole.registered_groups if words and one.name == words[0]]
    commands = [one for one in whole.registered_commands if words and _name(one) == words[0]]
    if (groups or commands) and COMPLETING not in os.environ:
        whole.registered_groups, whole.registered_commands = groups, commands


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")
