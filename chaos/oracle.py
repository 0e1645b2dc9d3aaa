"""Says which instants must exist: by counting seconds, with a pencil. Nothing of Foliot is imported here.

A rule is what was asked for through the API: `{"every": 2, "anchor": …, "end": …}` or `{"cron": "*/2 * * * * *"}`, six
fields beginning with seconds, in UTC, of `*`, numbers, ranges, lists and steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from chaos.history import Era

SECOND = timedelta(seconds=1)


def instants(era: Era, finish: datetime) -> list[datetime]:
    """Those of (since, until], for an open era up to `finish`."""
    until = finish if era.until is None else era.until
    found = _of_cron(era.rule, era.since, until) if "cron" in era.rule else _of_interval(era.rule, era.since, until)
    end = era.rule.get("end")
    return [moment for moment in found if end is None or moment < datetime.fromisoformat(end)]


def expected(eras: Iterable[Era], finish: datetime) -> dict[str, list[datetime]]:
    """Every instant each schedule owes."""
    owed: dict[str, list[datetime]] = {}
    for era in eras:
        owed.setdefault(era.schedule, []).extend(instants(era, finish))
    return owed


def _of_interval(rule: Mapping[str, Any], since: datetime, until: datetime) -> list[datetime]:
    step, found = timedelta(seconds=rule["every"]), datetime.fromisoformat(rule["anchor"])
    instants = []
    while found <= until:
        if found > since:
            instants.append(found)
        found += step
    return instants


def _of_cron(rule: Mapping[str, Any], since: datetime, until: datetime) -> list[datetime]:
    seconds, minutes, hours, *days = rule["cron"].split()
    if days != ["*", "*", "*"]:
        raise ValueError(f"this oracle counts seconds, minutes and hours of every day, not {rule['cron']!r}")
    allowed = (_allowed(seconds, 60), _allowed(minutes, 60), _allowed(hours, 24))
    moment, instants = since.replace(microsecond=0), []
    while moment <= until:
        fits = moment.second in allowed[0] and moment.minute in allowed[1] and moment.hour in allowed[2]
        if fits and moment > since:
            instants.append(moment)
        moment += SECOND
    return instants


def _allowed(field: str, size: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        if span == "*":
            low, high = 0, size - 1
        else:
            low, high = int(first), int(last or (size - 1 if step else first))
        found.update(range(low, high + 1, int(step or 1)))
    return found
