"""Wake-ups: topics, and who waits for them."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol


class Waiter(Protocol):
    """Somebody who wants to be woken."""

    async def wait(self, timeout: float) -> bool:
        """True when woken, False when the time ran out. A wake that came before is not lost."""
        ...


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the wakes of this process go."""

    kind: str
    """memory (no further than this process), postgresql or redis."""
    connected: bool
    error: str | None = None


class Feed(Protocol):
    """Wakes and tells. Losing it costs latency, never data."""

    def wake(self, *topics: str) -> None:
        """Cheap, and never inside a transaction: whoever is woken must find what was written."""
        ...

    def listen(self, *topics: str) -> AbstractAsyncContextManager[Waiter]: ...


class LivingFeed(Feed, Protocol):
    """A feed that is opened and closed; without its line to the others it goes on alone."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def reach(self) -> Reach: ...


SCHEDULES_TOPIC = "schedules"


RUNS_TOPIC = "runs"


QUEUES_TOPIC = "queues"
"""A queue was paused or resumed."""


ENDINGS_TOPIC = "endings"


PARKED_TOPIC = "parked"
"""Somebody should look at a parked run sooner than planned."""


SLOTS_TOPIC = "slots"
"""A worker that had none has a slot free."""


STOP_TOPIC = "stop:"


LINES_TOPIC = "lines"
"""A run has said so much that it waits for its lines to be written down."""


REPORT_TOPIC = "report"
"""What this process reports of itself has changed."""


ARTICLES_TOPIC = "articles"
"""There may be articles to take."""


PAGES_TOPIC = "pages"
"""Pages were fetched, and wait to be written down."""


LOCAL_TOPICS = (ENDINGS_TOPIC, SLOTS_TOPIC, STOP_TOPIC, PAGES_TOPIC, LINES_TOPIC, REPORT_TOPIC)
"""How topics begin that mean nothing to another process."""


def run_topic(run_id: str) -> str:
    """Those who follow one run."""
    return f"run:{run_id}"


def node_topic(node_id: str) -> str:
    """One process, of whom something was asked."""
    return f"node:{node_id}"
