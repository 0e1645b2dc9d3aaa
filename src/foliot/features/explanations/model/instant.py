"""Explains what became of one time of a schedule: it ran, was skipped or missed, or the trigger does not name it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from foliot.core.time.preview import clock_changes
from foliot.core.time.trigger import Trigger
from foliot.engine.model.ledger import LedgerEntry, LedgerKind, LedgerReason, VersionSpan
from foliot.engine.model.schedule import Schedule, ScheduleSpec, ScheduleStatus
from foliot.engine.model.views import RunView
from foliot.features.explanations.model.facts import Fact, FactCode, clock, wall_time_in

TICK = timedelta(microseconds=1)
MINUTE = timedelta(minutes=1)
NEAR = timedelta(hours=26)
"""Clock changes that are so near concern a time: a day and the longest shift of a zone."""


@dataclass(frozen=True, slots=True)
class RecordedChange:
    """A change of the schedule in the audit log."""

    entry_id: str
    at: datetime
    verb: str
    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstantEvidence:
    """What is stored about a schedule around one time."""

    schedule: Schedule
    spans: Sequence[VersionSpan]
    specs: Mapping[int, ScheduleSpec | str]
    instant: datetime | None
    """The instant that is meant, if the trigger that held then names one."""
    entry: LedgerEntry | None = None
    other: RunView | None = None
    """A run of the schedule that was open at that time."""
    changes: Sequence[RecordedChange] = ()
    default_zone: str = "UTC"
    damaged: str = ""
    """The reason of spans in which the stored schedule was damaged."""

    @property
    def zone(self) -> str:
        return self.schedule.spec.trigger.rule.zone

    def span_at(self, at: datetime) -> VersionSpan | None:
        return span_at(self.spans, at)

    def change_at(self, at: datetime) -> RecordedChange | None:
        """The change that began a span: its entry was written in the same transaction."""
        near = [one for one in self.changes if abs(one.at - at) < timedelta(seconds=1)]
        return near[0] if near else None


def span_at(spans: Sequence[VersionSpan], at: datetime) -> VersionSpan | None:
    """The span whose version decided about this time."""
    for span in spans:
        if span.start < at and (span.end is None or at <= span.end):
            return span
    return None


def instant_near(trigger: Trigger, asked: datetime) -> datetime | None:
    """The instant that a person means: this very time, or the first one within its minute."""
    until = asked + (MINUTE if not asked.second and not asked.microsecond else TICK)
    return next(iter(trigger.between(asked, until)), None)


def explain_instant(asked: datetime, known: InstantEvidence, now: datetime) -> Iterator[Fact]:
    """The facts about a time for which there is no run."""
    schedule, span = known.schedule, known.span_at(asked)
    if span is None:
        yield from _outside(asked, known)
        return
    if not span.active:
        yield _inactive(span, known)
        return
    if known.instant is None:
        yield from _not_due(asked, known, span)
        return
    yield from _clock_facts(known.instant, known)
    if known.entry is not None:
        yield from _accounted(known.instant, known.entry, known)
    elif schedule.fault is not None:
        yield Fact(None, FactCode.DAMAGED, f"The stored schedule is damaged and does not fire: {schedule.fault}.")
    elif known.instant > now or (schedule.next_at is not None and known.instant >= schedule.next_at):
        yield _planned(known.instant, known)
    else:
        words = "No run and no ledger entry accounts for this time: run `foliot audit`."
        yield Fact(known.instant, FactCode.UNACCOUNTED, words)


def _outside(asked: datetime, known: InstantEvidence) -> Iterator[Fact]:
    schedule = known.schedule
    if asked <= schedule.created_at or (known.spans and asked <= known.spans[0].start):
        words = f"The schedule did not exist yet: it was created at {clock(schedule.created_at, known.zone)}."
        yield Fact(schedule.created_at, FactCode.NOT_CREATED, words, {"schedule_id": schedule.id})
        return
    ended = known.spans[-1].end if known.spans else None
    code = FactCode.DELETED if schedule.status is ScheduleStatus.DELETED else FactCode.COMPLETED
    verb = "was deleted" if code is FactCode.DELETED else "was completed: its trigger names no later time"
    when = "" if ended is None else f" at {clock(ended, known.zone)}"
    change = None if ended is None else known.change_at(ended)
    yield Fact(ended, code, f"The schedule {verb}{when}{_by(change)}.", _proof(known, change))


def _inactive(span: VersionSpan, known: InstantEvidence) -> Fact:
    schedule = known.schedule
    if span.reason and span.reason == known.damaged:
        return Fact(span.start, FactCode.DAMAGED, "The stored schedule was damaged, and did not fire.", _proof(known))
    change = known.change_at(span.start)
    by = _by(change) or (f" by {schedule.paused_by}" if span.end is None and schedule.paused_by else "")
    reason = f" ({span.reason})" if span.reason else ""
    until = "is still paused" if span.end is None else f"was resumed at {clock(span.end, known.zone)}"
    words = f"The schedule was paused at {clock(span.start, known.zone)}{by}{reason}, and {until}."
    return Fact(span.start, FactCode.PAUSED, words, _proof(known, change))


def _planned(instant: datetime, known: InstantEvidence) -> Fact:
    schedule = known.schedule
    if instant == schedule.skip_at:
        words = f"{schedule.skip_by or 'A user'} asked to skip {clock(instant, known.zone)} once."
        return Fact(instant, FactCode.SKIPPED_BY_PERSON, words, _proof(known))
    if (note := _spec_at(instant, known).trigger.excluded(instant)) is not None:
        return _excluded(instant, note, known, _proof(known))
    return Fact(instant, FactCode.PLANNED, f"It is planned for {clock(instant, known.zone)}.", _proof(known))


_LEDGER = {
    LedgerReason.BUFFER_FULL: (FactCode.BUFFER_FULL, "100 runs waited for their predecessor already"),
    LedgerReason.SUPERSEDED: (FactCode.SUPERSEDED, "a later time was due as well, and only the newest runs"),
    LedgerReason.AHEAD: (FactCode.CLOCK_AHEAD, "a clock that was ahead had made its run too early"),
    LedgerReason.RETENTION: (FactCode.PRUNED, "its run was deleted by retention"),
    LedgerReason.CHANGED: (FactCode.EDITED, "the schedule was being edited, paused or deleted at that moment"),
    LedgerReason.EXHAUSTED: (FactCode.COMPLETED, "the number of runs that `max_runs` allows was reached"),
}


def _accounted(instant: datetime, entry: LedgerEntry, known: InstantEvidence) -> Iterator[Fact]:
    """What the ledger says about an instant that has no run."""
    when = clock(instant, known.zone)
    proof: dict[str, object] = {
        "schedule_id": known.schedule.id,
        "ledger": [entry.first.isoformat(), entry.last.isoformat()],
    }
    if entry.reason is LedgerReason.REQUESTED:
        words = f"{entry.by or 'A user'} asked to skip {when} once."
        yield Fact(instant, FactCode.SKIPPED_BY_PERSON, words, proof)
        return
    if entry.reason is LedgerReason.OVERLAP:
        yield _overlap(instant, known, proof)
        return
    if entry.reason is LedgerReason.CALENDAR:
        yield _excluded(instant, entry.note, known, proof)
        return
    if entry.fate is LedgerKind.MISSED:
        yield _missed(instant, entry, known, proof)
        return
    code, words = _LEDGER.get(entry.reason, (FactCode.UNACCOUNTED, entry.told))
    yield Fact(instant, code, f"{when} was {entry.fate.value}: {words}.", proof)


def _excluded(instant: datetime, note: str, known: InstantEvidence, proof: dict[str, object]) -> Fact:
    """Which entry of which version excludes the instant; a version holds the calendar as it was."""
    span, restriction = known.span_at(instant), _spec_at(instant, known).restriction
    calendars = [{"id": one.id, "name": name, "revision": one.revision} for name, one in restriction.calendars.items()]
    proof = {**proof, "version": known.schedule.version if span is None else span.version, "calendars": calendars}
    rule = "`only` of the schedule allows other times" if note.startswith("outside ") else "the schedule excludes it"
    words = f"{clock(instant, known.zone)} makes no run: {rule} ({note})."
    return Fact(instant, FactCode.EXCLUDED_BY_CALENDAR, words, proof)


def _overlap(instant: datetime, known: InstantEvidence, proof: dict[str, object]) -> Fact:
    overlap = _spec_at(instant, known).overlap.value
    words = f"{clock(instant, known.zone)} was skipped, because an earlier run was still open (overlap {overlap})"
    if (other := known.other) is None:
        return Fact(instant, FactCode.SKIPPED_OVERLAP, f"{words}.", proof)
    since = clock(other.started_at or other.created_at, known.zone)
    until = "" if other.finished_at is None else f" to {clock(other.finished_at, known.zone)}"
    words += f": run {other.id} was open from {since}{until}."
    return Fact(instant, FactCode.SKIPPED_OVERLAP, words, {**proof, "run_id": other.id})


def _missed(instant: datetime, entry: LedgerEntry, known: InstantEvidence, proof: dict[str, object]) -> Fact:
    catchup = _spec_at(instant, known).catchup
    others = f" with {entry.count - 1} others" if entry.count > 1 else ""
    rule = {
        LedgerReason.CATCHUP_NONE: "catch-up `none` drops what is later than its grace",
        LedgerReason.CATCHUP_LATEST: "catch-up `latest` keeps only the newest within its window",
        LedgerReason.CATCHUP_ALL: f"catch-up `all` keeps at most {catchup.max_runs} within its window",
    }.get(entry.reason, entry.told)
    words = (
        f"No scheduler settled {clock(instant, known.zone)}{others} in time: it was more than "
        f"{catchup.grace_seconds} s late, and {rule} of {catchup.window_seconds} s."
    )
    return Fact(instant, FactCode.MISSED_WINDOW, words, proof)


def _spec_at(at: datetime, known: InstantEvidence) -> ScheduleSpec:
    span = known.span_at(at)
    spec = None if span is None else known.specs.get(span.version)
    return spec if isinstance(spec, ScheduleSpec) else known.schedule.spec


def _not_due(asked: datetime, known: InstantEvidence, span: VersionSpan) -> Iterator[Fact]:
    """The trigger does not name this time: which nearest ones it does, and what else could have been meant."""
    spec = known.specs.get(span.version)
    if not isinstance(spec, ScheduleSpec):
        yield Fact(span.start, FactCode.DAMAGED, f"Version {span.version} is damaged: {spec}.", _proof(known))
        return
    yield from _edited(asked, known, span)
    yield from _clock_facts(asked, known)
    yield from _other_zone(asked, known, spec.trigger)
    before = next(iter(spec.trigger.newest(asked - timedelta(days=366), asked, 1)), None)
    after = spec.trigger.next_after(asked)
    named = [clock(at, known.zone) for at in (before, after) if at is not None]
    nearest = f" The nearest are {' and '.join(named)}." if named else ""
    words = f"The trigger ({spec.trigger.summary}) does not name {clock(asked, known.zone)}.{nearest}"
    yield Fact(asked, FactCode.NOT_DUE, words, {**_proof(known), "version": span.version})


def _edited(asked: datetime, known: InstantEvidence, span: VersionSpan) -> Iterator[Fact]:
    """Another version would have named it: the one before, or one that came later."""
    for other in known.spans:
        spec = known.specs.get(other.version)
        if other.version == span.version or not isinstance(spec, ScheduleSpec):
            continue
        if instant_near(spec.trigger, asked) is None:
            continue
        edge = span.start if other.version < span.version else other.start
        change = known.change_at(edge)
        which = "the version before" if other.version < span.version else "the version since then"
        words = (
            f"The schedule was edited at {clock(edge, known.zone)}{_by(change)}: {which} ({other.version}) names "
            f"{clock(asked, known.zone)}, version {span.version}, which held then, does not."
        )
        yield Fact(edge, FactCode.EDITED, words, _proof(known, change))
        return


def _other_zone(asked: datetime, known: InstantEvidence, trigger: Trigger) -> Iterator[Fact]:
    """The same time of day is named in the schedule's zone: another zone was meant."""
    for other in dict.fromkeys(("UTC", known.default_zone)):
        there = wall_time_in(asked, known.zone, other)
        instant = instant_near(trigger, there)
        if there != asked and instant is not None:
            words = (
                f"{clock(asked, other)} is not the schedule's time: it follows {known.zone}, where that time of day is "
                f"{clock(instant, 'UTC')}."
            )
            yield Fact(instant, FactCode.OTHER_TIMEZONE, words, _proof(known))
            return


def _clock_facts(at: datetime, known: InstantEvidence) -> Iterator[Fact]:
    """Clock changes of the schedule's zone on the day of this time that concern the trigger."""
    spec = _spec_at(at, known)
    day = clock(at, known.zone)[:10]
    for change in clock_changes(spec.trigger, at - NEAR, at + NEAR):
        if clock(change.at, known.zone)[:10] == day:
            code = FactCode.CLOCK_GAP if change.skipped else FactCode.CLOCK_FOLD
            yield Fact(change.at, code, f"{change.words}.", {**_proof(known), "timezone": known.zone})


def _by(change: RecordedChange | None) -> str:
    return "" if change is None else f" by {change.user_id}"


def _proof(known: InstantEvidence, change: RecordedChange | None = None) -> dict[str, object]:
    proof: dict[str, object] = {"schedule_id": known.schedule.id}
    return proof if change is None else {**proof, "audit_id": change.entry_id}
