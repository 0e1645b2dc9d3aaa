"""Response schemas of the demo."""

from __future__ import annotations

from foliot.core.declaration import declared


@declared
class DemoState:
    """Whether the demo is on."""

    on: bool
    schedules: int


@declared
class DemoSummary(DemoState):
    """The demo's data."""

    runs: int


@declared
class DemoRemoved:
    """What was removed."""

    schedules: int
    runs: int
