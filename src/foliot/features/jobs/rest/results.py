"""Results of a crawl as a download: NDJSON or CSV."""

from __future__ import annotations

import csv
from collections.abc import AsyncIterator, Mapping, Sequence
from io import StringIO
from typing import Any

from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.features.jobs.usecases import JobRecord, Jobs
from foliot.servers.http import encode

BATCH = 500
MOST_COLUMNS = 1000
VALUE = "value"
"""The column of items that are not objects."""
REST = "more"
"""The column of fields beyond the greatest number of columns, as JSON."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


async def as_ndjson(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[bytes]:
    async for items in _all(cases, caller, job):
        yield b"".join(encode.dumps(item) + b"\n" for item in items)


async def as_csv(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[bytes]:
    """Every field of every item has a column, so all items are read before the first row is written."""
    columns: dict[str, None] = {}
    async for items in _all(cases, caller, job):
        for item in items:
            columns.update(dict.fromkeys(_fields(item)))
    named = list(columns)[:MOST_COLUMNS]
    extra = [REST] if len(columns) > MOST_COLUMNS else []
    yield table([[_neutral(name) for name in [*named, *extra]]])
    async for items in _all(cases, caller, job):
        yield table([_row(item, named, extra) for item in items])


async def _all(cases: UseCases, caller: Caller, job: JobRecord) -> AsyncIterator[Sequence[Any]]:
    """The items so far; a running crawl adds to them afterwards."""
    skip, total = 0, 1
    while skip < total:
        found = await cases[Jobs].items(caller, job, skip, BATCH)
        total = found.total if not skip else total
        if not found.items:
            return
        yield found.items
        skip += len(found.items)


def _fields(item: Any) -> Mapping[str, Any]:
    return item if isinstance(item, Mapping) else {VALUE: item}


def _row(item: Any, named: Sequence[str], extra: Sequence[str]) -> list[object]:
    fields = _fields(item)
    row = [cell(fields.get(name)) for name in named]
    if extra:
        beyond = {name: value for name, value in fields.items() if name not in set(named)}
        row.append(cell(beyond or None))
    return row


def cell(value: object) -> object:
    """Escapes text that a spreadsheet would take for a formula (CSV injection): it comes from a web page."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    return _neutral(value if isinstance(value, str) else encode.dumps(value).decode())


def _neutral(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def table(rows: Sequence[Sequence[object]]) -> bytes:
    written = StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode()
