"""Ports to a message broker: publishing runs, receiving them, and reporting them to the broker's own tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from foliot.cluster.frames import BrokerMessage, MonitoredTask, MonitoredTaskEnd, Receive


class Broker(Protocol):
    """Publishes messages to the consumers of their queues."""

    @property
    def shown(self) -> str:
        """Its address without credentials."""
        ...

    async def publish(self, parcels: Sequence[BrokerMessage]) -> None:
        """Publish all of them and wait for confirms; `Unavailable` unless each was confirmed."""
        ...

    async def check(self) -> None:
        """`Unavailable`, with the reason, when it cannot be reached."""
        ...

    async def close(self) -> None: ...


class Monitor(Protocol):
    """Receives events of runs in this process, for tools that monitor a broker's workers."""

    def began(self, run: MonitoredTask) -> None: ...

    def left(self, run_id: str) -> None:
        """It is no longer in this process: it has ended, is parked, or was lost."""
        ...

    def ended(self, run: MonitoredTask, ending: MonitoredTaskEnd) -> None: ...


class Intake(Protocol):
    """The source of a worker's runs, with a broker."""

    async def open(self, receive: Receive) -> None:
        """Start consuming; each message is passed to `receive`, which returns when the next one may come."""
        ...

    async def follow(self, queues: Sequence[str]) -> None:
        """Consume these queues too."""
        ...

    async def close(self) -> None:
        """Stop consuming, and let messages in progress finish."""
        ...

    def report(self) -> Mapping[str, Any]: ...

    @property
    def monitor(self) -> Monitor:
        """Receives events of runs that begin and end here."""
        ...
