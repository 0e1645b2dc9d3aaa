"""The dashboard's WebSocket: one connection per tab, with a subscription for each topic that it shows.

Each subscription is a task that sends at the client's pace: nothing is buffered, and a client that stalls is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson
import structlog
from fastapi import APIRouter, WebSocket, WebSocketDisconnect

from foliot import __version__
from foliot.commands.limits import Limiter
from foliot.core.access import require
from foliot.core.document import rfc3339
from foliot.core.errors import FoliotError, Invalid, NotFound, Unavailable
from foliot.features.health.usecases import HealthChecks
from foliot.features.jobs.rest.socket import LOOK, JobSocket, opened, still
from foliot.features.jobs.usecases import Jobs
from foliot.features.live.rest.topics import KEYS, NEEDS, topic_of
from foliot.features.live.usecases import ChangeMarkers
from foliot.features.runs.rest.log import LINES, written
from foliot.features.runs.usecases.runs import Runs
from foliot.servers.http.request import MAX_MESSAGE
from foliot.servers.http.sse import FollowedEvents, OpenStreams, SharedReaders, read_behind, rest
from foliot.wakeups.feed import run_topic

router = APIRouter()

BEAT = 15.0
MOST_TOPICS = 64
MAX_SEQ = 2**53
OPS = ("subscribe", "unsubscribe", "ping")

log = structlog.get_logger("foliot.rest")


@router.websocket("/api/stream")
async def stream(socket: WebSocket) -> None:
    """All subscriptions of a tab, over one connection."""
    desks: list[Subscriptions] = []

    async def hear(one: JobSocket) -> None:
        desk = Subscriptions(one)
        desks.append(desk)
        await desk.hear()

    async with opened(socket, hear) as one:
        if one is None:
            return
        clock = one.cases[HealthChecks].clock
        await one.send({"type": "hello", "now": rfc3339(clock.now()), "version": __version__})
        spoken = clock.monotonic()
        try:
            while await still(one):
                if desks and desks[0].stalled:
                    raise TimeoutError
                if clock.monotonic() - spoken >= BEAT:
                    spoken = clock.monotonic()
                    await one.send({"type": "beat", "now": rfc3339(clock.now())})
                await _pause(socket, desks)
        finally:
            for desk in desks:
                await desk.leave()


async def _pause(socket: WebSocket, desks: list[Subscriptions]) -> None:
    """Wait until the client disconnects, the server stops, or a second has passed."""
    streams: OpenStreams = socket.app.state.streams
    waits = [asyncio.ensure_future(streams.stopping.wait()), *(asyncio.ensure_future(d.left.wait()) for d in desks)]
    try:
        await asyncio.wait(waits, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in waits:
            one.cancel()


@dataclass(slots=True)
class Subscriptions:
    """The subscriptions of one client."""

    one: JobSocket
    stalled: bool = False
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client is gone, or reads too slowly."""
    _following: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    async def hear(self) -> None:
        """Handle the client's messages until it disconnects."""
        with suppress(WebSocketDisconnect, RuntimeError), self._patience():
            while (frame := await self.one.socket.receive())["type"] != "websocket.disconnect":
                try:
                    await self._obey(frame.get("text") or frame.get("bytes") or b"")
                except FoliotError as error:
                    detail = error.told if isinstance(error, Unavailable) else str(error)
                    await self._tell({"type": "error", "detail": detail[:500]})
        self.left.set()

    @contextmanager
    def _patience(self) -> Iterator[None]:
        """Disconnects a client that does not read a message in time."""
        try:
            yield
        except TimeoutError:
            self.stalled = True
            self.left.set()

    async def leave(self) -> None:
        """Cancel every subscription."""
        tasks = list(self._following.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _obey(self, said: str | bytes) -> None:
        asked = _parsed(said)
        match asked.get("op"):
            case "ping":
                await self._tell({"type": "beat", "now": rfc3339(self.one.cases[HealthChecks].clock.now())})
            case "subscribe":
                await self.one.cases[Limiter].request(self.one.reader.caller)
                topics, after = _topics(asked), _after(asked)
                for topic in topics:
                    require(self.one.reader.caller, *NEEDS[topic.partition(":")[0]])
                self._follow(topics, after)
            case "unsubscribe":
                ended = [task for topic in _topics(asked) if (task := self._following.pop(topic, None))]
                for task in ended:
                    task.cancel()
                await asyncio.gather(*ended, return_exceptions=True)
            case op:
                raise Invalid("op", f"must be one of {', '.join(OPS)}", got=op)

    def _follow(self, topics: list[str], after: Mapping[str, int]) -> None:
        self._following = {topic: task for topic, task in self._following.items() if not task.done()}
        fresh = [topic for topic in topics if topic not in self._following]
        if len(self._following) + len(fresh) > MOST_TOPICS:
            raise Invalid(
                "topics", f"one connection may follow at most {MOST_TOPICS} topics: unsubscribe from some first"
            )
        for topic in fresh:
            self._following[topic] = asyncio.create_task(self._run(topic, after.get(topic, 0)), name=f"foliot-{topic}")

    async def _run(self, topic: str, after: int) -> None:
        """One subscription, until it ends by itself or is cancelled."""
        try:
            with self._patience():
                while not self.left.is_set() and not await self._told(topic, after):
                    await rest(self.left)
        except (WebSocketDisconnect, RuntimeError):
            # The client disconnected while we were sending.
            self.left.set()

    async def _told(self, topic: str, after: int) -> bool:
        """Whether the topic was sent to its end; False when the store was unavailable before the first message."""
        try:
            match topic.partition(":"):
                case ("log", _, run_id):
                    await self._log(topic, run_id, after)
                case ("job", _, run_id):
                    await self._job(topic, run_id, after or None)
                case _:
                    await self._pulse(topic)
        except NotFound:
            await self.told_of(topic, "gone", 0, None)
        except Unavailable:
            return False
        except (TimeoutError, WebSocketDisconnect, RuntimeError):
            raise
        except Exception:
            log.exception("a subscription failed", action="subscription_failed", topic=topic)
            await self._tell({"type": "error", "detail": f"{topic} could not be followed; subscribe again"})
        return True

    async def _pulse(self, topic: str) -> None:
        """Sends the topic's state, and again whenever it has changed."""
        pulses: SharedReaders = self.one.socket.app.state.pulses
        sight = topic_of(self.one.cases, self.one.reader.caller, topic)
        known = 0
        async with pulses.join(self.one.cases.feed, sight) as pulse:
            while not self.left.is_set():
                moved = pulse.moved
                if pulse.gone:
                    raise NotFound("topic", topic)
                if pulse.seen is not None and pulse.seq != known:
                    first, known = known == 0, pulse.seq
                    await self.told_of(topic, "snapshot" if first else "changed", known, pulse.seen.data)
                    if pulse.seen.over:
                        await self.told_of(topic, "end", known, None)
                        return
                    continue
                await rest(moved)

    async def _log(self, topic: str, run_id: str, after: int) -> None:
        """Sends the log lines after that number, each once and in order, then how the run ended."""
        cases, caller = self.one.cases, self.one.reader.caller
        streams: OpenStreams = self.one.socket.app.state.streams
        run = await cases[Runs].get(caller, run_id)
        attempt = await cases[ChangeMarkers].attempt(caller, run_id, after)
        followed = FollowedEvents(run, after, LINES)
        async with streams.broadcasts.join(cases.feed, caller, run, LINES) as broadcast:
            while not self.left.is_set():
                moved = broadcast.moved
                last, told = broadcast.after(after) or await read_behind(streams, caller, followed, after)
                if last > after:
                    after = last
                    lines, attempt = written(told, attempt)
                    if lines:
                        await self._lines(topic, last, lines)
                elif broadcast.failed is not None:
                    raise NotFound("run", run_id)
                elif broadcast.ended is not None and after >= broadcast.seq:
                    ended = broadcast.ended
                    await self.told_of(topic, "end", ended.event_seq, {"run_id": run_id, "state": ended.state.value})
                    return
                else:
                    await rest(moved)

    async def _lines(self, topic: str, seq: int, lines: bytes) -> None:
        message = b'{"topic":%s,"type":"lines","seq":%d,"data":{"lines":[%s]}}'
        await self.one.send_text((message % (orjson.dumps(topic), seq, lines)).decode())

    async def _job(self, topic: str, run_id: str, after: int | None) -> None:
        """The same messages as `/ws/jobs/{job_id}`."""
        teller = _JobTopic(self.one.socket, self.one.cases, self.one.reader, desk=self, topic=topic)
        async with self.one.cases.feed.listen(run_topic(run_id)) as waiter:
            await teller.begin(await self.one.cases[Jobs].get(self.one.reader.caller, run_id), after)
            while not self.left.is_set():
                with suppress(Unavailable):
                    if await teller.go_on(run_id):
                        continue
                if (known := teller.sent[run_id]).final:
                    await self.told_of(topic, "end", known.seq, None)
                    return
                await waiter.wait(LOOK)

    async def told_of(self, topic: str, kind: str, seq: int, data: Any) -> None:
        await self._tell({"topic": topic, "type": kind, "seq": seq, "data": data})

    async def _tell(self, message: dict[str, Any]) -> None:
        await self.one.send(message)


@dataclass(slots=True)
class _JobTopic(JobSocket):
    """Sends a job's messages as its own socket does, with the name of the topic."""

    desk: Subscriptions | None = None
    topic: str = ""

    async def send(self, message: dict[str, Any]) -> None:
        if self.desk is not None:
            await self.desk.told_of(self.topic, "event", message["seq"], message)


def _parsed(said: str | bytes) -> dict[str, Any]:
    if len(said) > MAX_MESSAGE:
        raise Invalid("message", f"must be at most {MAX_MESSAGE // 1024} KiB")
    try:
        asked = orjson.loads(said)
    except orjson.JSONDecodeError:
        raise Invalid("message", "must be JSON") from None
    if not isinstance(asked, dict):
        raise Invalid("message", 'must be an object such as {"op": "subscribe", "topics": ["runs"]}')
    return asked


def _topics(asked: dict[str, Any]) -> list[str]:
    topics = asked.get("topics")
    if not isinstance(topics, list) or not 1 <= len(topics) <= MOST_TOPICS:
        raise Invalid("topics", f"must be a list of 1 to {MOST_TOPICS}")
    for topic in topics:
        kind, colon, key = topic.partition(":") if isinstance(topic, str) else ("", "", "")
        if kind not in NEEDS or (kind in KEYS) != bool(colon) or (colon and not KEYS[kind].fullmatch(key)):
            raise Invalid("topics", f"must be among {_known()}", got=str(topic)[:100])
    return list(dict.fromkeys(topics))


def _known() -> str:
    return ", ".join(f"{kind}:<id>" if kind in KEYS else kind for kind in NEEDS)


def _after(asked: dict[str, Any]) -> dict[str, int]:
    after = asked.get("after") or {}
    whole = isinstance(after, dict) and all(
        isinstance(seq, int) and not isinstance(seq, bool) and 0 <= seq < MAX_SEQ for seq in after.values()
    )
    if not whole:
        raise Invalid("after", 'must give the last number received of each topic, such as {"log:run_…": 17}')
    return after
