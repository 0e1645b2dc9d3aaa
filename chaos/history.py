"""The history of a campaign: JSON lines in a directory, written while it happens and read back by whoever judges.

history.jsonl   what the campaign did: processes, faults, servers, requests that had an effect
calls.jsonl     what the target saw, written by the target itself
web.jsonl       which pages were fetched and which spiders started, written by the campaign's web
runs.jsonl, attempts.jsonl, ledger.jsonl   what the store says at the end
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

EVENTS, CALLS = "history.jsonl", "calls.jsonl"
WEB = "web.jsonl"
RUNS, ATTEMPTS, LEDGER = "runs.jsonl", "attempts.jsonl", "ledger.jsonl"


@dataclass(frozen=True, slots=True)
class Era:
    """A stretch of time in which a schedule followed one rule: instants after `since`, up to and including `until`."""

    schedule: str
    kind: str
    rule: Mapping[str, Any]
    since: datetime
    until: datetime | None = None


PAUSED, DELETED = "paused", "deleted"


@dataclass(frozen=True, slots=True)
class Rest:
    """A stretch of time in which a schedule owed nothing: instants after `since`, up to and including `until`."""

    schedule: str
    why: str
    since: datetime
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """A run, as its row says; `at` is None for one that was asked for by hand."""

    id: str
    schedule: str
    at: datetime | None
    state: str
    attempt: int
    max_attempts: int
    created: datetime
    kind: str = "webhook"
    parent: str | None = None
    """The run that this one repeats or follows."""
    fills: datetime | None = None
    """The instant that this one makes up for."""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that has ended, as its row says."""

    run: str
    epoch: int
    number: int
    worker: str
    outcome: str
    started: datetime
    ended: datetime


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger."""

    schedule: str
    first: datetime
    last: datetime
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Call:
    """What the target saw, outside the system; (run, attempt) is the execution token."""

    run: str
    attempt: int
    at: datetime | None
    """For which instant, by the header."""
    seen: datetime
    status: int
    answered: datetime | None = None


@dataclass(frozen=True, slots=True)
class Followed:
    """A schedule that follows the successes of others, each of them or all together."""

    child: str
    parents: Sequence[str]
    all: bool
    since: datetime | None = None
    """When it had been created."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a process, or to the server `database` or `broker`."""

    t: datetime
    who: str
    what: str
    pid: int = 0
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Everything there is to judge."""

    eras: Sequence[Era]
    runs: Sequence[Made]
    attempts: Sequence[Tried] = ()
    ledger: Sequence[Entry] = ()
    calls: Sequence[Call] = ()
    moments: Sequence[Moment] = ()
    faults: Sequence[Moment] = ()
    manual: frozenset[str] = frozenset()
    """Runs that a request was answered with."""
    cancelled: Mapping[str, str] = field(default_factory=dict)
    """Runs somebody wanted cancelled, with the state the answer gave; empty while it gave none."""
    repeats: Sequence[str] = ()
    """Runs of which one repetition each was asked for, by retry, replay or bulk action."""
    backfilled: frozenset[str] = frozenset()
    """Schedules for which a backfill was asked for."""
    followed: Sequence[Followed] = ()
    spiders: Sequence[str] = ()
    """Jobs that were started at the Scrapyd of the campaign."""
    cancelled_at: Mapping[str, datetime] = field(default_factory=dict)
    """When each such request was answered."""
    rests: Sequence[Rest] = ()
    wrong: Sequence[str] = ()
    """What was found wrong while it happened."""
    hindered: Sequence[str] = ()
    """Why the campaign itself could not do its work, so that what it saw proves nothing."""
    calm: bool = False
    """Whether no fault was to strike."""
    scale: float = 0.1
    patience: float = 1.0
    """How many times longer than promised recovery may take, on a machine with other things to do."""


class Scribe:
    """Writes events down as they happen, from any thread."""

    def __init__(self, directory: Path) -> None:
        self._file = (directory / EVENTS).open("a", buffering=1)
        self._lock = threading.Lock()

    def tell(self, event: str, **facts: Any) -> None:
        with self._lock:
            self._file.write(json.dumps({"t": time.time(), "event": event, **facts}) + "\n")

    def close(self) -> None:
        self._file.close()


def lines(file: Path) -> list[dict[str, Any]]:
    """Every whole line; the last may have been cut off by a kill."""
    found = []
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def write(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row, default=_text) + "\n" for row in rows))


def read(directory: Path) -> History:
    """The history kept in a directory."""
    events = lines(directory / EVENTS)
    named: dict[str, list[dict[str, Any]]] = {}
    for one in events:
        named.setdefault(one["event"], []).append(one)
    (first,) = named["campaign"]
    return History(
        eras=list(_eras(events)),
        runs=[
            Made(
                *(r["id"], r["schedule"], _at(r["at"]), r["state"], r["attempt"], r["max_attempts"], at(r["created"])),
                *(r["kind"], r["parent"], _at(r["fills"]), r.get("origin", "")),
            )
            for r in lines(directory / RUNS)
        ],
        attempts=[
            Tried(r["run"], r["epoch"], r["number"], r["worker"], r["outcome"], at(r["started"]), at(r["ended"]))
            for r in lines(directory / ATTEMPTS)
        ],
        ledger=[
            Entry(r["schedule"], at(r["first"]), at(r["last"]), r["count"], r["reason"])
            for r in lines(directory / LEDGER)
        ],
        calls=_calls(lines(directory / CALLS)),
        moments=[_moment(one) for one in events if one["event"] in ("process", "server")],
        faults=[_moment(one) for one in named.get("fault", ())],
        manual=frozenset(one["run"] for one in named.get("run-now", ())),
        cancelled={one["run"]: one["state"] for one in named.get("cancel", ())},
        repeats=[
            *(one["parent"] for one in named.get("run-now", ()) if one.get("parent")),
            *(run for one in named.get("bulk", ()) for run in one["ids"]),
        ],
        backfilled=frozenset(one["schedule"] for one in named.get("backfill", ())),
        followed=[
            Followed(one["child"], one["parents"], one["all"], _at(one.get("since"))) for one in named.get("follow", ())
        ],
        spiders=[one["job"] for one in lines(directory / WEB) if "job" in one],
        cancelled_at={one["run"]: _seconds(one["t"]) for one in named.get("cancel", ()) if one["state"]},
        rests=list(_rests(events)),
        wrong=[one["what"] for one in named.get("wrong", ())],
        hindered=[one["what"] for one in named.get("hindered", ())],
        calm=first.get("calm", False),
        scale=first["scale"],
        patience=first.get("patience", 1.0),
    )


def at(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _at(text: str | None) -> datetime | None:
    return None if not text else at(text)


def _seconds(value: float) -> datetime:
    return datetime.fromtimestamp(value, UTC)


def _moment(one: Mapping[str, Any]) -> Moment:
    began, until = one.get("began", one["t"]), one.get("until")
    ended = None if until is None else _seconds(until)
    return Moment(_seconds(began), one["who"], one["what"], one.get("pid", 0), ended)


def _eras(events: Iterable[Mapping[str, Any]]) -> Iterable[Era]:
    """`era` opens one and closes the one before; `rest` only closes."""
    current: dict[str, Mapping[str, Any]] = {}
    for one in events:
        if one["event"] not in ("era", "rest"):
            continue
        before = current.pop(one["schedule"], None)
        if before is not None:
            yield Era(before["schedule"], before["kind"], before["rule"], at(before["since"]), at(one["since"]))
        if one["event"] == "era":
            current[one["schedule"]] = one
    yield from (Era(one["schedule"], one["kind"], one["rule"], at(one["since"])) for one in current.values())


def _rests(events: Iterable[Mapping[str, Any]]) -> Iterable[Rest]:
    """`rest` opens one, `era` closes it."""
    current: dict[str, Rest] = {}
    for one in events:
        if one["event"] == "rest":
            if (before := current.get(one["schedule"])) is not None:
                yield replace(before, until=at(one["since"]))
            current[one["schedule"]] = Rest(one["schedule"], one.get("why", PAUSED), at(one["since"]))
        elif one["event"] == "era" and (before := current.pop(one["schedule"], None)) is not None:
            yield replace(before, until=at(one["since"]))
    yield from current.values()


def _calls(rows: Iterable[Mapping[str, Any]]) -> list[Call]:
    """A call is one line when it is seen and another when it is answered."""
    answers, seen = {}, []
    for row in rows:
        if "answered" in row:
            answers[row["call"]] = row["answered"]
        else:
            seen.append(row)
    return [
        Call(
            row["webhook_id"],
            row["attempt"],
            _at(row["at"]),
            _seconds(row["seen"]),
            row["status"],
            _seconds(answers[row["call"]]) if row["call"] in answers else None,
        )
        for row in seen
    ]


def _text(value: object) -> str:
    assert isinstance(value, datetime), value
    return value.isoformat()
