"""Triggers: cron, interval, one-off or the ends of other schedules' runs, within a window."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.core.document import Fields, moment, rfc3339
from foliot.core.errors import Invalid
from foliot.core.time import describe_trigger
from foliot.core.time.business_days import BusinessDayShift
from foliot.core.time.cron import parse, resolve
from foliot.core.time.exclusions import MOST_WINDOWS, ExcludedWindow, Exclusions
from foliot.core.time.fire_times import fires
from foliot.core.time.zone import zone_info

LONGEST = 10 * 366 * 24 * 3600
_TICK = timedelta(microseconds=1)
_MOST_EXPRESSION = 256
_MOST_ZONE = 64
_MOST_NAME = 200
MOST_PARENTS = 20
"""Schedules that one may follow."""


@dataclass(frozen=True, slots=True)
class Cron:
    """A canonical expression, `H` already resolved, in a zone."""

    expression: str
    zone: str

    def after(self, moment: datetime) -> datetime | None:
        return fires(self.expression, self.zone).after(moment)

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return fires(self.expression, self.zone).between(start, end)

    def count(self, start: datetime, end: datetime) -> int:
        return fires(self.expression, self.zone).count(start, end)

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        return fires(self.expression, self.zone).newest(start, end, limit)


@dataclass(frozen=True, slots=True)
class FixedInterval:
    """anchor + k * seconds, for k = 0, 1, 2 …: drift-free, and the same in every zone."""

    seconds: int
    anchor: datetime
    zone: str = "UTC"

    def after(self, moment: datetime) -> datetime | None:
        step = timedelta(seconds=self.seconds)
        try:
            return self.anchor + max((moment - self.anchor) // step + 1, 0) * step
        except OverflowError:
            return None

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        for place in range(self._before(start), self._before(end)):
            yield self._at(place)

    def count(self, start: datetime, end: datetime) -> int:
        return max(self._before(end) - self._before(start), 0)

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        last = self._before(end)
        return [self._at(place) for place in range(max(self._before(start), last - max(limit, 0)), last)]

    def _at(self, place: int) -> datetime:
        return self.anchor + timedelta(seconds=self.seconds * place)

    def _before(self, moment: datetime) -> int:
        """How many instants lie before the moment."""
        return max(-((self.anchor - moment) // timedelta(seconds=self.seconds)), 0)


@dataclass(frozen=True, slots=True)
class OneOff:
    """One instant; the zone is for display."""

    at: datetime
    zone: str = "UTC"

    def after(self, moment: datetime) -> datetime | None:
        return self.at if self.at > moment else None

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return iter(self.newest(start, end, 1))

    def count(self, start: datetime, end: datetime) -> int:
        return int(start <= self.at < end)

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        return [self.at] if limit > 0 and start <= self.at < end else []


class FollowOutcome(StrEnum):
    """How a run of a parent must have ended."""

    SUCCESS = "success"
    FAILED = "failed"
    PARTIAL = "partial"
    DEGRADED = "degraded"
    CHANGED = "changed"
    ANY = "any"

    def wants(self, state: str, *, changed: bool = False) -> bool:
        """Whether a run that ended in this state is followed. `changed`: it found a change that counts."""
        match self:
            case FollowOutcome.CHANGED:
                return changed
            case FollowOutcome.ANY:
                return True
            case FollowOutcome.FAILED:
                return state in {"failed", "dead_letter"}
            case FollowOutcome.SUCCESS | FollowOutcome.PARTIAL | FollowOutcome.DEGRADED:
                return state == self.value


@dataclass(frozen=True, slots=True)
class After:
    """The ends of runs of other schedules. It names no instant: the transaction that ends such a run creates the next.

    With `all`, a run follows when each parent has ended one since the last.
    """

    parents: tuple[str, ...]
    """Ids of schedules."""
    outcome: FollowOutcome = FollowOutcome.SUCCESS
    all: bool = False
    zone: str = "UTC"
    names: tuple[str, ...] = field(default=(), compare=False)
    """What the parents are called now, for people; not stored."""

    def after(self, moment: datetime) -> datetime | None:
        return None

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        return iter(())

    def count(self, start: datetime, end: datetime) -> int:
        return 0

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        return []

    def as_dict(self) -> dict[str, Any]:
        return {"schedule": list(self.parents), "outcome": self.outcome.value, "all": self.all}


Rule = Cron | FixedInterval | OneOff | After


@dataclass(frozen=True, slots=True)
class Trigger:
    """A rule within a window: from `start_at` on, before `end_at`. All moments are aware and UTC.

    Its instants are those that the rule names, moved to business days where `shift` says so. Those that `exclusions`
    exclude are instants too: they are accounted for, and make no run.
    """

    rule: Rule
    start_at: datetime | None = None
    end_at: datetime | None = None
    exclusions: Exclusions | None = None
    shift: BusinessDayShift | None = None

    def anchored(self, anchor: datetime) -> Trigger:
        """The same with this anchor, where it is an interval."""
        rule = self.rule
        if not isinstance(rule, FixedInterval) or rule.anchor == anchor:
            return self
        return replace(self, rule=FixedInterval(rule.seconds, anchor, rule.zone))

    def next_after(self, moment: datetime) -> datetime | None:
        """The first instant strictly later than the moment."""
        if self.start_at is not None and moment < self.start_at:
            moment = self.start_at - _TICK
        found = self.rule.after(moment) if self.shift is None else self.shift.after(self.rule, moment)
        if found is None or (self.end_at is not None and found >= self.end_at):
            return None
        return found

    @property
    def follows(self) -> After | None:
        """The rule of a schedule that follows others."""
        return self.rule if isinstance(self.rule, After) else None

    def admits(self, moment: datetime) -> bool:
        """Whether the moment lies within the window."""
        begun = self.start_at is None or moment >= self.start_at
        return begun and (self.end_at is None or moment < self.end_at)

    def names(self, moment: datetime) -> bool:
        """Whether the moment is one of its instants."""
        return self.next_after(moment - _TICK) == moment

    def between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The instants of [start, end), in order, computed lazily."""
        low, high = self._within(start, end)
        return self.rule.between(low, high) if self.shift is None else self.shift.between(self.rule, low, high)

    def count(self, start: datetime, end: datetime) -> int:
        """How many instants lie in [start, end): cheap also for years of seconds."""
        if self.shift is not None:
            return sum(1 for _ in self.between(start, end))
        return self.rule.count(*self._within(start, end))

    def newest(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        """The newest `limit` instants of [start, end), oldest first."""
        if self.shift is not None:
            return list(deque(self.between(start, end), maxlen=max(limit, 0)))
        return self.rule.newest(*self._within(start, end), limit)

    @property
    def unrestricted(self) -> Trigger:
        """The rule and its window alone: nothing is excluded or moved."""
        return Trigger(self.rule, self.start_at, self.end_at)

    @property
    def with_excluded(self) -> Trigger:
        """The same instants, none of them excluded."""
        return self if self.exclusions is None else replace(self, exclusions=None)

    def excluded(self, moment: datetime) -> str | None:
        """Why an instant at this moment makes no run, where it is excluded."""
        return None if self.exclusions is None else self.exclusions.reason_at(moment)

    def next_run_after(self, moment: datetime) -> datetime | None:
        """The first instant strictly later that is not excluded."""
        for _ in range(MOST_WINDOWS):
            at = self.next_after(moment)
            window = None if at is None or self.exclusions is None else self.exclusions.window_at(at)
            if window is None:
                return at
            moment = window.end - _TICK
        return None

    def runs_between(self, start: datetime, end: datetime) -> Iterator[datetime]:
        """The instants of [start, end) that are not excluded, in order."""
        for low, high in self._free(start, end):
            yield from self.between(low, high)

    def count_runs(self, start: datetime, end: datetime) -> int:
        """How many instants of [start, end) are not excluded."""
        return sum(self.count(low, high) for low, high in self._free(start, end))

    def newest_runs(self, start: datetime, end: datetime, limit: int) -> list[datetime]:
        """The newest `limit` instants of [start, end) that are not excluded, oldest first."""
        found: list[datetime] = []
        for low, high in reversed(list(self._free(start, end))):
            if len(found) >= limit:
                break
            found = [*self.newest(low, high, limit - len(found)), *found]
        return found

    def excluded_windows(self, start: datetime, end: datetime) -> Iterator[ExcludedWindow]:
        """The excluded time of [start, end), in order."""
        return iter(()) if self.exclusions is None else self.exclusions.windows(*self._within(start, end))

    def _free(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """The stretches of [start, end) between excluded windows."""
        for window in self.excluded_windows(start, end):
            if start < window.start:
                yield start, window.start
            start = max(start, window.end)
        if start < end:
            yield start, end

    @property
    def summary(self) -> str:
        """The rule in words."""
        return self._rule_summary if self.shift is None else f"{self._rule_summary}, {self.shift.words}"

    @property
    def _rule_summary(self) -> str:
        match self.rule:
            case Cron(expression, zone):
                return describe_trigger.cron(expression, zone)
            case FixedInterval(seconds):
                return describe_trigger.every(seconds)
            case OneOff(at, zone):
                return describe_trigger.once(at, zone)
            case After(parents, outcome, every_one):
                return describe_trigger.after(self.rule.names or parents, outcome.value, every_one=every_one)

    def as_dict(self) -> dict[str, Any]:
        """A stable form for JSON, with the field names of the HTTP API."""
        window = {"start_at": rfc3339(self.start_at), "end_at": rfc3339(self.end_at)}
        match self.rule:
            case Cron(expression, zone):
                return {"type": "cron", "cron_expr": expression, "timezone": zone, **window}
            case FixedInterval(seconds, anchor, zone):
                interval = {"interval_seconds": seconds, "anchor": rfc3339(anchor), "timezone": zone}
                return {"type": "interval", **interval, **window}
            case OneOff(at, zone):
                return {"type": "oneoff", "run_at": rfc3339(at), "timezone": zone, **window}
            case After(zone=zone):
                return {"type": "after", "after": self.rule.as_dict(), "timezone": zone, **window}

    @classmethod
    def from_dict(cls, raw: object) -> Trigger:
        """Read what `as_dict` wrote; `Invalid` when the stored form is damaged."""
        if not isinstance(raw, Mapping):
            raise Invalid("trigger", "must be an object", got=raw)
        fields = Fields.of("trigger", raw)
        trigger = cls(_rule(fields), fields.moment("start_at"), fields.moment("end_at"))
        fields.finish()
        return trigger

    def _within(self, start: datetime, end: datetime) -> tuple[datetime, datetime]:
        if self.start_at is not None and start < self.start_at:
            start = self.start_at
        if self.end_at is not None and end > self.end_at:
            end = self.end_at
        return start, end


def cron(expression: str, zone: str, *, key: str) -> Cron:
    """A cron rule from what a user wrote; the key, the schedule's id, chooses what `H` stands for."""
    zone_info(zone)
    return Cron(resolve(expression, key), zone)


def every(seconds: object, anchor: datetime) -> FixedInterval:
    """An interval from what a user wrote. The first instant is the anchor, if the window admits it."""
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= LONGEST:
        raise Invalid("interval_seconds", f"must be a whole number of seconds from 1 to {LONGEST}", got=seconds)
    return FixedInterval(seconds, moment("start_at", anchor))


def once(at: datetime) -> OneOff:
    """A one-off from what a user wrote."""
    return OneOff(moment("run_at", at))


def follow(raw: object) -> After:
    """A rule that follows other schedules, from what a user wrote: ids of schedules, or their names until resolved."""
    if not isinstance(raw, Mapping):
        raise Invalid("after", 'must be an object such as {"schedule": "Crawl", "outcome": "success"}', got=raw)
    fields = Fields.of("after", raw)
    given = fields.value("schedule")
    parents = [given] if isinstance(given, str) else given
    if not isinstance(parents, list | tuple) or not parents:
        raise Invalid("after.schedule", "must be the id or the name of a schedule, or a list of them", got=given)
    if len(parents) > MOST_PARENTS:
        raise Invalid("after.schedule", f"must be at most {MOST_PARENTS} schedules", got=f"{len(parents)} schedules")
    for place, parent in enumerate(parents):
        if not isinstance(parent, str) or not 0 < len(parent) <= _MOST_NAME:
            raise Invalid(f"after.schedule[{place}]", "must be the id or the name of a schedule", got=parent)
    outcome = fields.choice("outcome", FollowOutcome, FollowOutcome.SUCCESS)
    rule = After(tuple(dict.fromkeys(parents)), outcome, fields.flag("all", default=False))
    # Part of answers, which can be sent back as they are; what is shown was read from the schedules themselves.
    names = fields.value("names")
    fields.finish()
    if isinstance(names, list) and len(names) == len(rule.parents) and all(isinstance(name, str) for name in names):
        rule = replace(rule, names=tuple(names))
    return rule


def _rule(fields: Fields) -> Rule:
    kind = fields.value("type")
    zone = fields.text("timezone", "UTC", most=_MOST_ZONE)
    zone_info(zone)
    match kind:
        case "cron":
            return Cron(parse(fields.text("cron_expr", "", most=_MOST_EXPRESSION)).text, zone)
        case "interval":
            seconds, anchor = fields.value("interval_seconds"), fields.moment("anchor")
            if anchor is None:
                raise Invalid(fields.path("anchor"), "is missing")
            return FixedInterval(every(seconds, anchor).seconds, anchor, zone)
        case "oneoff":
            return OneOff(once(fields.value("run_at")).at, zone)
        case "after":
            return replace(follow(fields.value("after")), zone=zone)
        case _:
            raise Invalid(fields.path("type"), "must be one of cron, interval, oneoff, after", got=kind)


class TriggerType(StrEnum):
    """The kinds of trigger, as the API names them."""

    CRON = "cron"
    INTERVAL = "interval"
    ONEOFF = "oneoff"
    AFTER = "after"
