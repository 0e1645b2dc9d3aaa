"""What else people ask of Foliot in a campaign: retries, replays, bulk actions, backfills, articles, crawls, pipelines.

Each request is repeated until its effect is certain, and told to the history: what it must have caused is judged there.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from chaos.doors import Answer
from chaos.history import Scribe

Ask = Callable[..., Answer]

ENDED = "/api/runs?state=success&limit=50&kind=webhook"


@dataclass(slots=True)
class Requests:
    """`post` sends with a key of its own, `get` reads; both insist until there is an answer."""

    post: Ask
    get: Callable[[str], Answer]
    scribe: Scribe
    chance: random.Random
    web: int
    """The port of the campaign's web."""
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def one(self, schedules: Sequence[str]) -> None:
        """Something of all this; `schedules` may be backfilled."""
        kinds: Sequence[tuple[Callable[[], None], int]] = (
            (self.retry, 2),
            (self.replay, 2),
            (self.bulk, 1),
            (lambda: self.backfill(self.chance.choice(schedules)), 1),
            (self.articles, 3),
            (self.crawl, 2),
            (self.pipeline, 2),
        )
        (kind,) = self.chance.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
        kind()

    def retry(self) -> None:
        if run := self._any(ENDED):
            self._made("retry", *self.post(f"/api/runs/{run}/retry"), parent=run)

    def replay(self) -> None:
        _, page = self.get("/api/dead-letters?limit=10")
        letters = [letter for group in page["items"] for letter in group["ids"]]
        if not letters:
            return
        letter = self.chance.choice(letters)
        status, answer = self.post("/api/dead-letters/replay", {"ids": [letter]})
        for run in answer["items"] if status == 202 else ():
            self._made("replay", status, run, parent=letter)

    def bulk(self) -> None:
        """Three ended runs once more, by one action."""
        _, page = self.get(ENDED)
        ids = [run["id"] for run in page["items"]]
        chosen = self.chance.sample(ids, min(3, len(ids)))
        if not chosen:
            return
        status, made = self.post("/api/bulk", {"action": "retry", "ids": chosen, "rate": 50})
        if status == 202:
            self.scribe.tell("bulk", bulk=made["id"], ids=chosen)

    def backfill(self, schedule: str) -> None:
        span = {"from": self.began.isoformat(), "to": (datetime.now(UTC) - timedelta(seconds=2)).isoformat()}
        status, made = self.post(f"/api/schedules/{schedule}/backfill", {**span, "rate": 50})
        if status == 202:
            self.scribe.tell("backfill", bulk=made["id"], schedule=schedule)

    def articles(self) -> None:
        urls = [f"http://127.0.0.1:{self.web}/page/{next(self.numbers)}" for _ in range(5)]
        status, made = self.post("/jobs/submit", {"articles": [{"url": url, "source": "chaos"} for url in urls]})
        self._made("articles", status, {"id": made.get("job_id", "")}, wanted=201)

    def crawl(self) -> None:
        url = f"http://127.0.0.1:{self.web}/page/{next(self.numbers)}"
        body = {"user_id": "chaos", "spider": "seo", "start_urls": [url], "depth": 1}
        status, made = self.post("/crawl", body)
        self._made("crawl", status, {"id": made.get("job_id", "")}, wanted=200)

    def pipeline(self) -> None:
        self._made("pipeline", *self.post("/api/pipelines/chaos/run"))

    def _any(self, path: str) -> str:
        _, page = self.get(path)
        return str(self.chance.choice(page["items"])["id"]) if page["items"] else ""

    def _made(self, what: str, status: int, answer: Any, *, wanted: int = 202, parent: str | None = None) -> None:
        if status != wanted:
            raise RuntimeError(f"{what} was answered {status}, not {wanted}: {answer}")
        self.scribe.tell("run-now", run=answer["id"], parent=parent)
