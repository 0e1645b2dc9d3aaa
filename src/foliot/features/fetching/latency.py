"""Notices hosts whose answers take far longer than they used to: two moving averages of the time to the first byte."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from datetime import timedelta

from foliot.features.fetching.answer import path_of
from foliot.features.fetching.model import HostUpdate, host_of

FIRST = 10
"""Answers until it is known what is usual for a host."""
FACTOR = 3
LEAST = timedelta(milliseconds=300)
"""A host is strained when its answers take this factor of the usual, and this much longer."""
EACH = 5
"""Answers between two reports: the longer interval takes effect first."""
HOSTS = 10_000
_FAST, _SLOW, _STRAINED = 0.3, 0.05, 0.01
"""Weights of one answer: in the recent latency; in the usual one; and in that while the host is strained."""


@dataclass(slots=True)
class HostLatency:
    """The usual and the recent latency of one host."""

    usual: float = 0.0
    recent: float = 0.0
    answers: int = 0
    reported: int = 0
    """The answer after which it was last reported."""

    def note(self, seconds: float) -> None:
        self.answers += 1
        if self.answers <= FIRST:
            self.usual += (seconds - self.usual) / self.answers
            self.recent = self.usual
            return
        self.recent += (seconds - self.recent) * _FAST
        self.usual += (seconds - self.usual) * (_STRAINED if self.strained else _SLOW)

    @property
    def strained(self) -> bool:
        return self.answers > FIRST and self.recent > max(self.usual * FACTOR, self.usual + LEAST.total_seconds())


@dataclass(slots=True)
class HostLatencies:
    """Of the hosts that this process asks, those it asked last."""

    _hosts: OrderedDict[str, HostLatency] = field(default_factory=OrderedDict)

    def note(self, host: str, latency: timedelta) -> None:
        """One answer took so long."""
        known = self._hosts.setdefault(host, HostLatency())
        self._hosts.move_to_end(host)
        if len(self._hosts) > HOSTS:
            self._hosts.popitem(last=False)
        known.note(latency.total_seconds())

    def update(self, url: str, update: HostUpdate) -> HostUpdate:
        """What the last answer says about its host: nothing good while it is strained, and now and then that it is."""
        known = self._hosts.get(host_of(url))
        if known is None or not known.strained:
            return update
        if known.answers - known.reported < EACH:
            return replace(update, well=False)
        known.reported = known.answers
        said = f"Its answers take {known.recent:.1f} s, and {known.usual:.1f} s is usual"
        return replace(update, well=False, latency=timedelta(seconds=known.recent), path=path_of(url), reason=said)
