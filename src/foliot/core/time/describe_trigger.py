"""Describes triggers in English.

CronSim's explanations with three corrections: a union of days reads "or", `15W` is supported, and ordinals are right.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from cronsim.explain import Day, Expression, ordinal
from cronsim.explain import Sequence as Terms

from foliot.core.time.cron import AND, parse
from foliot.core.time.zone import zone_info

NEAREST: Final = -2
UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
SHORT = ("d", "h", "min", "s")
MANY = 100
"""From this many of one unit on, several units are used: 8,130 seconds mean nothing to a reader."""
_STEP = re.compile(r"(?:\*|0|0-59)/(\d+)")


@lru_cache(maxsize=1024)
def cron(expression: str, zone: str) -> str:
    """The sentence for an expression: "At 02:30 every day (Europe/Stockholm)"."""
    parts = parse(expression).text.split()
    sentence = _evenly(_Sentence(parts).explain(), parts)
    return f"{_with_endings(sentence)} ({zone})"


def every(seconds: int) -> str:
    """The sentence for an interval: in the largest unit that divides it, or in several: "Every 2 h 15 min 30 s"."""
    unit, size = next((unit, size) for unit, size in UNITS if seconds % size == 0)
    number = seconds // size
    if number >= MANY and unit != "day":
        return f"Every {_in_several(seconds)}"
    return f"Every {unit}" if number == 1 else f"Every {number} {unit}s"


def _in_several(seconds: int) -> str:
    said = []
    for short, (_, size) in zip(SHORT, UNITS, strict=True):
        number, seconds = divmod(seconds, size)
        said += [f"{number} {short}"] if number else []
    return " ".join(said)


def once(at: datetime, zone: str) -> str:
    """The sentence for a one-off, on the clock of its zone."""
    local = at.astimezone(zone_info(zone))
    seconds = ":%S" if local.second else ""
    return f"Once, on {local:%Y-%m-%d} at {local:{'%H:%M' + seconds}} ({zone})"


_ENDS = {
    "success": ("succeeds", "succeed"),
    "failed": ("fails", "fail"),
    "partial": ("ends with some items failed", "end with some items failed"),
    "degraded": ("ends degraded", "end degraded"),
    "changed": ("finds a change", "find a change"),
    "any": ("ends", "end"),
}


def after(parents: Sequence[str], outcome: str, *, every_one: bool) -> str:
    """The sentence for a schedule that follows others: "After Clean and Load succeed"."""
    several = every_one and len(parents) > 1
    verb = _ENDS[outcome][several]
    word = "and" if several else "or"
    listed = parents[0] if len(parents) == 1 else f"{', '.join(parents[:-1])} {word} {parents[-1]}"
    return f"After {listed} {verb}"


class _Days(Day):
    """The day of month, also when it is the weekday nearest to one."""

    def parse(self, value: str) -> Generator[Terms, None, None]:
        for term in value.split(","):
            if term.endswith("W") and term != "LW":
                day = int(term[:-1])
                yield Terms(start=day, stop=day, nth=NEAREST)
            else:
                yield from super().parse(term)

    def format_nth(self, value: int, nth: int) -> str:
        if nth == NEAREST:
            return f"the weekday nearest the {ordinal(value)} day of month"
        return super().format_nth(value, nth)


class _Sentence(Expression):
    """A whole expression."""

    def __init__(self, parts: list[str]) -> None:
        both = parts[-1].endswith(AND)
        parts = [*parts[:-1], parts[-1].removesuffix(AND)]
        nearest = any(term.endswith("W") and term != "LW" for term in parts[-3].split(","))
        super().__init__([*parts[:-3], "*", *parts[-2:]] if nearest else parts)
        if nearest:
            self.day = _Days(parts[-3])
            # These let CronSim shorten "the 15th"; it would lose the "nearest".
            self.day.single_value, self.day.all_singles = None, False
            self.day_and = parts[-1].startswith("*")
        if both and parts[-3] != "*":
            self.day_and = True

    def translate_date(self, allow_every_day: bool) -> str:  # noqa: FBT001 - the signature is CronSim's
        if self.day.star or self.dow.star or self.day_and:
            return super().translate_date(allow_every_day)
        months = "" if self.month.star else f", {self.month}"
        return f"{self.day} or {self.dow}{months}"


def _evenly(sentence: str, parts: list[str]) -> str:
    """ "Every 5 minutes" for "Every fifth minute of every hour", where five divide the hour and the rhythm is kept."""
    for unit, whole, field in (
        ("minute", "hour", parts[-5]),
        ("second", "minute", parts[-6] if len(parts) == 6 else ""),
    ):
        found = _STEP.fullmatch(field)
        number = int(found[1]) if found else 0
        said = f"Every {ordinal(number)} {unit}" if number > 1 and 60 % number == 0 else ""
        if said and sentence.startswith((f"{said} of every {whole}", f"{said} from ")):
            return f"Every {number} {unit}s{sentence.removeprefix(said).removeprefix(f' of every {whole}')}"
    return sentence


def _with_endings(sentence: str) -> str:
    """Corrects 21th, 22th, 23th and 31th."""
    endings = {"1": "st", "2": "nd", "3": "rd"}
    return re.sub(r"\b([2-5])([123])th\b", lambda found: found[1] + found[2] + endings[found[2]], sentence)
