"""Flags that many commands have, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Home = Annotated[Path | None, typer.Option(help="Where local mode keeps its data (FOLIOT_HOME).")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Utc = Annotated[bool, typer.Option("--utc", help="Show times in UTC instead of local time.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="How many to show at most.")]
Cursor = Annotated[str | None, typer.Option(help="Go on where the list before ended.")]
ScheduleId = Annotated[str, typer.Argument(help="The schedule's id (sch_…).", metavar="SCHEDULE")]
RunId = Annotated[str, typer.Argument(help="The run's id (run_…).", metavar="RUN")]
