"""Plays schedules over the next seven days: `settle` decides, and runs last as long as their last ones did."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice, pairwise

from foliot.core.time.zone import spans, zone_info
from foliot.engine.model.overlap import OpenRun
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Overlap, Schedule, ScheduleStatus
from foliot.engine.model.settle import DueSchedule, settle
from foliot.features.plans.model.load import LoadPeak, LoadProfile, bars

HORIZON = timedelta(days=7)
MOST_SETTLED = 200_000
"""Instants that `settle` judges because an earlier run may still be open; further ones count as runs."""
MOST_INSTANTS = 3_000_000
MOST_HOSTS = 20
MOST_SKIPPED = 50
MOST_CROWDED = 5
_SECOND = timedelta(seconds=1)
CROWDED = 10
"""Starts within one second from which it is named."""


@dataclass(frozen=True, slots=True)
class SimulatedSchedule:
    """A schedule, how long its runs take, and where they go."""

    schedule: Schedule
    seconds: int
    host: str | None = None


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    """What became of the instants of a schedule: seconds from the start at which runs begin and end."""

    starts: Sequence[int]
    ends: Sequence[int]
    skipped: int = 0

    @property
    def instants(self) -> int:
        return len(self.starts) + self.skipped


@dataclass(frozen=True, slots=True)
class QueueForecast:
    """The load of a queue or host before and after the plan."""

    before: LoadPeak
    after: LoadPeak
    slots: int | None = None
    bars_before: Sequence[int] = ()
    bars_after: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class SkippedForecast:
    """A schedule whose overlap policy will skip instants."""

    name: str
    instants: int
    skipped: int


@dataclass(frozen=True, slots=True)
class CrowdedSecond:
    """A second in which many runs start."""

    at: datetime
    starts: int


@dataclass(frozen=True, slots=True)
class Simulation:
    """A week of runs, before and after the plan."""

    start: datetime
    end: datetime
    queues: Mapping[str, QueueForecast]
    hosts: Mapping[str, QueueForecast]
    skipped: Sequence[SkippedForecast]
    crowded: Sequence[CrowdedSecond]
    notes: Sequence[str]


LoadKey = tuple[str, str]
"""`queue` or `host`, and its name."""


@dataclass(slots=True)
class Simulator:
    """Plays schedules; equal ones are played once."""

    start: datetime
    settled: int = 0
    """Instants that `settle` has judged."""
    instants: int = 0
    _played: dict[object, PlayedSchedule] = field(default_factory=dict)

    @property
    def end(self) -> datetime:
        return self.start + HORIZON

    @property
    def seconds(self) -> int:
        return int(HORIZON.total_seconds())

    def play(self, one: SimulatedSchedule) -> PlayedSchedule:
        """Its runs within the horizon; none for a schedule that does not fire."""
        schedule, spec = one.schedule, one.schedule.spec
        if schedule.status is not ScheduleStatus.ACTIVE or schedule.fault is not None:
            return PlayedSchedule((), ())
        # Jitter hangs on the schedule's id.
        alone = schedule.id if spec.jitter_seconds else None
        left = None if spec.max_runs is None else max(spec.max_runs - schedule.fired, 0)
        key = (spec.trigger, spec.overlap, one.seconds, alone, left, schedule.skip_at)
        if key not in self._played:
            self._played[key] = self._play(one, left)
        return self._played[key]

    def _play(self, one: SimulatedSchedule, left: int | None) -> PlayedSchedule:
        schedule = one.schedule
        trigger = schedule.spec.trigger
        named = (at for at in trigger.runs_between(self.start, self.end) if at != schedule.skip_at)
        excluded = 0
        if trigger.exclusions is not None:
            excluded = trigger.count(self.start, self.end) - trigger.count_runs(self.start, self.end)
        room = max(MOST_INSTANTS - self.instants, 0)
        instants = list(islice(named, room))
        self.instants += len(instants)
        starts, skipped = self._runs(one, instants)
        starts = starts if left is None else starts[:left]
        begin = self.start
        offsets = [(at - begin) // _SECOND for at in starts]
        inside = [at for at in offsets if at < self.seconds]
        return PlayedSchedule(inside, [at + one.seconds for at in inside], skipped + excluded)

    def _runs(self, one: SimulatedSchedule, instants: Sequence[datetime]) -> tuple[list[datetime], int]:
        """When runs start, and how many instants make none; buffered runs start as their predecessors end."""
        schedule, spec = one.schedule, one.schedule.spec
        lasts = timedelta(seconds=one.seconds)
        shortest = min((later - at for at, later in pairwise(instants)), default=lasts)
        if spec.overlap is Overlap.ALLOW_ALL or (shortest >= lasts and not spec.jitter_seconds):
            return [spec.ready_at(schedule.id, at) for at in instants], 0
        text, anchor = spec.dump(), spec.anchor
        open_until: list[datetime] = []
        starts: list[datetime] = []
        skipped = 0
        for at in instants:
            while open_until and open_until[0] <= at:
                heapq.heappop(open_until)
            ready = spec.ready_at(schedule.id, at)
            if not open_until or self.settled >= MOST_SETTLED:
                starts.append(ready)
                heapq.heappush(open_until, ready + lasts)
                continue
            self.settled += 1
            due = DueSchedule(schedule.id, schedule.tenant_id, schedule.user_id, schedule.version, text, anchor, at)
            waiting = sum(until - lasts > at for until in open_until)
            running = [OpenRun(str(number), RunState.RUNNING) for number in range(len(open_until) - waiting)]
            buffered = [OpenRun(f"b{number}", RunState.QUEUED, buffered=True) for number in range(waiting)]
            plan = settle(due, at, [*running, *buffered])
            skipped += sum(entry.count for entry in plan.ledger)
            for run in plan.runs:
                if plan.cancel or plan.terminate:
                    open_until.clear()
                begins = max(open_until) if run.buffered and open_until else run.ready_at
                starts.append(begins)
                heapq.heappush(open_until, begins + lasts)
        return starts, skipped


def simulate(
    simulator: Simulator,
    before: Sequence[SimulatedSchedule],
    after: Sequence[SimulatedSchedule],
    slots: Mapping[str, int],
    notes: Sequence[str] = (),
) -> Simulation:
    """The loads of both states; schedules that are the same object in both are played once."""
    queues = sorted({one.schedule.spec.queue for one in (*before, *after)})
    crowd = Counter(one.host for one in after if one.host is not None)
    hosts = [host for host, _ in crowd.most_common(MOST_HOSTS)]
    old, new = _Loads(simulator, queues, hosts), _Loads(simulator, queues, hosts)
    for one in before:
        old.add(one, simulator.play(one))
    skipped = []
    for one in after:
        played = simulator.play(one)
        new.add(one, played)
        if played.skipped:
            skipped.append(SkippedForecast(one.schedule.name, played.instants, played.skipped))
    starts = new.starts()
    for loads in (old, new):
        loads.settle()
    skipped.sort(key=lambda one: (-one.skipped, one.name))
    crowded = heapq.nsmallest(MOST_CROWDED, starts.items(), key=lambda found: (-found[1], found[0]))
    start = simulator.start
    return Simulation(
        start,
        simulator.end,
        {name: _forecast(old.queues[name], new.queues[name], start, slots.get(name)) for name in queues},
        {name: _forecast(old.hosts[name], new.hosts[name], start, None) for name in hosts},
        skipped[:MOST_SKIPPED],
        [CrowdedSecond(start + timedelta(seconds=at), number) for at, number in crowded if number >= CROWDED],
        [*notes, *_limits(simulator), *clock_changes(start, [one.schedule for one in after])],
    )


class _Loads:
    """The profiles of one state. Schedules that are played alike are added once, with their number."""

    def __init__(self, simulator: Simulator, queues: Sequence[str], hosts: Sequence[str]) -> None:
        self.queues = {name: LoadProfile(simulator.seconds) for name in queues}
        self.hosts = {name: LoadProfile(simulator.seconds) for name in hosts}
        self._played: dict[int, PlayedSchedule] = {}
        self._times: Counter[tuple[int, LoadKey]] = Counter()

    def add(self, one: SimulatedSchedule, played: PlayedSchedule) -> None:
        self._played[id(played)] = played
        self._times[id(played), ("queue", one.schedule.spec.queue)] += 1
        if one.host in self.hosts:
            self._times[id(played), ("host", str(one.host))] += 1

    def starts(self) -> Counter[int]:
        """How many runs start at each second."""
        found: Counter[int] = Counter()
        for (played, (kind, _)), times in self._times.items():
            if kind == "queue":
                for at in self._played[played].starts:
                    found[at] += times
        return found

    def settle(self) -> None:
        """Write what was added into the profiles."""
        for (played, (kind, name)), times in self._times.items():
            profile = self.queues[name] if kind == "queue" else self.hosts[name]
            profile.add(self._played[played].starts, self._played[played].ends, times)


def _forecast(old: LoadProfile, new: LoadProfile, start: datetime, slots: int | None) -> QueueForecast:
    before, after = old.counts(), new.counts()
    return QueueForecast(LoadPeak.of(before, start), LoadPeak.of(after, start), slots, bars(before), bars(after))


def _limits(simulator: Simulator) -> Iterator[str]:
    if simulator.settled >= MOST_SETTLED:
        yield f"After {MOST_SETTLED:,} instants with an open run, overlaps are no longer simulated."
    if simulator.instants >= MOST_INSTANTS:
        yield f"Only the first {MOST_INSTANTS:,} instants are simulated: the loads are too low."


def clock_changes(start: datetime, schedules: Sequence[Schedule]) -> Iterator[str]:
    """The nights in which a zone changes its clock, and how many schedules are in it."""
    active = [one for one in schedules if one.status is ScheduleStatus.ACTIVE]
    zones = Counter(one.spec.trigger.rule.zone for one in active)
    low, high = int(start.timestamp()), int((start + HORIZON).timestamp())
    for zone, number in sorted(zones.items()):
        zone_info(zone)
        for span in spans(zone, low):
            if span.start >= high:
                break
            if span.start > low:
                local = datetime.fromtimestamp(span.start, zone_info(zone))
                way = "forward" if span.offset > span.before else "back"
                hours = abs(span.offset - span.before) / 3600
                what = f"{number:,} schedule{'' if number == 1 else 's'}"
                yield f"Clocks in {zone} go {way} by {hours:g} h on {local:%Y-%m-%d}: {what} in that zone."
