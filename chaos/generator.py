"""The load: makes schedules through the API, then pauses, resumes, edits, runs and cancels, as people do.

Every request is repeated until its effect is certain: posts carry a key, edits the version they believe in. So the
history knows exactly which rule each schedule followed, and since when.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from chaos import chains, kinds
from chaos.doors import Answer, Doors
from chaos.history import DELETED, Scribe, at
from chaos.kinds import KINDS
from chaos.requests import Requests

SKEW = timedelta(seconds=1)
"""How far the moment of a change may lie outside the time in which it was asked for."""

REFUSED = frozenset({400, 413, 422, 429})
"""Answers that find fault with the request, not with what it is about: ours was a bad one."""

SHORTEST = 4.0
"""Seconds that a schedule with an end has before it, counted from when it is asked for."""

TRIES = 5

REST = 2.5
"""Seconds for which a schedule is paused at least, so that it passes over an instant."""

HELD = 10.0
"""Seconds in which a run that fails is seen waiting for its next attempt, at most."""

REPEATED = 0.3
"""The share of requests that are sent a second time with the same key, though they were answered."""

DELETED_EACH = 5
"""At the end one in so many schedules is deleted instead of paused."""

OPEN = "/api/runs?state=queued,running,retrying&limit=50"
WAITING = "/api/runs?state=queued,retrying&limit=50"


class Hindered(Exception):
    """The campaign could not do its work: whatever it saw until then proves nothing."""


@dataclass(slots=True)
class Standing:
    """A schedule as the generator knows it."""

    id: str
    kind: str
    place: int
    rule: Mapping[str, Any]
    version: int
    paused_at: float | None = None
    """By the monotonic clock; None while it is active."""
    ends: bool = False

    @property
    def paused(self) -> bool:
        return self.paused_at is not None


@dataclass(slots=True)
class Generator:
    """Runs in a thread of its own, so that a request that hangs delays no fault."""

    doors: Doors
    scribe: Scribe
    chance: random.Random
    rate: float
    target: int
    """The port of the recording target."""
    web: int = 0
    """The port of the campaign's web, for work other than webhooks; 0 for none."""
    pause: tuple[float, float] = (0.3, 1.2)
    chains: int = 1
    """Behind so many schedules there is a chain."""
    asked: Counter[str] = field(default_factory=Counter)
    schedules: list[Standing] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _requests: Requests | None = None
    _until: float = float("inf")
    _failure: list[BaseException] = field(default_factory=list)
    _keys: int = 0
    _held: str = ""
    """The schedule whose runs fail and then wait."""
    _since: str = ""
    """When the newest edit took effect."""

    def create(self, lead: float, seconds: float) -> None:
        """Every schedule, and one in ten with an end of its own."""
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=lead)
        for place, kind in enumerate(kinds.cast(self.rate)):
            rule = kinds.rule(KINDS[kind], start, place)
            ends = start + timedelta(seconds=seconds * 0.7) if "every" in rule and place % 10 == 3 else None
            made = self._created(place, kind, rule, ends)
            one = Standing(made["id"], kind, place, rule, made["version"], ends=ends is not None)
            self.schedules.append(one)
            self._era(one, made["created_at"])

        for number, first in enumerate(self.schedules[: self.chains], 1):
            self._follow(first.id, number)

    def _follow(self, first: str, number: int) -> None:
        """A chain behind a schedule: two follow it, and one follows both. Nothing edits or pauses them."""
        known = {"A": first}
        for name, parents, every_one in chains.CHAIN:
            ids = [known[parent] for parent in parents]
            url = f"http://127.0.0.1:{self.target}/chain-{name}-{number}"
            document = chains.document(f"{name}{number}", ids, url, every_one=every_one)
            made = self._posted("/api/schedules", 201, document)
            known[name] = made["id"]
            self.scribe.tell("follow", child=made["id"], parents=ids, all=every_one, since=made["created_at"])

    def _created(self, place: int, kind: str, rule: dict[str, Any], ends: datetime | None) -> Any:
        """On a busy machine an end may have passed before it is heard of: then a later one is asked for."""
        url = f"http://127.0.0.1:{self.target}/{place}"
        status, answer = 0, None
        for tried in range(TRIES):
            if ends is not None:
                soonest = datetime.now(UTC) + timedelta(seconds=SHORTEST * 2**tried)
                rule["end"] = max(ends, soonest).isoformat()
            status, answer = self._post("/api/schedules", kinds.document(f"Chaos {place}", KINDS[kind], rule, url))
            if ends is None or status != 422:
                break
        self._expect(201, status, answer, "/api/schedules")
        return answer

    def start(self, seconds: float = float("inf")) -> None:
        """Ask for so long. Each request wakes a scheduler: how punctual it is by itself shows afterwards."""
        self._until = time.monotonic() + seconds
        if self.web:
            self._requests = Requests(
                self._post, lambda path: self.doors.insist("GET", path), self.scribe, self.chance, self.web
            )
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Finish what is being asked, then pause or delete every schedule: nothing comes due any more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._failure:
            raise self._failure[0]
        # What a resumed schedule would make up for its pause, it makes up at once (G12).
        for one in self._rested():
            self._resume(one)
        if self._held:
            self.doors.insist("DELETE", f"/api/schedules/{self._held}")
        for number, one in enumerate(self.schedules):
            if number % DELETED_EACH == DELETED_EACH - 1:
                self._delete(one)
            elif not one.paused:
                self._pause(one)

    def _rested(self) -> list[Standing]:
        """Schedules whose pause has passed over an instant."""
        return [one for one in self.schedules if one.paused_at and time.monotonic() - one.paused_at > REST]

    def _work(self) -> None:
        try:
            while not self._stop.wait(self.chance.uniform(*self.pause)):
                if time.monotonic() < self._until:
                    self._ask()
        except BaseException as failure:  # noqa: BLE001 -- carried to whoever stops the generator
            self._failure.append(failure)

    def _ask(self) -> None:
        one = self.chance.choice([one for one in self.schedules if not one.ends])
        if self._requests is not None and self.chance.random() < 0.5:
            self._requests.one([one.id for one in self.schedules if KINDS[one.kind].reasons])
            return
        rested = self._rested()
        if one.paused or (rested and self.chance.random() < 0.4):
            self._resume(one if one.paused else rested[0])
            return
        verbs: Sequence[tuple[Any, int]] = (
            (self._pause, 3),
            (self._edit, 2),
            (self._rename, 1),
            (self._run, 3),
            (self._cancel, 2),
            (self._cancel_waiting, 1),
        )
        (verb,) = self.chance.choices([verb for verb, _ in verbs], [weight for _, weight in verbs])
        verb(one)

    # --- verbs --------------------------------------------------------------------------------------------------------

    def _pause(self, one: Standing) -> None:
        began = datetime.now(UTC)
        status, answer = self._post(f"/api/schedules/{one.id}/pause", {"reason": "chaos"})
        if status == 409 and one.ends:
            return
        self._expect(200, status, answer, "pause")
        self._changed(one, answer, began)
        one.paused_at = time.monotonic()
        self.scribe.tell("rest", schedule=one.id, since=answer["updated_at"])

    def _delete(self, one: Standing) -> None:
        """A deleted schedule is still answered, and says since when."""
        self.asked["delete"] += 1
        status, answer = self.doors.insist("DELETE", f"/api/schedules/{one.id}")
        self._expect(204, status, answer, "delete")
        status, answer = self.doors.insist("GET", f"/api/schedules/{one.id}")
        self._expect(200, status, answer, "a deleted schedule")
        if answer["status"] != DELETED:
            self.scribe.tell("wrong", what=f"G12: {one.id} was deleted, and is {answer['status']}")
        self.scribe.tell("rest", schedule=one.id, since=answer["updated_at"], why=DELETED)

    def _resume(self, one: Standing) -> None:
        began = datetime.now(UTC)
        answer = self._posted(f"/api/schedules/{one.id}/resume", 200)
        self._changed(one, answer, began)
        one.paused_at = None
        self._era(one, answer["updated_at"])

    def _edit(self, one: Standing) -> None:
        """Another rhythm."""
        kind = KINDS[one.kind]
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
        rule = kinds.rule(kind, start, one.place + 1, self.chance.choice((kind.every, kind.every + 1)))
        self._patch(one, kinds.timing(rule))
        one.rule = rule
        self._era(one, self._since)

    def _rename(self, one: Standing) -> None:
        """An edit that changes nothing about when."""
        self._patch(one, {"description": f"version {one.version + 1}", "priority": self.chance.randint(1, 10)})
        self._era(one, self._since)

    def _run(self, one: Standing) -> None:
        self.scribe.tell("run-now", run=self._posted(f"/api/schedules/{one.id}/run-now", 202)["id"])

    def _cancel(self, _: Standing) -> None:
        page: Any = {"items": []}
        for path in self.chance.choice(((WAITING, OPEN), (OPEN,))):
            status, page = self.doors.insist("GET", path)
            self._expect(200, status, page, "list")
            if page["items"]:
                break
        if not page["items"]:
            return
        run = self.chance.choice(page["items"])["id"]
        self.scribe.tell("cancel", run=run, state="")
        status, answer = self._post(f"/api/runs/{run}/cancel")
        if status == 200:
            self.scribe.tell("cancel", run=run, state=answer["state"])
        elif status != 409:
            self._expect(200, status, answer, "cancel")

    def _cancel_waiting(self, _: Standing) -> None:
        """A run that waits for its second attempt ends at once (G11)."""
        if not self._held:
            body = kinds.held("Chaos held", f"http://127.0.0.1:{self.target}/held")
            self._held = self._posted("/api/schedules", 201, body)["id"]
        run = self._posted(f"/api/schedules/{self._held}/run-now", 202)["id"]
        self.scribe.tell("run-now", run=run)
        self.scribe.tell("cancel", run=run, state="")
        deadline = time.monotonic() + HELD
        while self.doors.insist("GET", f"/api/runs/{run}")[1]["state"] != "retrying" and time.monotonic() < deadline:
            time.sleep(0.1)
        status, answer = self._post(f"/api/runs/{run}/cancel")
        self._expect(200, status, answer, "cancel")
        self.scribe.tell("cancel", run=run, state=answer["state"])

    # --- asking -------------------------------------------------------------------------------------------------------

    def _patch(self, one: Standing, body: Mapping[str, Any]) -> None:
        """Under the version we know; 412 means that an earlier try of ours was heard and its answer lost."""
        began = datetime.now(UTC)
        self.asked["patch"] += 1
        status, answer = self.doors.insist("PATCH", f"/api/schedules/{one.id}", body, {"If-Match": f'"{one.version}"'})
        if status == 412:
            status, answer = self.doors.insist("GET", f"/api/schedules/{one.id}")
        self._expect(200, status, answer, "patch")
        self._changed(one, answer, began)
        self._since = answer["updated_at"]

    def _post(self, path: str, body: Any = None) -> Answer:
        self._keys += 1
        self.asked[path.rpartition("/")[2]] += 1
        sent = ("POST", path, body or {}, {"Idempotency-Key": f"chaos-{self._keys}"})
        status, answer = self.doors.insist(*sent)
        if status < 300 and self.chance.random() < REPEATED:
            self.asked["repeated"] += 1
            again = self.doors.insist(*sent)
            if again != (status, answer):
                told = f"answered {status} {answer}, then {again[0]} {again[1]}"
                self.scribe.tell("wrong", what=f"G14: POST {path} was sent twice with one key: {told}")
        return status, answer

    def _posted(self, path: str, wanted: int, body: Any = None) -> Any:
        status, answer = self._post(path, body)
        self._expect(wanted, status, answer, path)
        return answer

    def _expect(self, wanted: int, status: int, answer: Any, what: str) -> None:
        if status in REFUSED:
            raise Hindered(f"{what} was answered {status}, not {wanted}: {answer}")
        if status != wanted:
            raise RuntimeError(f"{what} was answered {status}, not {wanted}: {answer}")

    def _changed(self, one: Standing, answer: Mapping[str, Any], began: datetime) -> None:
        """One change, and its moment within the time in which it was asked for."""
        moment = at(answer["updated_at"])
        if not began - SKEW <= moment <= datetime.now(UTC) + SKEW:
            self.scribe.tell("wrong", what=f"G16: {one.id} says it changed {moment}, but was asked from {began} on")
        if answer["version"] != one.version + 1:
            self.scribe.tell("wrong", what=f"G14: {one.id} went from version {one.version} to {answer['version']}")
        one.version = answer["version"]

    def _era(self, one: Standing, since: str) -> None:
        self.scribe.tell("era", schedule=one.id, kind=one.kind, rule=one.rule, since=since)
