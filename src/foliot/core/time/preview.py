"""The next instants of a trigger, and remarks on clock changes that affect it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice

from foliot.core.time.cron import parse
from foliot.core.time.fire_times import EPOCH, SECOND
from foliot.core.time.trigger import Cron, FixedInterval, Trigger
from foliot.core.time.wall_clock import WallTimes
from foliot.core.time.zone import OffsetSpan, spans, zone_info

TICK = timedelta(microseconds=1)
YEAR = timedelta(days=366)
FARTHEST = 10 * YEAR
DAY = 86_400
MOST_NOTES = 20
MOST_EXCLUDED = 50
MOST_TIMES = 3


@dataclass(frozen=True, slots=True)
class PlannedFire:
    """One instant, in UTC and on the clock of the trigger's zone."""

    at: datetime
    local: str


@dataclass(frozen=True, slots=True)
class ExcludedFires:
    """Instants in a row that make no run, and why."""

    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class TriggerOutlook:
    """The next instants, the trigger in words, and remarks on daylight saving."""

    summary: str
    fires: list[PlannedFire]
    notes: list[str]
    trigger: Trigger
    excluded: Sequence[ExcludedFires] = ()
    """What calendars and times of day exclude until the last of them."""


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A clock change of the trigger's zone that concerns the trigger."""

    at: datetime
    skipped: bool
    """The clock jumps forward: times are skipped; else they occur twice."""
    words: str


def preview(trigger: Trigger, moment: datetime, count: int) -> TriggerOutlook:
    """The next `count` instants after the moment."""
    zone = zone_info(trigger.rule.zone)
    fires: list[PlannedFire] = []
    at: datetime | None = moment
    while len(fires) < count and at is not None and (at := trigger.next_run_after(at)) is not None:
        fires.append(PlannedFire(at, at.astimezone(zone).isoformat()))
    last = fires[-1].at if fires else moment
    notes = list(_notes(trigger, moment, last))
    return TriggerOutlook(
        trigger.summary,
        fires,
        notes,
        trigger,
        list(islice(excluded_fires(trigger, moment + TICK, last + TICK), MOST_EXCLUDED)),
    )


def excluded_fires(trigger: Trigger, start: datetime, end: datetime) -> Iterator[ExcludedFires]:
    """The excluded instants of [start, end), a range for each reason."""
    for window in trigger.excluded_windows(start, end):
        if count := trigger.count(window.start, window.end):
            first = trigger.next_after(window.start - TICK) or window.start
            yield ExcludedFires(first, trigger.newest(window.start, window.end, 1)[0], count, window.reason)


def _notes(trigger: Trigger, moment: datetime, last: datetime) -> Iterator[str]:
    """One line for each clock change that concerns the trigger, in the span shown and at least the next year."""
    rule = trigger.rule
    if isinstance(rule, FixedInterval):
        yield from _interval_notes(rule, moment)
        return
    if not isinstance(rule, Cron):
        return
    until = min(max(last, moment + YEAR), moment + FARTHEST)
    if trigger.start_at is not None:
        moment = max(moment, trigger.start_at)
    if trigger.end_at is not None:
        until = min(until, trigger.end_at - TICK)
    for change in islice(clock_changes(trigger, moment, until), MOST_NOTES):
        yield change.words


def clock_changes(trigger: Trigger, after: datetime, until: datetime) -> Iterator[ClockChange]:
    """Those of (after, until] in which a cron trigger names a time that is skipped or occurs twice."""
    rule = trigger.rule
    if not isinstance(rule, Cron):
        return
    times = parse(rule.expression).times
    for span in spans(rule.zone, (after - EPOCH) // SECOND):
        change = EPOCH + timedelta(seconds=span.start)
        if change > until:
            return
        if change > after and span.offset != span.before and (words := _note(times, span, rule.zone)):
            yield ClockChange(change, span.offset > span.before, words)


def _interval_notes(rule: FixedInterval, moment: datetime) -> Iterator[str]:
    """An interval of whole days changes its time of day with the clocks: said for the next change."""
    first = rule.after(moment)
    if rule.seconds % DAY or first is None:
        return
    zone = zone_info(rule.zone)
    for span in spans(rule.zone, (first - EPOCH) // SECOND):
        change = EPOCH + timedelta(seconds=span.start)
        if change > moment + YEAR:
            return
        if change > first and span.offset != span.before and (then := rule.after(change - TICK)) is not None:
            before, after = first.astimezone(zone), then.astimezone(zone)
            if (before.hour, before.minute) != (after.hour, after.minute):
                yield (
                    f"An interval keeps real time: after the clocks change in {rule.zone}, it runs at {after:%H:%M} "
                    f"instead of {before:%H:%M}, from {after:%Y-%m-%d} on"
                )
            return


def _note(times: WallTimes, span: OffsetSpan, zone: str) -> str | None:
    before, after = span.start + span.before, span.start + span.offset
    low, high = min(before, after), max(before, after)
    named = _named(times, low, high)
    if not named:
        return None
    skipped, several = after > before, len(named) > 1
    if not times.fixed:
        stretch = f"{_wall(low):%H:%M} to {_wall(high):%H:%M}"
        happens = "is skipped" if skipped else "occurs twice"
        effect = "" if len(times.hours) == 24 else " and does not run then" if skipped else " and runs both times"
        return f"On {_wall(low):%Y-%m-%d} {stretch} {happens} in {zone}; the schedule follows real time{effect}"
    listed = _listed(named)
    if skipped:
        verb = "do not exist" if several else "does not exist"
        return f"On {_wall(named[0]):%Y-%m-%d} {listed} {verb} in {zone}; it runs at {_clock(after, named[0])}"
    verb, effect = ("occur", "each runs once, at its first") if several else ("occurs", "it runs once, at the first")
    return f"On {_wall(named[0]):%Y-%m-%d} {listed} {verb} twice in {zone}; {effect}"


def _named(times: WallTimes, low: int, high: int) -> list[int]:
    """The first few times named in [low, high)."""
    named: list[int] = []
    while len(named) <= MOST_TIMES and (wall := times.at_or_after(low)) < high:
        named.append(wall)
        low = wall + 1
    return named


def _listed(walls: list[int]) -> str:
    texts = [_clock(wall, walls[0]) for wall in walls[:MOST_TIMES]]
    if len(walls) > MOST_TIMES:
        return f"{', '.join(texts)} and later times"
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _clock(wall: int, beside: int) -> str:
    """The time of day; with its date when it is not on the same day as the other."""
    moment = _wall(wall)
    day = "" if moment.date() == _wall(beside).date() else f" on {moment:%Y-%m-%d}"
    return f"{moment:%H:%M:%S}".removesuffix(":00") + day


def _wall(wall: int) -> datetime:
    """A wall-clock time as a datetime; marked UTC only because a datetime needs a zone."""
    return datetime.fromtimestamp(wall, UTC)
