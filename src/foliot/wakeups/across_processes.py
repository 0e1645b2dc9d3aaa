"""Wake-ups across processes: local ones at once, others through a connection that may break."""

from __future__ import annotations

import asyncio
import random
import secrets
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, suppress
from typing import Protocol

import structlog

from foliot.wakeups.feed import LOCAL_TOPICS, RUNS_TOPIC, FeedReach, MemoryFeed, Waiter, run_topic

EVERYONE = "*"
"""The topic that wakes every subscriber."""

MOST_BYTES = 7900
"""Maximum length: PostgreSQL takes fewer than 8,000."""

_RUN = run_topic("")
_TAIL = 8
_PARTING = "\n"


def travels(topic: str) -> bool:
    """Whether the topic concerns other processes."""
    return not topic.startswith(LOCAL_TOPICS)


def short(topic: str) -> str:
    """The topic in its short form: of a run, the last digits, which are random.

    Hundreds of runs end at once, and all must fit into one payload. Two runs with the same digits are woken together,
    which costs one of them a query.
    """
    return _RUN + topic[-_TAIL:] if topic.startswith(_RUN) else topic


def encode(sender: str, topics: Collection[str]) -> str:
    """One payload for all of them; if they do not fit, it wakes everything."""
    if EVERYONE not in topics:
        payload = _PARTING.join((sender, *topics))
        if len(payload.encode()) <= MOST_BYTES:
            return payload
    return f"{sender}{_PARTING}{EVERYONE}"


def decode(payload: str) -> tuple[str, list[str]]:
    """The sender, and its topics."""
    sender, *topics = payload.split(_PARTING)
    return sender, topics


GATHER = 0.010
"""Seconds between two payloads: wake-ups in between share the next one."""
MOST_PENDING = 2000
"""Topics that are queued while the connection is down; beyond that, reconnecting wakes everything."""
FIRST = 2.0
"""Seconds for which the start waits for the connection. Without it, other processes notice changes when they poll."""
PATIENCE = 5.0
"""Timeout of connecting and sending."""
QUIET = 10.0
"""After so many seconds of silence the connection is tested: our own message must come back."""
AGAIN = (0.050, 0.500)
"""Seconds after which those that look for ready runs look again: another process's clock may be a little ahead of ours,
and each is known to a quarter of a second at worst.
"""
NOW = 0.001
"""Resolution of timers."""
FIRST_BACKOFF = 0.1
LONGEST_BACKOFF = 5.0
FAREWELL = 1.0

log = structlog.get_logger("foliot.wakeups")


class WakeupTransport(Protocol):
    """A connection that carries payloads between processes, back to the sender too."""

    kind: str

    async def open(self, heard: Callable[[str], None], lost: Callable[[], None]) -> None:
        """From here on `heard` is called with each payload, and `lost` when there will be no more."""
        ...

    async def send(self, payload: str) -> None: ...

    async def close(self) -> None:
        """Close, in whatever state."""
        ...


class TransportSilent(Exception):
    """A connection that is silent without having failed."""


class SharedFeed:
    """Losing the connection costs latency, never data: sleeping actors poll, and reconnecting wakes them all."""

    def __init__(self, line: WakeupTransport, *, quiet: float = QUIET) -> None:
        self._line = line
        self._quiet = quiet
        self._here = MemoryFeed()
        self._sender = secrets.token_hex(6)
        self._pending: set[str] = set()
        self._stirred = asyncio.Event()
        self._opened = asyncio.Event()
        self._closing = asyncio.Event()
        self._lost = False
        self._echoed = True
        self._error: str | None = None
        self._task: asyncio.Task[None] | None = None
        self._heard_of_runs = 0.0
        self._again: dict[float, asyncio.TimerHandle] = {}

    async def start(self) -> None:
        """Connect, or continue without a connection."""
        self._task = asyncio.create_task(self._keep(), name="foliot-feed")
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST):
                await self._opened.wait()

    async def close(self) -> None:
        """Send what is queued, and disconnect."""
        self._closing.set()
        self._stirred.set()
        for timer in self._again.values():
            timer.cancel()
        if self._task is None:
            return
        if self._opened.is_set():
            await asyncio.wait({self._task}, timeout=FAREWELL)
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def reach(self) -> FeedReach:
        return FeedReach(self._line.kind, connected=self._opened.is_set(), error=self._error)

    def wake(self, *topics: str) -> None:
        keys = [short(topic) for topic in topics]
        self._here.wake(*keys)
        self._pending.update(filter(travels, keys))
        if self._pending:
            if len(self._pending) > MOST_PENDING:
                self._pending = {EVERYONE}
            self._stirred.set()

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Waiter]:
        return self._here.listen(*map(short, topics))

    def _heard(self, payload: str) -> None:
        sender, topics = decode(payload)
        if sender == self._sender:
            self._echoed = True
            return
        if topics == [EVERYONE]:
            self._here.wake_everyone()
        else:
            self._here.wake(*topics)
        if RUNS_TOPIC in topics or EVERYONE in topics:
            loop = asyncio.get_running_loop()
            self._heard_of_runs = loop.time()
            for delay in AGAIN:
                if delay not in self._again:
                    self._again[delay] = loop.call_later(delay, self._wake_again, delay)

    def _wake_again(self, delay: float) -> None:
        """A run that another process wrote as ready was not ready yet when we looked, if its clock is ahead of ours."""
        loop = asyncio.get_running_loop()
        due = self._heard_of_runs + delay
        if due - loop.time() > NOW:
            self._again[delay] = loop.call_at(due, self._wake_again, delay)
            return
        del self._again[delay]
        self._here.wake(RUNS_TOPIC)

    def _hung_up(self) -> None:
        self._lost = True
        self._stirred.set()

    # --- the connection -----------------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        """Reconnect however often it breaks."""
        failures = 0
        while not self._closing.is_set():
            try:
                await self._open()
                failures = 0
                await self._attend()
            except Exception as error:  # noqa: BLE001 -- whatever a driver raises: without the line we go on
                failures += 1
                self._tell(error)
            finally:
                self._opened.clear()
                await self._line.close()
            if failures:
                await self._pause(_backoff(failures))

    async def _open(self) -> None:
        self._lost, self._echoed = False, True
        async with asyncio.timeout(PATIENCE):
            await self._line.open(self._heard, self._hung_up)
        if self._error is not None:
            log.info("the wake-up connection is back", action="feed_back", feed=self._line.kind)
            self._error = None
        self._opened.set()
        # What was sent while we were disconnected is not sent again.
        self._here.wake_everyone()

    async def _attend(self) -> None:
        while not self._closing.is_set():
            if not self._pending and not self._lost:
                self._stirred.clear()
                if not await self._something():
                    await self._try()
            if self._lost:
                raise ConnectionError("the connection was lost")
            if self._pending:
                await self._send()
                await self._pause(GATHER)
        if self._pending:
            await self._send()

    async def _something(self) -> bool:
        try:
            async with asyncio.timeout(self._quiet):
                await self._stirred.wait()
        except TimeoutError:
            return False
        return True

    async def _try(self) -> None:
        if not self._echoed:
            raise TransportSilent(f"no response for {self._quiet:g} s")
        self._echoed = False
        async with asyncio.timeout(PATIENCE):
            await self._line.send(encode(self._sender, ()))

    async def _send(self) -> None:
        # Wake-ups of the same loop iteration share the payload.
        await asyncio.sleep(0)
        topics, self._pending = self._pending, set()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._line.send(encode(self._sender, topics))
        except BaseException:
            self._pending |= topics
            raise

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _tell(self, error: Exception) -> None:
        """Logs once per outage."""
        # Health answers name no addresses; the log does.
        known, self._error = self._error, type(error).__name__
        if known is None:
            log.warning(
                "the wake-up connection is down: other processes see changes only when they next poll",
                action="feed_away",
                feed=self._line.kind,
                error=_brief(error),
            )


def _brief(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {PATIENCE:g} s"
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def _backoff(failures: int) -> float:
    """Exponential, with jitter so that processes do not reconnect in step."""
    longest = min(FIRST_BACKOFF * 2.0 ** min(failures - 1, 10), LONGEST_BACKOFF)
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 -- spreads, hides nothing
