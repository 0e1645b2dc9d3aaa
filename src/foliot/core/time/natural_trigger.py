"""Turns a parsed phrase into a trigger: a cron expression, an interval or one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta

from foliot.core.errors import Invalid
from foliot.core.time.cron import resolve
from foliot.core.time.fire_times import fires
from foliot.core.time.natural_language import EXAMPLE, PhraseClauses, TimeOfDay, read_phrase
from foliot.core.time.trigger import TriggerType
from foliot.core.time.vocabulary import DAYS, UNITS
from foliot.core.time.zone import zone_info

MIDNIGHT = TimeOfDay(0)
MOST_MENDED = 8
_WHOLE = {"second": 60, "minute": 60, "hour": 24}
"""What a step must divide so that a cron expression can express it."""


@dataclass(frozen=True, slots=True)
class ParsedTrigger:
    """A trigger in the fields of a request."""

    type: TriggerType
    cron_expr: str | None = None
    interval_seconds: int | None = None
    run_at: datetime | None = None
    start_at: datetime | None = None
    """The first instant of an interval that has a time of day, or a day of the week."""

    def as_fields(self) -> dict[str, object]:
        """Without `start_at`, which is no part of the rule."""
        named = {"cron_expr": self.cron_expr, "interval_seconds": self.interval_seconds, "run_at": self.run_at}
        return {"type": self.type.value, **{name: value for name, value in named.items() if value is not None}}


def understand(words: object, zone: str, now: datetime) -> ParsedTrigger:
    """The trigger that this phrase names, in this zone, as of this moment."""
    try:
        return _understand(words, zone, now)
    except Invalid as error:
        error.suggestion = _mended(error.suggestion, zone, now)
        raise


def _understand(words: object, zone: str, now: datetime) -> ParsedTrigger:
    phrase = read_phrase(words)
    try:
        return _possible(_meant(phrase, zone, now))
    except _NoSuchTrigger as error:
        text = str(words)
        raise Invalid("words", str(error), got=text, position=(0, len(text)), suggestion=error.meant) from None


def _mended(meant: str | None, zone: str, now: datetime) -> str:
    """Suggests only what would be understood: other errors are corrected too, or it is an example."""
    for _ in range(MOST_MENDED):
        if meant is None:
            break
        try:
            _understand(meant, zone, now)
        except Invalid as error:
            meant = error.suggestion
        else:
            return meant
    return EXAMPLE


class _NoSuchTrigger(Exception):
    """Every word was understood, but the combination names no trigger."""

    def __init__(self, message: str, meant: str | None = None) -> None:
        super().__init__(message)
        self.meant = meant


def _meant(phrase: PhraseClauses, zone: str, now: datetime) -> ParsedTrigger:
    if phrase.ahead is not None or phrase.date is not None:
        return _moment(phrase, zone, now)
    if phrase.unit is None and not (phrase.times or phrase.weekdays or phrase.nth or phrase.days or phrase.months):
        raise _NoSuchTrigger("gives no time, day or interval", "every day at 02:30")
    if phrase.unit in {"second", "minute", "hour"} and not phrase.times:
        return _often(phrase)
    if phrase.number > 1 and phrase.unit is not None:
        return _seldom(phrase, zone, now)
    return _daily(phrase)


def _possible(meant: ParsedTrigger) -> ParsedTrigger:
    if meant.cron_expr is not None:
        try:
            resolve(meant.cron_expr, "")
        except Invalid as error:
            raise _NoSuchTrigger(f"names {meant.cron_expr!r}, which {error.message}") from None
    return meant


def _moment(phrase: PhraseClauses, zone: str, now: datetime) -> ParsedTrigger:
    if phrase.unit is not None or phrase.nth or phrase.days or phrase.months or phrase.between or phrase.weekdays:
        raise _NoSuchTrigger("gives both a single time and a repetition: give one of the two")
    if phrase.ahead is not None:
        try:
            run_at = now.replace(microsecond=0) + timedelta(seconds=phrase.ahead)
            return ParsedTrigger(TriggerType.ONEOFF, run_at=run_at)
        except OverflowError:
            raise _NoSuchTrigger("is too far away") from None
    if phrase.date == "now":
        raise _NoSuchTrigger("has passed by the time it is saved", "in 10 seconds")
    if len(phrase.times) > 1:
        raise _NoSuchTrigger("gives several times, but a single run has one")
    local = now.astimezone(zone_info(zone))
    if phrase.date in {"today", "tomorrow"}:
        day = local.date() + timedelta(days=int(phrase.date == "tomorrow"))
    else:
        try:
            day = date.fromisoformat(str(phrase.date))
        except ValueError:
            raise _NoSuchTrigger(f"there is no date {phrase.date}") from None
    at = phrase.times[0] if phrase.times else MIDNIGHT
    if not 1970 <= day.year < 3000:
        raise _NoSuchTrigger("is outside the years 1970 to 2999")
    # The zone's clock decides, also where it skips or repeats this time.
    wall = f"{at.second} {at.minute} {at.hour} {day.day} {day.month} *"
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=1, seconds=1)
    return ParsedTrigger(TriggerType.ONEOFF, run_at=fires(wall, zone).after(begin))


def _often(phrase: PhraseClauses) -> ParsedTrigger:
    """Seconds, minutes and hours: as cron where they divide evenly, otherwise as an interval from the start."""
    unit = phrase.unit or "hour"
    whole, narrowed = _WHOLE[unit], phrase.weekdays or phrase.days or phrase.months or phrase.nth or phrase.between
    if phrase.minute is not None and unit != "hour":
        raise _NoSuchTrigger("gives a minute, but runs more often than hourly")
    if whole % phrase.number:
        if narrowed or phrase.minute is not None:
            raise _NoSuchTrigger(
                f"{phrase.number} {unit}s do not divide the clock evenly, so they cannot be limited to certain "
                "hours or days"
            )
        return ParsedTrigger(TriggerType.INTERVAL, interval_seconds=phrase.number * UNITS[unit])
    step = "*" if phrase.number == 1 else f"*/{phrase.number}" if phrase.number < whole else "0"
    hours = "*" if phrase.between is None else _hours(phrase.between, inclusive=unit == "hour")
    match unit:
        case "second":
            expression = f"{step} * {hours}"
        case "minute":
            expression = f"{step} {hours}"
        case _ if phrase.between is None or step == "*":
            expression = f"{phrase.minute or 0} {hours if phrase.between else step}"
        case _:
            expression = f"{phrase.minute or 0} {hours}/{phrase.number}"
    return ParsedTrigger(TriggerType.CRON, cron_expr=f"{expression} {_dates(phrase)}")


def _hours(between: tuple[int, int], *, inclusive: bool) -> str:
    first, last = between
    if not inclusive:
        last = (last - 1) % 24
    return str(first) if first == last else f"{first}-{last}"


def _seldom(phrase: PhraseClauses, zone: str, now: datetime) -> ParsedTrigger:
    """Every n days or weeks: as an interval, because no cron expression keeps that across the end of a month.

    With a time or a day it begins at the first such moment after now; an interval keeps real time from there on.
    """
    if phrase.unit == "month" and not 12 % phrase.number and not phrase.months:
        return _daily(replace(phrase, months=list(range(1, 13, phrase.number)), number=1))
    seconds = UNITS[phrase.unit or "day"]
    if not seconds:
        raise _NoSuchTrigger(
            f"cannot be counted in {phrase.unit}s; name the dates", "on the 1st of january and july at 9"
        )
    every = f"every {phrase.number} {phrase.unit}s"
    if phrase.days or phrase.nth or phrase.months or phrase.between or phrase.minute is not None:
        raise _NoSuchTrigger(f"{every} is an interval, which can only be combined with a day of the week and a time")
    if len(set(phrase.weekdays)) > 1 or len(set(phrase.times)) > 1:
        raise _NoSuchTrigger(f"{every} is an interval with one day and one time: create a schedule for each")
    if phrase.weekdays and phrase.unit != "week":
        raise _NoSuchTrigger(f"{every} cannot be combined with a day of the week", "every other monday at 9")
    interval = ParsedTrigger(TriggerType.INTERVAL, interval_seconds=phrase.number * seconds)
    if not phrase.weekdays and not phrase.times:
        return interval
    at = phrase.times[0] if phrase.times else MIDNIGHT
    day = str(phrase.weekdays[0]) if phrase.weekdays else "*"
    first = fires(f"{at.second} {at.minute} {at.hour} * * {day}", zone).after(now)
    return replace(interval, start_at=first)


def _daily(phrase: PhraseClauses) -> ParsedTrigger:
    if phrase.between is not None:
        raise _NoSuchTrigger("gives a range of hours, but not how often to run", "every hour between 9 and 17")
    times = sorted(set(phrase.times or [MIDNIGHT]))
    rest = {(one.minute, one.second) for one in times}
    if len(rest) > 1:
        raise _NoSuchTrigger("one cron expression has the same minute for all its hours: create two schedules")
    if phrase.minute is not None and phrase.times:
        raise _NoSuchTrigger("gives the minute twice")
    minute, second = rest.pop()
    hours = ",".join(str(one.hour) for one in times)
    if phrase.minute is not None:
        # "weekdays at :15" is hourly.
        minute, hours = phrase.minute, "*"
    written = f"{second} " if second else ""
    return ParsedTrigger(TriggerType.CRON, cron_expr=f"{written}{minute} {hours} {_dates(phrase)}")


def _dates(phrase: PhraseClauses) -> str:
    """Day of month, month and day of week."""
    days, months = list(phrase.days), list(phrase.months)
    weekdays = [*map(str, sorted(set(phrase.weekdays))), *phrase.nth]
    if phrase.unit == "week" and not weekdays:
        weekdays = ["1"]
    if phrase.unit in {"month", "year"} and not days and not weekdays:
        days = ["1"]
    if phrase.unit == "year" and not months:
        months = [1]
    if days and weekdays:
        raise _NoSuchTrigger(
            f"gives days of the month and {DAYS[int(weekdays[0][0])]}: cron would run on either; give one of the two"
        )
    return f"{_listed(days)} {_listed(sorted(set(months)))} {_run_together(weekdays)}"


def _listed(values: Sequence[object]) -> str:
    return ",".join(map(str, dict.fromkeys(values))) or "*"


def _run_together(weekdays: list[str]) -> str:
    """`1-5` reads better than `1,2,3,4,5`."""
    return {"1,2,3,4,5": "1-5", "0,1,2,3,4,5,6": "*"}.get(",".join(weekdays), _listed(weekdays))
