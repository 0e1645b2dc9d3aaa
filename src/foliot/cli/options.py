"""Flags that many commands have, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path | None, typer.Option(help="Where local mode keeps its data (FOLIOT_HOME).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Utc = Annotated[bool, typer.Option("--utc", help="Show times in UTC instead of local time.")]
# Runs have a state and schedules a status; the flag takes either word, so that nobody has to remember which.
STATUS_FLAGS = ("--status", "--state")
STATE_FLAGS = ("--state", "--status")
Limit = Annotated[int, typer.Option(min=1, max=500, help="How many to show at most.")]
Cursor = Annotated[str | None, typer.Option(help="Go on where the list before ended.")]
Filter = Annotated[
    str | None, typer.Option("--query", "-q", help="A filter, such as 'state:failed since:24h -kind:crawl'.")
]
From = Annotated[str | None, typer.Option("--from", help="Beginning of the span: 2027-01-01T00:00:00Z.")]
To = Annotated[str | None, typer.Option("--to", help="Its end, exclusive.")]
ScheduleId = Annotated[str, typer.Argument(help="The schedule's id (sch_…).", metavar="SCHEDULE")]
RunId = Annotated[str, typer.Argument(help="The run's id (run_…).", metavar="RUN")]

CLIENT_VARIABLES = (
    "Environment: FOLIOT_URL is the server to talk to; without it, the local one on port FOLIOT_PORT (8000). "
    "FOLIOT_TOKEN is the token to present."
)
SERVER_VARIABLES = (
    "Environment: DATABASE_URL is the database; without it, a SQLite file in FOLIOT_HOME. "
    "Flags win over the environment; all settings are in docs/reference/settings.md."
)
