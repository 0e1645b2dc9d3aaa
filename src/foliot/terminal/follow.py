"""Reads a run's events: the stored ones, or all until the run has ended, reconnecting when the stream is cut."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from foliot.terminal.client import Client, Cut, segment
from foliot.terminal.output import Exit, Failure, note

PAGE = 500
# Half a minute of tries: a restart of the server is shorter.
PAUSES = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 10.0)
_FINAL = frozenset({"success", "partial", "failed", "dead_letter", "cancelled"})

Event = dict[str, Any]


def stored_events(client: Client, run: str, after: int) -> Iterator[Event]:
    """Every event stored so far."""
    path = f"/api/runs/{segment(run)}/events"
    page = client.get(path, after=after, limit=PAGE)
    yield from page["items"]
    while page.get("next_cursor"):
        page = client.get(path, after=page["next_cursor"], limit=PAGE)
        yield from page["items"]


def matching_lines(client: Client, run: str, after: int, **filters: object) -> Iterator[Event]:
    """Every log line stored so far that matches."""
    place: int | None = after
    while place is not None:
        page = client.get(f"/api/runs/{segment(run)}/logs", after=place, **filters)
        yield from ({**line, "type": "log"} for line in page["items"])
        place = page["after"]


def follow_run(client: Client, run: str, after: int) -> Iterator[Event]:
    """Events as they happen, each once, until the run's last one."""
    follower = Follower(client, f"/api/runs/{segment(run)}", str(after) if after else None)
    while not follower.ended:
        yield from follower.read_once()


class Follower:
    """Remembers the last event id, so that no event is lost when the stream is cut."""

    def __init__(self, client: Client, path: str, last: str | None) -> None:
        self.client = client
        self.path = path
        self.last = last
        self.cuts = 0
        self.ended = False

    def read_once(self) -> Iterator[Event]:
        """The events of one connection; after a cut, waits a little longer each time."""
        try:
            for event in self.client.stream(f"{self.path}/events", self.last):
                self.cuts = 0
                self.last = event.id or self.last
                if event.name == "end":
                    self.ended = True
                    return
                yield event.data if isinstance(event.data, dict) else {"type": event.name, "message": event.data}
        except Cut as cut:
            self.ended = self._is_over()
            if not self.ended:
                self._wait(cut)

    def _is_over(self) -> bool:
        """Whether the run has ended and all its events have been read."""
        try:
            run = self.client.get(self.path)
            rest = self.client.get(f"{self.path}/events", after=self.last or 0, limit=1)
        except Failure as failed:
            if failed.code in (Exit.UNREACHABLE, Exit.FAILED):
                return False
            raise
        return run["state"] in _FINAL and not rest["items"]

    def _wait(self, cut: Cut) -> None:
        if self.cuts >= len(PAUSES):
            raise Failure(
                f"the stream from {self.client.address} was cut and did not come back ({cut})", Exit.UNREACHABLE
            )
        if self.cuts == 0:
            note(f"the stream was cut ({cut}); resuming where it stopped")
        # An event that is never set: a pause that Ctrl-C ends.
        threading.Event().wait(PAUSES[self.cuts])
        self.cuts += 1
