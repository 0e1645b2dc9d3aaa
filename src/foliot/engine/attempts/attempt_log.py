"""The log of a running attempt: lines, values to redact, and the handle of its effect."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson

from foliot.core.errors import Unavailable
from foliot.core.ports import Clock
from foliot.core.redact import Redactor
from foliot.db.database import Database
from foliot.engine.model.run import (
    LINE_LIMIT,
    Cancelled,
    EventLine,
    EventType,
    Failed,
    HandedBack,
    Lost,
    Outcome,
    Parked,
    Succeeded,
)
from foliot.engine.model.views import ClaimedRun
from foliot.engine.ports import ActionContext, ReadParent, SaveHandle, StaleAttempt, no_parent
from foliot.engine.sql.parked import SqlParked

ROOM_LINES = 1000
ROOM_TEXT = 256 * 1024
"""Buffered lines, and characters of them, from which on back-pressure applies."""
BUFFERED_LINES = 10_000
"""Buffered lines of code that cannot wait; beyond, lines are counted, not stored."""
RATE = f"about 5,000 a second of one run are stored, and {BUFFERED_LINES:,} buffered"
"""What the log says where lines are missing; `LogWriter` has the rate."""
_DIGITS = 18
"""Of a whole number that 64 bits surely hold; a longer one is kept as well as a float can."""


def clean(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as JSON; what JSON does not know is kept as text, so that no value keeps the rest from being written."""
    document: dict[str, Any]
    try:
        document = orjson.loads(orjson.dumps(data))
    except (TypeError, ValueError):
        document = _loosely(data)
    return document


def _loosely(data: Mapping[str, Any]) -> Any:
    try:
        text = clean(json.dumps(data, default=str, ensure_ascii=False, skipkeys=True))
        return json.loads(text, parse_constant=lambda _: None, parse_int=_integer)
    except Exception as error:  # noqa: BLE001 -- the `__str__` of a user's value may raise anything
        return {"unreadable": f"what the action logged is not JSON ({type(error).__name__})"}


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


@dataclass(slots=True, eq=False, kw_only=True)
class AttemptLog:
    """Buffers lines until they are written with what they belong to."""

    claimed: ClaimedRun
    clock: Clock
    most: int = BUFFERED_LINES
    lines: list[EventLine] = field(default_factory=list)
    text: int = 0
    """Characters of these lines."""
    dropped: int = 0
    crowded: Callable[[], None] | None = field(default=None, repr=False)
    """Called when back-pressure begins."""
    _taken: asyncio.Event | None = field(default=None, repr=False)
    hidden: tuple[str, ...] = field(default=(), repr=False)
    base: Redactor = field(default_factory=Redactor, repr=False)
    """Knows the secrets of the process itself."""
    redactor: Redactor = field(init=False, repr=False)
    noted: Mapping[str, Any] | None = None
    """How to find the effect: from here on it may have started."""

    def __post_init__(self) -> None:
        self.redactor = self.base
        if self.claimed.hidden:
            self.hide(*self.claimed.hidden)

    @property
    def run_id(self) -> str:
        return self.claimed.fence.run_id

    def log(self, message: str, *, level: str = "info", at: datetime | None = None) -> None:
        """Add a log line."""
        message = self.redactor.text(clean(message))
        text = message if len(message) <= LINE_LIMIT else message[:LINE_LIMIT] + "… (cut)"
        self._add(EventLine(at or self.clock.now(), EventType.LOG, level, text))

    def progress(self, **data: Any) -> None:
        """Add a progress step."""
        self._add(EventLine(self.clock.now(), EventType.PROGRESS, data=self.redactor.document(plain(data))))

    def hide(self, *values: str) -> None:
        """Redact these values in everything that is stored of this attempt."""
        if not values:
            return
        self.hidden += values
        self.redactor = Redactor.of(self.hidden, self.base)

    def redacted(self, outcome: Outcome) -> Outcome:
        """The outcome without the redacted values."""
        if not self.redactor.forms:
            return outcome
        document = self.redactor.document
        match outcome:
            case Succeeded():
                return replace(outcome, result=document(outcome.result), response=document(outcome.response))
            case Failed(problem):
                clean = replace(problem, message=self.redactor.text(problem.message))
                return replace(outcome, problem=clean, response=document(outcome.response))
            case Parked(handle=handle, items=items):
                return replace(outcome, handle=document(dict(handle)), items=[document(item) for item in items])
            case Cancelled() | HandedBack() | Lost():
                return outcome

    def _add(self, line: EventLine) -> None:
        if len(self.lines) >= self.most:
            self.dropped += 1
            return
        if self.dropped:
            # At the place of the missing lines, not at the end of what came afterwards.
            self._own_up()
        self.lines.append(line)
        self.text += len(line.message)

    def _own_up(self) -> None:
        if self.dropped:
            message = f"{self.dropped:,} more lines came too fast and were dropped: {RATE}"
            self.lines.append(EventLine(self.clock.now(), EventType.LOG, "warning", message))
            self.dropped = 0

    @property
    def full(self) -> bool:
        """Whether back-pressure applies."""
        return len(self.lines) >= ROOM_LINES or self.text >= ROOM_TEXT

    async def room(self) -> None:
        """Wait until enough buffered lines are written."""
        while self.full:
            if self._taken is None:
                self._taken = asyncio.Event()
                if self.crowded is not None:
                    self.crowded()
            await self._taken.wait()

    def take_lines(self, most: int | None = None) -> Sequence[EventLine]:
        """The buffered lines, or the first of them; a flood is bounded and marked."""
        count = len(self.lines) if most is None else self._slice(most)
        if count == len(self.lines):
            self._own_up()
            lines, self.lines, self.text = self.lines, [], 0
        else:
            lines, self.lines = self.lines[:count], self.lines[count:]
            self.text -= sum(len(line.message) for line in lines)
        if self._taken is not None and not self.full:
            self._taken.set()
            self._taken = None
        return lines

    def _slice(self, most: int) -> int:
        """How many of them are no more than this, and no longer than a slice may be."""
        count = text = 0
        for line in self.lines[:most]:
            text += len(line.message)
            if count and text > ROOM_TEXT:
                break
            count += 1
        return count

    def give_back(self, lines: Sequence[EventLine]) -> None:
        """Put back lines that could not be written."""
        self.lines[:0] = lines
        self.text += sum(len(line.message) for line in lines)

    def context(self, timeout: timedelta, note: SaveHandle, parent: ReadParent = no_parent) -> ActionContext:
        """The context of the action: its attempt, and where it logs."""
        claimed = self.claimed
        return ActionContext(
            run_id=claimed.fence.run_id,
            tenant_id=claimed.tenant_id,
            schedule_id=claimed.schedule_id,
            kind=claimed.kind,
            attempt=claimed.attempt,
            max_attempts=claimed.max_attempts,
            scheduled_for=claimed.scheduled_for,
            config=claimed.config,
            timeout=timeout,
            now=self.clock.now(),
            log=self.log,
            progress=self.progress,
            hide=self.hide,
            note=note,
            parent=parent,
            room=self.room,
            limit=None if claimed.timeout_seconds is None else timedelta(seconds=claimed.timeout_seconds),
        )


@dataclass(frozen=True, slots=True)
class HandleWriter:
    """Stores the handle of an effect, in memory and on the row, before the effect starts."""

    store: Database
    notebook: AttemptLog

    async def __call__(self, handle: Mapping[str, Any]) -> None:
        notebook = self.notebook
        clean: Mapping[str, Any] = notebook.redactor.document(dict(handle))
        try:
            kept = await self._write(clean)
        except Unavailable:
            # The write is idempotent; a second missing answer is reported to the action, before it starts anything.
            kept = await self._write(clean)
        if not kept:
            raise StaleAttempt(f"run {notebook.run_id} is now held by another attempt: start nothing for it")
        notebook.noted = clean

    async def _write(self, handle: Mapping[str, Any]) -> bool:
        async with self.store.begin() as tx:
            return await SqlParked(tx).note(self.notebook.claimed.fence, handle)
