"""P4: the next fire, by Foliot, CronSim and croniter, in one run.

    python bench/cron.py [--json FILE] [--rounds N]

shared  many schedules have the same expression and zone, and ask as time goes by
cold    every expression is new: parse it and find its next fire (zones are known, as they are to zoneinfo)
blank   as cold, with every cache of ours emptied before each question
"""

from __future__ import annotations

import argparse
import json
import platform
import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim

from foliot.core.time import cron, fire_times
from foliot.core.time.trigger import Cron, Trigger

ZONE = "Europe/Stockholm"
INFO = ZoneInfo(ZONE)
NOW = datetime(2026, 11, 15, 20, tzinfo=UTC)
SHARED = ("30 2 * * *", "*/5 * * * *", "0 9 * * 1-5", "0 0 1,15 * 5", "0 0 L * *", "*/20 * * * * *")
SCHEDULES = 200
TARGET_US = 3.0


def expressions(count: int) -> list[str]:
    """Distinct expressions such as people write."""
    chance = random.Random(4)
    found: dict[str, None] = {}
    while len(found) < count:
        hour = chance.choice(["*", "*/2", "9-17", *map(str, range(24))])
        day = chance.choice(["*", "*", "*", "1", "1,15", str(chance.randrange(1, 29))])
        weekday = chance.choice(["*", "*", "*", "1-5", "0", "MON,THU"])
        found[f"{chance.randrange(60)} {hour} {day} * {weekday}"] = None
    return list(found)


def ours(expression: str, moment: datetime) -> datetime | None:
    return Trigger(Cron(expression, ZONE)).next_after(moment)


def forget() -> None:
    for cache in (fire_times.fires, cron.parse, cron._field):  # noqa: SLF001 - what is measured is their absence
        cache.cache_clear()


def blank(expression: str, moment: datetime) -> datetime | None:
    forget()
    return ours(expression, moment)


def by_cronsim(expression: str, moment: datetime) -> datetime:
    return next(CronSim(expression, moment.astimezone(INFO)))


def by_croniter(expression: str, moment: datetime) -> datetime:
    found: datetime = croniter(expression, moment.astimezone(INFO), second_at_beginning=True).get_next(datetime)
    return found


def each(ask: Callable[[str, datetime], object], asked: list[tuple[str, datetime]]) -> float:
    """Microseconds per question."""
    start = perf_counter()
    for expression, moment in asked:
        ask(expression, moment)
    return (perf_counter() - start) / len(asked) * 1e6


def fleet(triggers: list[Trigger], steps: int) -> float:
    """Microseconds per question when all schedules of an expression move from instant to instant, as a ticker does."""
    forget()
    start = perf_counter()
    for trigger in triggers:
        moment = NOW
        for _ in range(steps):
            answers = [trigger.next_after(moment) for _ in range(SCHEDULES)]
            moment = answers[-1] or moment + timedelta(days=1)
    return (perf_counter() - start) / (len(triggers) * steps * SCHEDULES) * 1e6


def measure(rounds: int) -> dict[str, dict[str, float]]:
    new = [(expression, NOW) for expression in expressions(400)]
    shared = [(expression, NOW) for expression in SHARED for _ in range(40)]
    triggers = [Trigger(Cron(expression, ZONE)) for expression in SHARED]
    each(ours, new)  # the zone is loaded on all sides before the clock starts

    def cold() -> float:
        forget()
        return each(ours, new)

    cases: dict[str, dict[str, Callable[[], float]]] = {
        "shared": {
            "foliot": partial(fleet, triggers, 50),
            "cronsim": partial(each, by_cronsim, shared),
            "croniter": partial(each, by_croniter, shared),
        },
        "cold": {
            "foliot": cold,
            "cronsim": partial(each, by_cronsim, new),
            "croniter": partial(each, by_croniter, new),
        },
        "blank": {"foliot": partial(each, blank, new), "cronsim": partial(each, by_cronsim, new)},
    }
    # Rounds go through all cases in turn, so that a busy moment of the machine hits every side.
    taken: dict[str, dict[str, list[float]]] = {case: {side: [] for side in sides} for case, sides in cases.items()}
    for _ in range(rounds):
        for case, sides in cases.items():
            for side, run in sides.items():
                taken[case][side].append(run())
    return {case: {side: round(median(times), 2) for side, times in sides.items()} for case, sides in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    figures = measure(arguments.rounds)
    print(f"{'µs per next fire':18}{'foliot':>10}{'cronsim':>10}{'croniter':>10}{'cronsim ÷ foliot':>19}")
    for case, sides in figures.items():
        columns = "".join(
            f"{sides[side]:>10.2f}" if side in sides else f"{'':>10}" for side in ("foliot", "cronsim", "croniter")
        )
        print(f"{case:18}{columns}{sides['cronsim'] / sides['foliot']:>18.1f}x")
    met = {
        f"shared <= {TARGET_US} us": figures["shared"]["foliot"] <= TARGET_US,
        "cold not slower than cronsim": figures["cold"]["foliot"] <= figures["cold"]["cronsim"],
    }
    for target, reached in met.items():
        print(f"P4 {target}: {'met' if reached else 'MISSED'}")
    if arguments.json:
        machine = {"python": platform.python_version(), "machine": platform.machine()}
        report = {"benchmark": "P4 cron", "unit": "us", "machine": machine, "figures": figures, "met": met}
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
