"""A client that starts crawls, and readers that follow their logs through every interruption."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.acceptance.house import SECONDS, House
from tests.services import wait_until

OVER = {"finished", "error", "cancelled"}


@dataclass
class Door:
    """The HTTP interface of a house."""

    house: House
    token: str | None = None

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        url = f"{self.house.environ['FOLIOT_URL']}{path}"
        try:
            with urlopen(Request(url, data, headers, method=method), timeout=SECONDS) as answer:
                return answer.status, json.loads(answer.read())
        except HTTPError as refused:
            return refused.code, json.loads(refused.read())

    def crawl(self, spider: str, *urls: str, query: str = "", **more: Any) -> dict[str, Any]:
        """What is answered to a crawl that is accepted."""
        wish = {"user_id": "ada", "spider": spider, "start_urls": list(urls), **more}
        status, answer = self.ask("POST", f"/crawl{query}", wish)
        assert status in (200, 202), answer
        found: dict[str, Any] = answer
        return found

    def status(self, job: str) -> dict[str, Any]:
        status, answer = self.ask("GET", f"/jobs/{job}/status")
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    def reaches(self, job: str, *statuses: str, seconds: float = SECONDS) -> dict[str, Any]:
        """Rows tell nobody from outside that they changed: look again and again."""
        assert wait_until(lambda: self.status(job)["status"] in statuses, seconds=seconds), self.status(job)
        return self.status(job)


@dataclass
class Reader:
    """Follows a log, and goes on where it stopped when it is cut off; after `patience` lines it leaves by itself."""

    house: House
    job: str
    patience: int = 1_000_000
    lines: list[tuple[str, str]] = field(default_factory=list)
    """Id and text of each, as they came."""
    ended: dict[str, Any] | None = None
    begun: int = 0
    seen: threading.Event = field(default_factory=threading.Event)
    """The first line is here."""
    _thread: threading.Thread | None = None

    def start(self) -> Reader:
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        return self

    def join(self, seconds: float) -> None:
        assert self._thread is not None
        self._thread.join(seconds)
        assert self.ended is not None, f"no end after {len(self.lines)} lines in {self.begun} sittings"

    def _follow(self) -> None:
        pause = threading.Event()
        while self.ended is None:
            try:
                self._sit()
            except (OSError, HTTPException):
                pause.wait(0.05)

    def _sit(self) -> None:
        """One connection, until it is cut, left or has told the end."""
        place = self.house.environ["FOLIOT_URL"].removeprefix("http://")
        connection = HTTPConnection(place, timeout=SECONDS)
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": self.lines[-1][0]} if self.lines else {})
        try:
            connection.request("GET", f"/jobs/{self.job}/logs", headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise HTTPException(response.status)
            self.begun += 1
            event: dict[str, str] = {}
            until = len(self.lines) + self.patience
            for raw in response:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                    continue
                self._take(event)
                event = {}
                if self.ended is not None or len(self.lines) >= until:
                    return
        finally:
            connection.close()

    def _take(self, event: dict[str, str]) -> None:
        if event.get("event") == "log":
            self.lines.append((event["id"], json.loads(event["data"])["msg"]))
            self.seen.set()
        elif event.get("event") == "end":
            self.ended = json.loads(event["data"])
