"""Reads a run's events: those that are stored, or all until the run has ended, across cut connections."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

from foliot.cli.client import Client, Cut, segment
from foliot.cli.printing import Exit, Failure, note

PAGE = 500
# Half a minute of tries: a restart of the server is shorter.
PAUSES = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 5.0, 5.0, 10.0)
_FINAL = frozenset({"success", "partial", "failed", "dead_letter", "cancelled"})

Event = dict[str, Any]


def stored_events(client: Client, run: str, after: int) -> Iterator[Event]:
    """Every event there is now."""
    while True:
        found = client.get(f"/api/runs/{segment(run)}/events", after=after, limit=PAGE)
        events: list[Event] = found["items"]
        yield from events
        if not events or not found.get("next_cursor"):
            return
        after = int(events[-1]["seq"])


def follow_run(client: Client, run: str, after: int) -> Iterator[Event]:
    """Events as they happen, each once, until the run's last one."""
    last = str(after) if after else None
    cuts = 0
    while True:
        try:
            for event in client.stream(f"/api/runs/{segment(run)}/events", last):
                cuts = 0
                last = event.id or last
                if event.name == "end":
                    return
                yield event.data if isinstance(event.data, dict) else {"type": event.name, "message": event.data}
        except Cut as cut:
            if _ended(client, run, last):
                return
            _wait_after(cut, cuts, client)
            cuts += 1


def _ended(client: Client, run: str, last: str | None) -> bool:
    """Whether the cut was the end: the run is over and everything it said has been read."""
    try:
        found = client.get(f"/api/runs/{segment(run)}")
        rest = client.get(f"/api/runs/{segment(run)}/events", after=last or 0, limit=1)
    except Failure as failed:
        if failed.code is Exit.UNREACHABLE or failed.code is Exit.FAILED:
            return False
        raise
    return found["state"] in _FINAL and not rest["items"]


def _wait_after(cut: Cut, cuts: int, client: Client) -> None:
    if cuts >= len(PAUSES):
        raise Failure(f"the stream from {client.address} was cut and did not come back ({cut})", Exit.UNREACHABLE)
    if cuts == 0:
        note(f"the stream was cut ({cut}); going on where it stopped")
    threading.Event().wait(PAUSES[cuts])
