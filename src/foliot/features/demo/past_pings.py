"""The demo's monitors: jobs of other machines that have pinged for a week, one of them late once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from foliot.core.access import KEEPER
from foliot.core.ids import id_at
from foliot.db.database import Transaction
from foliot.features.demo.model.schedules import TAG
from foliot.features.demo.model.week import WEEK, InstantIndex
from foliot.features.demo.usecases import BACKUP, ROTATION, SOURCE, monitor_id
from foliot.features.monitors.model import (
    PING,
    JobMonitor,
    MonitorStatus,
    Ping,
    PingKind,
    read_monitor,
    received,
)
from foliot.features.monitors.sql import SqlMonitors, SqlPings
from foliot.features.monitors.usecases import Monitors, digest_of

LATE = 3
"""The ping before this many others was late."""
LATE_BY = timedelta(minutes=48)


@dataclass(frozen=True, slots=True)
class DemoJob:
    """A job on another machine: when it is expected, how long it takes, and the end of its output."""

    name: str
    document: Mapping[str, Any]
    seconds: tuple[float, float]
    output: str
    late: bool = False


JOBS: Sequence[DemoJob] = (
    DemoJob(
        BACKUP,
        {"type": "cron", "cron_expr": "15 1 * * *", "timezone": "Europe/Stockholm", "grace_seconds": 1800},
        (140, 260),
        "dumped 214 tables\ncopied 3.1 GiB to the vault\n",
        late=True,
    ),
    DemoJob(
        ROTATION,
        {"type": "cron", "cron_expr": "5 */6 * * *", "timezone": "UTC", "grace_seconds": 900},
        (2, 9),
        "rotated 12 files\n",
    ),
)


async def add_monitors(tx: Transaction, monitors: Monitors, now: datetime) -> None:
    """Create them with the pings of the past week. Nothing is judged: no alert rule is told of the past."""
    if monitors.vault is None:
        return
    for job in JOBS:
        if await SqlMonitors(tx).has_name(KEEPER, job.name):
            continue
        monitor = _created(job, monitors.vault.current, now - WEEK)
        sent: list[Ping] = []
        for ping in _pings(job, monitor, now):
            became = received(monitor, ping)
            monitor = became.monitor
            sent.append(became.ping)
        await SqlMonitors(tx).add(monitor, digest_of(monitors.key_of(monitor) or ""))
        for ping in sent:
            await SqlPings(tx).add(ping)


def _created(job: DemoJob, key_of: str, at: datetime) -> JobMonitor:
    document = {"name": job.name, "tags": [TAG], **job.document}
    return JobMonitor(
        id=monitor_id(job.name),
        tenant_id=KEEPER,
        settings=read_monitor(document, monitor_id(job.name), at, "UTC"),
        status=MonitorStatus.NEW,
        key_of=key_of,
        created_by=SOURCE,
        created_at=at,
        updated_at=at,
    )


def _pings(job: DemoJob, monitor: JobMonitor, now: datetime) -> Iterator[Ping]:
    """A start and a success for each expected time that has passed, in order."""
    # One that is due now has not finished yet: the grace time covers it.
    due = list(monitor.settings.trigger.between(monitor.created_at, now - timedelta(seconds=job.seconds[1] + 3)))
    for number, at in enumerate(due):
        back = len(due) - 1 - number
        dice = InstantIndex(at, back).dice(job.name)
        begun = at + timedelta(seconds=dice.uniform(0.4, 2)) + (LATE_BY if job.late and back == LATE else timedelta())
        took = timedelta(seconds=dice.uniform(*job.seconds))
        yield _ping(monitor, PingKind.START, begun)
        yield _ping(monitor, PingKind.SUCCESS, begun + took, took // timedelta(milliseconds=1), job.output)


def _ping(monitor: JobMonitor, kind: PingKind, at: datetime, took: int | None = None, output: str = "") -> Ping:
    return Ping(
        id=id_at(PING, at),
        tenant_id=monitor.tenant_id,
        monitor_id=monitor.id,
        kind=kind,
        at=at,
        method="POST",
        exit_code=0 if kind is PingKind.SUCCESS else None,
        duration_ms=took,
        rid=None,
        user_agent="foliot ping",
        body=output,
        body_bytes=len(output),
    )
