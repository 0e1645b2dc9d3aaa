"""Forecasts the load of a plan: durations of the last runs, slots of live workers, and a week that is played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from urllib.parse import urlsplit

from foliot.core.access import Caller, Thing, Verb, may
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.features.plans.model.simulation import SimulatedSchedule, Simulation, Simulator, simulate
from foliot.features.plans.model.spread import spread
from foliot.features.plans.usecases.schedules import PlannedSchedule
from foliot.features.queues.usecases import live_workers
from foliot.features.schedules.sql import SqlScheduleHealth

LAST = 9
"""Runs whose median duration a schedule is given."""
BATCH = 250
"""Schedules of one statement."""
ASSUMED = 1
"""Seconds of a run where no run of its kind has ended."""
MOST = 20_000
"""Schedules that are played; of more, the oldest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a plan is played with."""

    now: datetime
    stored: Sequence[Schedule]
    seconds: Mapping[str, int]
    """Durations by the id of the schedule."""
    slots: Mapping[str, int]
    _known: dict[int, SimulatedSchedule] = field(default_factory=dict)

    def spread(self, planned: Sequence[PlannedSchedule]) -> dict[str, str]:
        """Offsets that flatten the peaks, by the names of schedules of the documents."""
        after = self._after(planned)
        movable = {one.after.id: one.change.name for one in planned if one.movable and one.after is not None}
        found = spread(self._simulator(), self._played(after), movable)
        return {movable[schedule_id]: expression for schedule_id, expression in found.items()}

    def simulate(self, planned: Sequence[PlannedSchedule]) -> Simulation:
        """The week before and after the plan."""
        before, after = self.stored[:MOST], self._after(planned)
        return simulate(self._simulator(), self._played(before), self._played(after), self.slots, self._notes(after))

    def _after(self, planned: Sequence[PlannedSchedule]) -> list[Schedule]:
        known = {one.change.id for one in planned if one.change.id is not None}
        found = [one.after for one in planned]
        return [*(one for one in self.stored if one.id not in known), *(one for one in found if one is not None)][:MOST]

    def _simulator(self) -> Simulator:
        return Simulator(self.now.replace(second=0, microsecond=0))

    def _played(self, schedules: Sequence[Schedule]) -> list[SimulatedSchedule]:
        kinds: dict[str, list[int]] = {}
        for one in self.stored:
            if one.id in self.seconds:
                kinds.setdefault(one.spec.kind, []).append(self.seconds[one.id])
        usual = {kind: max(1, round(median(found))) for kind, found in kinds.items()}
        return [
            SimulatedSchedule(one, self.seconds.get(one.id, usual.get(one.spec.kind, ASSUMED)), _host(one))
            for one in schedules
        ]

    def _notes(self, schedules: Sequence[Schedule]) -> list[str]:
        new = [one for one in schedules if one.id not in self.seconds and one.status is ScheduleStatus.ACTIVE]
        if not new:
            return []
        number = "1 schedule has" if len(new) == 1 else f"{len(new):,} schedules have"
        rest = [f"Only the first {MOST:,} schedules are simulated."] if len(schedules) == MOST else []
        return [f"{number} no ended run: the median of their kind is assumed, or {ASSUMED} s without one.", *rest]


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasts:
    """Reads what forecasts need."""

    store: Database
    clock: Clock

    async def begin(self, caller: Caller, stored: Sequence[Schedule], planned: Sequence[PlannedSchedule]) -> Forecast:
        """For these schedules of the caller's tenant."""
        ids = [one.id for one in stored if one.status is ScheduleStatus.ACTIVE][:MOST]
        seconds: dict[str, int] = {}
        async with self.store.read(caller.tenant_id) as tx:
            for start in range(0, len(ids), BATCH):
                ended = await SqlScheduleHealth(tx).outcomes(caller.tenant_id, ids[start : start + BATCH], LAST)
                for schedule_id, last in ended.items():
                    took = [one.duration_ms for one in last if one.duration_ms is not None]
                    if took:
                        seconds[schedule_id] = max(1, round(median(took) / 1000))
        return Forecast(
            now=self.clock.now(), stored=stored, seconds=seconds, slots=await self._slots(caller, stored, planned)
        )

    async def _slots(
        self, caller: Caller, stored: Sequence[Schedule], planned: Sequence[PlannedSchedule]
    ) -> Mapping[str, int]:
        """Slots of the live workers of each queue; only for those who may see the workers."""
        if not may(caller, Verb.READ, Thing.INSTALLATION):
            return {}
        async with self.store.read(None) as tx:
            workers = await live_workers(tx, self.clock.now())
        after = [one.after for one in planned]
        queues = {one.spec.queue for one in (*stored, *after) if one is not None}
        return (
            {queue: sum(one.slots for one in workers if one.takes(queue)) for queue in sorted(queues)}
            if workers
            else {}
        )


def _host(schedule: Schedule) -> str | None:
    url = schedule.action.get("url")
    try:
        return urlsplit(url).hostname if isinstance(url, str) else None
    except ValueError:
        return None
