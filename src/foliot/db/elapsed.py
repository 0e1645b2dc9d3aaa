"""Milliseconds between two moments, in whole ones, on every database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, ColumnElement, case
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement


class Elapsed(FunctionElement[int]):
    """`Elapsed(start, end)`: how long it took from one to the other."""

    name = "elapsed"
    type = BigInteger()
    inherit_cache = True


@compiles(Elapsed, "postgresql")
def _postgresql(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"CAST(floor(date_part('epoch', {end} - {start}) * 1000) AS BIGINT)"


@compiles(Elapsed, "sqlite")
def _sqlite(element: Any, compiler: Any, **options: Any) -> str:
    # Counted on the text itself: SQLite's own dates are rounded, up into the next second too.
    start, end = (compiler.process(one, **options) for one in element.clauses)
    seconds = f"strftime('%s', substr({end}, 1, 19)) - strftime('%s', substr({start}, 1, 19))"
    return f"((({seconds}) * 1000000 + substr({end}, 21, 6) - substr({start}, 21, 6)) / 1000)"


@compiles(Elapsed, "mysql")
@compiles(Elapsed, "mariadb")
def _mariadb(element: Any, compiler: Any, **options: Any) -> str:
    start, end = (compiler.process(one, **options) for one in element.clauses)
    return f"(TIMESTAMPDIFF(MICROSECOND, {start}, {end}) DIV 1000)"


def two_digits(milliseconds: ColumnElement[int]) -> ColumnElement[int]:
    """Cut to two digits, so that a million durations become a few hundred; people read no more of them."""
    steps = [(milliseconds < 10 ** (power + 2), milliseconds // 10**power * 10**power) for power in range(1, 9)]
    return case((milliseconds < 100, milliseconds), *steps, else_=milliseconds // 10**9 * 10**9)
