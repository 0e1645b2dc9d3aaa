"""Writes endings and parkings down, one transaction for a group; one that cannot be stored holds up no other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
import structlog

from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.engine.model.event import EventType, Line
from foliot.engine.model.parked import Parking
from foliot.engine.model.run import Problem, RunState
from foliot.engine.model.views import Ending, Finished
from foliot.engine.sql.claims import SqlClaims
from foliot.engine.sql.parked import SqlParked

HEAVY = 1024 * 1024
"""A group with this much text in it is full: a database takes only so much in one statement."""

Entry = Ending | Parking

log = structlog.get_logger("foliot.engine")


@dataclass(frozen=True, slots=True)
class Writer:
    """Written twice is written once, so that whoever lost an acknowledgement writes again."""

    clock: Clock
    store: Database

    async def write(self, entries: Sequence[Entry]) -> Finished:
        """All of them; raises `Unavailable` when the database is away."""
        try:
            return await self._write(entries)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 -- whatever it is, it comes from one of them
            return await self._write_singly(entries)

    async def _write(self, entries: Sequence[Entry]) -> Finished:
        async with self.store.begin() as tx:
            return await _written(tx, entries, self.clock.now())

    async def _write_singly(self, entries: Sequence[Entry]) -> Finished:
        states: dict[str, RunState] = {}
        released = 0
        for entry in entries:
            for version in (entry, *_lesser(entry)):
                try:
                    finished = await self._write([version])
                except Unavailable:
                    raise
                except Exception:
                    log.exception("an ending could not be stored", action="unrecordable", run_id=entry.fence.run_id)
                else:
                    states |= finished.states
                    released += finished.released
                    break
        return Finished(states, frozenset(entry.fence.run_id for entry in entries) - states.keys(), released)


async def _written(tx: Transaction, entries: Sequence[Entry], now: datetime) -> Finished:
    parkings = [entry for entry in entries if isinstance(entry, Parking)]
    if not parkings:
        return await SqlClaims(tx).finish([entry for entry in entries if isinstance(entry, Ending)], now)
    parked = await SqlParked(tx).park(parkings, now)
    endings = [entry for entry in entries if isinstance(entry, Ending)]
    finished = await SqlClaims(tx).finish(endings, now) if endings else Finished({}, frozenset())
    stale = {parking.fence.run_id for parking in parkings} - parked
    states = {**finished.states, **dict.fromkeys(parked, RunState.RUNNING)}
    return Finished(states, finished.stale | stale, finished.released)


def weight(entry: Entry) -> int:
    """About how much text it is."""
    lines = sum(len(line.message) for line in entry.lines)
    if isinstance(entry, Parking):
        return lines + (_size(entry.items) if entry.items else 0)
    body = (entry.response or {}).get("body")
    return lines + (len(body) if isinstance(body, str) else 0)


def _size(items: Sequence[Any]) -> int:
    try:
        return len(orjson.dumps(list(items)))
    except TypeError:
        # It will not be stored either, and that is told then.
        return HEAVY


def _lesser(entry: Entry) -> Iterator[Entry]:
    """The same with less and less of what could not be stored."""
    if isinstance(entry, Parking):
        said = f"{len(entry.lines)} lines and {len(entry.items)} items could not be stored; the server's log says why"
        yield replace(entry, lines=[Line(entry.at, EventType.LOG, "error", said)], items=())
        given_up = entry.given_up
        yield _bare(Ending(fence=entry.fence, state=given_up, outcome="failed", at=entry.at, given_up=given_up))
    else:
        yield _bare(entry)


def _bare(ending: Ending) -> Ending:
    """The same end without what could not be stored."""
    problem = Problem("unrecordable", "the attempt ended, but its result could not be stored; the log says why")
    state = ending.given_up if ending.state.final else ending.state
    return replace(ending, state=state, outcome="failed", result=None, response=None, lines=(), error=problem.as_dict())
