"""The production clock: monotonic, with a measured offset to the database's clock.

SQL expression for the milliseconds between two moments, on every database.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, case
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


def wall() -> datetime:
    """The system's clock, which may step: a starting point, and authoritative where the database has no clock."""
    return datetime.now(UTC)  # noqa: TID251 -- the one place that asks the system


class StoreClock:
    """Between two measurements only the monotonic clock counts, so that steps of the system's clock have no effect."""

    def __init__(self) -> None:
        self._moment = wall()
        self._monotonic = time.monotonic()

    def now(self) -> datetime:
        return self._moment + timedelta(seconds=time.monotonic() - self._monotonic)

    def monotonic(self) -> float:
        return time.monotonic()

    def adjust(self, moment: datetime, monotonic: float) -> None:
        self._moment, self._monotonic = moment, monotonic

    def suspended(self) -> float:
        """How many seconds this machine was suspended since it started; 0 where the system does not report it."""
        boot = getattr(time, "CLOCK_BOOTTIME", None)
        return 0.0 if boot is None else time.clock_gettime(boot) - time.monotonic()


class Elapsed(FunctionElement[int]):
    """`Elapsed(start, end)`: the duration from one to the other."""

    name = "elapsed"
    type = BigInteger()
    inherit_cache = True


@compiles(Elapsed, "postgresql")
def _postgresql(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"CAST(floor(date_part('epoch', {end} - {start}) * 1000) AS BIGINT)"


@compiles(Elapsed, "sqlite")
def _sqlite(element: Any, compiler: Any, **options: Any) -> str:
    # Computed on the text itself: SQLite's own date functions round, also up into the next second.
    start, end = (compiler.process(one, **options) for one in element.clauses)
    seconds = f"strftime('%s', substr({end}, 1, 19)) - strftime('%s', substr({start}, 1, 19))"
    return f"((({seconds}) * 1000000 + substr({end}, 21, 6) - substr({start}, 21, 6)) / 1000)"


@compiles(Elapsed, "mysql")
@compiles(Elapsed, "mariadb")
def _mariadb(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"(TIMESTAMPDIFF(MICROSECOND, {start}, {end}) DIV 1000)"


class Microseconds(FunctionElement[int]):
    """`Microseconds(start, end)`: the same in microseconds; NULL where one of them is."""

    name = "microseconds"
    type = BigInteger()
    inherit_cache = True


@compiles(Microseconds, "postgresql")
def _postgresql_micros(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"CAST(round(date_part('epoch', {end} - {start}) * 1000000) AS BIGINT)"


@compiles(Microseconds, "sqlite")
def _sqlite_micros(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    seconds = f"strftime('%s', substr({end}, 1, 19)) - strftime('%s', substr({start}, 1, 19))"
    return f"(({seconds}) * 1000000 + substr({end}, 21, 6) - substr({start}, 21, 6))"


@compiles(Microseconds, "mysql")
@compiles(Microseconds, "mariadb")
def _mariadb_micros(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"TIMESTAMPDIFF(MICROSECOND, {start}, {end})"


def two_digits(milliseconds: ColumnElement[int]) -> ColumnElement[int]:
    """Truncated to two significant digits, so that a million durations become a few hundred groups."""
    steps = [(milliseconds < 10 ** (power + 2), milliseconds // 10**power * 10**power) for power in range(1, 9)]
    return case((milliseconds < 100, milliseconds), *steps, else_=milliseconds // 10**9 * 10**9)
