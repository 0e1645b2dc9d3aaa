"""Ports to a message broker: publishing runs, receiving them, and reporting them to the broker's own tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from foliot.cluster.parcel import Parcel, Receive
from foliot.cluster.task_view import TaskEnd, TaskView


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

    def began(self, run: TaskView) -> None: ...

    def left(self, run_id: str) -> None:
        """It is not in this process any more: it has ended, is parked, or was lost."""
        ...

    def ended(self, run: TaskView, ending: TaskEnd) -> None: ...


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
