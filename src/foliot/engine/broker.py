"""What passes between schedulers and workers on other machines: parcels of run ids. A hint; the row decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from foliot.engine.model.run import RunState
from foliot.engine.model.views import Claimed, Ending

PARCEL = 50
"""How many runs travel together at most."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """Runs of one queue that travel together, at the urgency of the most urgent."""

    queue: str
    priority: int
    """1 is the most urgent, 10 the least."""
    run_ids: Sequence[str]
    offered_at: datetime
    """The mark that their rows carry: whoever returns them takes back this mark, and no later one."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A run that was marked as handed to the broker. Its priority is what waiting has made of it."""

    run_id: str
    queue: str
    priority: int


@dataclass(frozen=True, slots=True)
class Offered:
    """What was marked, the most urgent first, and whether a window had no room for more."""

    runs: Sequence[Offer] = ()
    full: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """How many runs of a queue may lie with the broker unclaimed, and whether old ones are offered again."""

    most: int
    again: bool = True


class Broker(Protocol):
    """Carries parcels to whoever takes their queues."""

    @property
    def shown(self) -> str:
        """Its address, fit to be shown."""
        ...

    async def publish(self, parcels: Sequence[Parcel]) -> None:
        """Hand over all of them and wait for the receipt; `Unavailable` when it did not come for each."""
        ...

    async def check(self) -> None:
        """`Unavailable`, saying why, when it cannot be reached."""
        ...

    async def close(self) -> None: ...


class Monitor(Protocol):
    """Hears what runs do in this process, for tools that watch a broker's workers."""

    def began(self, claimed: Claimed) -> None: ...

    def left(self, claimed: Claimed) -> None:
        """It is not in this process any more, whatever became of it."""
        ...

    def ended(self, claimed: Claimed, ending: Ending, stored: RunState) -> None: ...


Receive = Callable[[Parcel], Awaitable[None]]


class Intake(Protocol):
    """Where the runs of a worker come from, when they are sent to it."""

    async def open(self, receive: Receive) -> None:
        """Begin to take parcels; each is taken by `receive`, which returns when room for the next one is wanted."""
        ...

    async def follow(self, queues: Sequence[str]) -> None:
        """Take from these queues, too."""
        ...

    async def close(self) -> None:
        """Take nothing more, and let what is being taken end."""
        ...

    def report(self) -> Mapping[str, Any]: ...

    @property
    def monitor(self) -> Monitor:
        """Who is told of runs that begin and end here."""
        ...
