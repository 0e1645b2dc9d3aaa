"""Checks a group of parked runs within a deadline; a run that makes the check fail is isolated by bisection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, get_args

import structlog

from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.attempts.attempt_log import AttemptLog, HandleWriter
from foliot.engine.model.run import Outcome
from foliot.engine.model.views import ClaimedRun
from foliot.engine.ports import ParkedRun, WatchedAction

LOOK_LINES = 100_000
"""Log lines per check; an action that has more says so and is called again at once."""

MISSING = "the action said nothing about it"
LATE = "the check took longer than its lease"
CLOSING = "the watcher is shutting down"

log = structlog.get_logger("foliot.engine")


@dataclass(slots=True, eq=False, kw_only=True)
class ParkedCheck(AttemptLog):
    """One check of one run, and its outcome."""

    most: int = LOOK_LINES
    answer: Outcome | None = None
    trouble: str = MISSING
    """Why there is no outcome."""
    late: bool = False
    put_back: bool = False
    """The check was interrupted because the watcher stopped; it counts as no failure."""

    async def room(self) -> None:
        """No back-pressure: lines are written after the check, which is bounded."""

    @property
    def handle(self) -> Mapping[str, Any]:
        """Parked as on its row."""
        return self.noted or self.claimed.handle or {}

    def look(self, left: float, store: Database) -> ParkedRun:
        claimed = self.claimed
        return ParkedRun(
            ctx=self.context(timedelta(seconds=max(left, 0.0)), HandleWriter(store, self)),
            handle=claimed.handle or {},
            started_at=claimed.started_at,
            cancel=claimed.cancel_requested,
            ended=claimed.ended,
        )


@dataclass(slots=True)
class ParkedCheckRunner:
    """Calls the action's `look`, and turns every exception into an outcome."""

    clock: Clock
    store: Database
    action: WatchedAction
    secrets: Redactor = field(default_factory=Redactor, repr=False)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when no more checks are to be made."""

    async def look(self, claimed: Sequence[ClaimedRun], until: float) -> list[ParkedCheck]:
        """A check of each run, exactly once. A group that fails is split in halves."""
        if not claimed:
            return []
        visits = [ParkedCheck(claimed=one, clock=self.clock, base=self.secrets) for one in claimed]
        left = until - asyncio.get_running_loop().time()
        asking = asyncio.create_task(self._ask(visits, left))
        # Retrieve what it raises after we stopped waiting, so that asyncio does not warn.
        asking.add_done_callback(_answered)
        try:
            await self._wait(asking, left)
        finally:
            asking.cancel()
        if self.leaving.is_set() and not _answered(asking):
            return _without_answer(visits, CLOSING, put_back=True)
        if not asking.done():
            # It may ignore the cancellation; it cannot write any more.
            return _without_answer(visits, LATE, late=True)
        error = asyncio.CancelledError() if asking.cancelled() else asking.exception()
        if error is not None:
            return await self._failed(visits, error, until)
        answers = asking.result()
        for visit in visits:
            answer = answers.get(visit.run_id)
            visit.answer = answer if isinstance(answer, get_args(Outcome)) else None
        return visits

    async def _ask(self, visits: Sequence[ParkedCheck], left: float) -> Mapping[str, Outcome]:
        answers = await self.action.look([visit.look(left, self.store) for visit in visits])
        return dict(answers)

    async def _wait(self, asking: asyncio.Task[Mapping[str, Outcome]], left: float) -> None:
        leaving = asyncio.create_task(self.leaving.wait())
        try:
            await asyncio.wait({asking, leaving}, timeout=max(left, 0.0), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()

    async def _failed(self, visits: Sequence[ParkedCheck], error: BaseException, until: float) -> list[ParkedCheck]:
        if len(visits) > 1:
            half = len(visits) // 2
            claimed = [replace(visit.claimed, handle=visit.handle) for visit in visits]
            return [*await self.look(claimed[:half], until), *await self.look(claimed[half:], until)]
        (visit,) = visits
        visit.trouble = visit.redactor.text(f"{type(error).__name__}: {error}")[:1000]
        named = {"run_id": visit.run_id, "kind": visit.claimed.kind}
        log.warning("a look failed", action="look_failed", **named, error=visit.trouble)
        return [visit]


def _answered(asking: asyncio.Task[Mapping[str, Outcome]]) -> bool:
    return asking.done() and not asking.cancelled() and asking.exception() is None


def _without_answer(
    visits: list[ParkedCheck], trouble: str, *, late: bool = False, put_back: bool = False
) -> list[ParkedCheck]:
    for visit in visits:
        visit.trouble, visit.late, visit.put_back = trouble, late, put_back
    return visits
