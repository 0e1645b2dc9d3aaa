"""Counts the functions and files of Foliot that a webhook passes, from POST to recorded: part of `make shape`.

Two ways: a run that is asked for (`run-now`), and a schedule that is created, fires and is delivered. Counted is what
one process on SQLite calls between the request and the recorded end. What it calls when idle is counted too, because
the same actors take the webhook further.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

from foliot.app.build import App, build, migrate
from foliot.config.settings import Settings
from tests.asgi import Client

SOURCE = str(Path(__file__).parents[1] / "src" / "foliot")
SYNTHETIC = frozenset({"<module>", "<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"})
SETTLED = 0.5
"""Seconds from the request at the receiver until its end is certainly recorded; verified afterwards."""
MOST_WAITING = 30.0


class Calls:
    """The code of Foliot that is called while it watches; classes and comprehensions are no functions."""

    def __init__(self) -> None:
        self.seen: set[CodeType] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            self.seen.add(frame.f_code)

    def begin(self) -> None:
        threading.setprofile(self)
        sys.setprofile(self)

    def end(self) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def figures(self) -> tuple[int, int]:
        """Functions, files."""
        own = {code for code in self.seen if code.co_filename.startswith(SOURCE) and code.co_name not in SYNTHETIC}
        return len(own), len({code.co_filename for code in own})


@dataclass(slots=True)
class Target:
    """A receiver of webhooks that answers 200."""

    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(1024)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        self.arrived.set()


@dataclass(slots=True)
class WebhookPath:
    """The two ways through one process."""

    app: App
    client: Client
    url: str
    target: Target
    stored: str = ""

    async def create(self, name: str, **trigger: object) -> str:
        document = {"name": name, "action": {"kind": "webhook", "url": self.url, "body": {"n": 1}}, **trigger}
        answer = await self.client.post("/api/schedules", document)
        assert answer.status == 201, answer.text
        schedule_id: str = answer.json["id"]
        return schedule_id

    async def ask(self) -> str:
        self.stored = self.stored or await self.create("asked", type="interval", interval_seconds=86_400)
        answer = await self.client.post(f"/api/schedules/{self.stored}/run-now", {})
        assert answer.status == 202, answer.text
        return self.stored

    async def fire(self) -> str:
        at = self.app.clock.now() + timedelta(seconds=1)
        return await self.create(f"fires at {at}", type="oneoff", run_at=at.isoformat())

    async def count(self, act: Callable[[], Awaitable[str]]) -> tuple[int, int]:
        self.target.arrived.clear()
        calls = Calls()
        calls.begin()
        try:
            schedule_id = await act()
            async with asyncio.timeout(MOST_WAITING):
                await self.target.arrived.wait()
            await asyncio.sleep(SETTLED)
        finally:
            calls.end()
        runs = (await self.client.get(f"/api/schedules/{schedule_id}/runs")).json["items"]
        assert {run["state"] for run in runs} == {"success"}, runs
        return calls.figures()


async def measure(home: str) -> dict[str, tuple[int, int]]:
    """Functions and files of each way."""
    settings = Settings.load({"FOLIOT_HOME": home})
    await migrate(settings)
    app, target = build(settings, http=True, engine=True), Target()
    assert app.asgi is not None
    await app.start()
    server = await asyncio.start_server(target.answer, "127.0.0.1", 0)
    try:
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
            path = WebhookPath(app, Client(app.asgi), url, target)
            for act in (path.ask, path.fire):
                await path.count(act)  # connections, caches and prepared statements are there from now on
            return {"run-now": await path.count(path.ask), "create and fire": await path.count(path.fire)}
    finally:
        await app.stop()


def figures() -> list[tuple[str, str]]:
    with TemporaryDirectory(prefix="foliot-path-") as home:
        counted = asyncio.run(measure(home))
    return [
        (f"functions and files that a webhook passes, {way}", f"{functions} / {files}")
        for way, (functions, files) in counted.items()
    ]
