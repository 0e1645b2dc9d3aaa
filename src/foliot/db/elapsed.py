"""SQL expression for the milliseconds between two moments, on every database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, case
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


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


def two_digits(milliseconds: ColumnElement[int]) -> ColumnElement[int]:
    """Truncated to two significant digits, so that a million durations become a few hundred groups."""
    steps = [(milliseconds < 10 ** (power + 2), milliseconds // 10**power * 10**power) for power in range(1, 9)]
    return case((milliseconds < 100, milliseconds), *steps, else_=milliseconds // 10**9 * 10**9)
