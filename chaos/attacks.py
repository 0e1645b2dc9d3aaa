"""What a hostile tenant does beside a good one: each attack runs in a process of its own until it is stopped."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

from chaos.hostile import HANGING, HOSTS, MARK

FOREVER = "2999-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Scene:
    """Where Foliot, the hostile servers and the tokens of the hostile tenant are."""

    port: int
    hostile: int
    token: str
    size: float
    """1 is the full attack; the test suite plays smaller ones."""
    decoy: int = 0
    """The port of a server that the operator's rules forbid as a target."""

    def count(self, full: int) -> int:
        return max(2, int(full * self.size))

    def url(self, path: str, host: str = HOSTS[0]) -> str:
        return f"http://{host}:{self.hostile}{path}"

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """One request as the hostile tenant; (0, None) when Foliot did not answer within 30 s."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            with contextlib.closing(connection):
                sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
                connection.request(method, path, None if body is None else json.dumps(body), sent)
                reply = connection.getresponse()
                text = reply.read()
        except (OSError, http.client.HTTPException):
            return 0, None
        return reply.status, json.loads(text) if text.startswith((b"{", b"[")) else text

    def schedule(self, name: str, action: Mapping[str, Any], *, seconds: int | None = 1, **more: Any) -> str:
        when: dict[str, Any] = {"type": "interval", "interval_seconds": seconds}
        if seconds is None:
            when = {"type": "oneoff", "run_at": FOREVER}
        status, made = self.ask(
            "POST", "/api/schedules", {"name": f"{MARK} {name}", **when, "action": dict(action), **more}
        )
        return str(made["id"]) if status == 201 else ""

    def run_task(self, name: str, parameters: Mapping[str, Any]) -> str:
        status, made = self.ask("POST", f"/api/tasks/{name}/run", {"parameters": dict(parameters)})
        return str(made["id"]) if status == 202 else ""

    @contextlib.contextmanager
    def sockets(self) -> Iterator[list[socket.socket]]:
        """Connections to Foliot that are closed at the end."""
        opened: list[socket.socket] = []
        try:
            yield opened
        finally:
            for one in opened:
                one.close()

    def connect(self, head: str = "") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), 10)
        with contextlib.suppress(OSError):
            made.sendall(head.encode())
        return made


def hanging_target(scene: Scene, stop: Event) -> None:
    """150 schedules call one server that accepts and never answers."""
    for number in range(scene.count(150)):
        scene.schedule(f"hang {number}", {"kind": "webhook", "url": scene.url(f"/hang/{number}")}, overlap="allow_all")
    stop.wait()


def hanging_hosts(scene: Scene, stop: Event) -> None:
    """Fifty hosts are called every second; twenty of them hang."""
    for number, host in itertools.product(range(scene.count(4)), HANGING):
        scene.schedule(f"{host} {number}", {"kind": "webhook", "url": scene.url("/", host)}, overlap="allow_all")
    stop.wait()


def log_flood(scene: Scene, stop: Event) -> None:
    """Runs log 200,000 lines each as fast as they can."""
    for _ in range(2):
        scene.run_task("flood", {"lines": scene.count(200_000)})
    stop.wait()


def stalled_readers(scene: Scene, stop: Event) -> None:
    """Forty readers of a long log stop reading."""
    run = scene.run_task("flood", {"lines": scene.count(100_000)})
    head = f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {scene.token}\r\n"
    with scene.sockets() as opened:
        for _ in range(scene.count(40)):
            opened.append(scene.connect(f"{head}Accept: text/event-stream\r\n\r\n"))
        stop.wait()


def large_messages(scene: Scene, stop: Event) -> None:
    """Forty WebSockets send 16 MiB in one message and never end it."""
    head = f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {scene.token}\r\nUpgrade: websocket\r\n"
    head += "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    with scene.sockets() as opened:
        for _ in range(scene.count(40)):
            opened.append(scene.connect(head))
            with contextlib.suppress(OSError):
                opened[-1].recv(4096)
                opened[-1].sendall(b"\x81\xff" + (16 << 20).to_bytes(8) + b"\0\0\0\0" + bytes(15 << 20))
        stop.wait()


def half_requests(scene: Scene, stop: Event) -> None:
    """Connections send half a head, or half a body, and wait."""
    ends = (
        "",
        f"Authorization: Bearer {scene.token}\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n{{",
    )
    with scene.sockets() as opened:
        for number in range(scene.count(400)):
            opened.append(scene.connect(f"POST /api/schedules HTTP/1.1\r\nHost: 127.0.0.1\r\n{ends[number % 2]}"))
        stop.wait()


def expensive_selector(scene: Scene, stop: Event) -> None:
    """Prices are looked for in pages whose selector or structured data takes minutes to evaluate."""
    pages: list[dict[str, Any]] = [
        {"url": scene.url("/combinators"), "selectors": ["b ~ b ~ b ~ b"]},
        {"url": scene.url("/structured")},
    ]
    products = [{"competitor": "c", "product": str(at), **page} for at, page in enumerate(pages)]
    while not stop.wait(1):
        scene.run_task("scrape_competitor_prices", {"products": products})


def expensive_pages(scene: Scene, stop: Event) -> None:
    """Articles are small compressed pages of millions of nodes."""
    urls = [scene.url(f"/bomb?{number}", HOSTS[number % 10]) for number in range(scene.count(40))]
    scene.ask("POST", "/jobs/submit", {"articles": [{"url": url, "source": MARK} for url in urls]})
    stop.wait()


def forbidden_targets(scene: Scene, stop: Event) -> None:
    """Webhooks, articles and prices ask for a place that the operator's rules forbid."""
    url = f"http://127.0.0.1:{scene.decoy}/"
    scene.schedule("decoy", {"kind": "webhook", "url": url})
    scene.ask("POST", "/jobs/submit", {"articles": [{"url": url, "source": MARK}]})
    scene.run_task("scrape_competitor_prices", {"products": [{"competitor": "c", "product": "p", "url": url}]})
    stop.wait()


def long_pause(scene: Scene, stop: Event) -> None:
    """A host that the good tenant reads too answers 429 with `Retry-After: 3600`."""
    scene.ask("POST", "/jobs/submit", {"articles": [{"url": scene.url("/pause"), "source": MARK}]})
    stop.wait()


def many_edits(scene: Scene, stop: Event) -> None:
    """A schedule is edited without end, with as large a payload as is allowed."""
    action = {"kind": "webhook", "url": scene.url("/")}
    made = scene.schedule("large", action, seconds=None)
    for number in itertools.count():
        body = {"action": {**action, "body": {"n": number, "text": "x" * 250_000}}}
        status, _ = scene.ask("PATCH", f"/api/schedules/{made}", body)
        if stop.is_set() or status in {0, 413, 429}:
            break
    stop.wait()


def wrong_keys(scene: Scene, stop: Event) -> None:
    """Keys are guessed as fast as Foliot answers."""
    guess = Scene(scene.port, scene.hostile, "fol_" + os.urandom(24).hex(), scene.size)
    while not stop.is_set():
        if guess.ask("GET", "/api/schedules")[0] == 0:
            time.sleep(0.1)


Attack = Callable[[Scene, Event], None]

ATTACKS: tuple[Attack, ...] = (
    hanging_target, hanging_hosts, log_flood, stalled_readers, large_messages, half_requests, expensive_selector,
    expensive_pages, forbidden_targets, long_pause, many_edits, wrong_keys,
)  # fmt: skip


def calm(scene: Scene) -> None:
    """Take back what an attack left: schedules deleted, runs cancelled."""
    _, found = scene.ask("GET", "/api/schedules?limit=500")
    for one in (found or {}).get("items", []):
        scene.ask("DELETE", f"/api/schedules/{one['id']}")
    for state in ("queued", "retrying", "running"):
        _, runs = scene.ask("GET", f"/api/runs?state={state}&limit=500")
        for run in (runs or {}).get("items", []):
            scene.ask("POST", f"/api/runs/{run['id']}/cancel")
