"""What the calls that search, count and draw answer."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from foliot.engine.model.run import RunState
from foliot.servers.http.bodies import Model
from foliot.servers.http.models import Run


class Count(Model):
    """How many runs match; exact. States without any are left out."""

    count: int
    by_state: dict[RunState, int]


class Neighbours(Model):
    """The runs of the same schedule, by their ids."""

    before: str | None
    after: str | None


class ScheduleCount(Model):
    """How many schedules match; exact."""

    count: int


class Bar(Model):
    """The runs that were made in one stretch of time, which begins at `at`."""

    at: datetime
    counts: dict[RunState, int]
    total: int
    p50_ms: int | None
    """Half of the ended runs took no longer; to two digits."""
    p95_ms: int | None
    late: int
    """Those that began more than a minute after they were ready."""


class Series(Model):
    """Runs over time, by when they were made; empty stretches are there too."""

    from_: datetime = Field(alias="from")
    to: datetime
    bucket_seconds: int
    timed: float
    """The share of the runs that durations and lateness were read from: 1 is all of them. Counts are always exact."""
    items: list[Bar]


class Points(Model):
    """Single runs over time, a list for each thing known of them. Those that have not begun are only counted."""

    from_: datetime = Field(alias="from")
    to: datetime
    counts: dict[RunState, int]
    """All that match and have begun."""
    shown: dict[RunState, int]
    """Those of them that are here. Of states with very many it is a sample by chance, the same one every time."""
    not_begun: int
    states: list[RunState]
    """What the numbers in `state` stand for."""
    id: list[str]
    at_ms: list[int]
    """When it was made, in milliseconds after `from`."""
    took_ms: list[int]
    """Of a run that goes on, so far."""
    state: list[int]


class Named(Model):
    """A schedule and its name."""

    id: str
    name: str


class Arrivals(Model):
    """How many came in the hour that begins at `at`."""

    at: datetime
    count: int


class Mute(Model):
    """A group of dead letters of which nobody wants to hear for a while. It comes back by itself."""

    fingerprint: str
    user_id: str
    """Who muted it."""
    at: datetime
    until: datetime
    reason: str


class Unmuted(Model):
    """A group of dead letters that is heard of again."""

    fingerprint: str
    mute: None = None


class Age(Model):
    """Letters that are older than those of the bar before, and not older than this."""

    up_to_hours: int | None
    """None: older than all the others."""
    count: int


class LetterGroup(Model):
    """Dead letters without an answer that failed alike."""

    fingerprint: str
    kind: str
    code: str
    message: str
    host: str | None
    """The host they could not reach, or that answered badly."""
    count: int
    first_at: datetime
    last_at: datetime
    schedules: list[Named]
    """Where they come from: the ten that sent most."""
    sample_id: str
    sample: Run
    """The newest of them."""
    arrivals: list[Arrivals]
    """By the hour, for the last 24."""
    mute: Mute | None
    """Who wants to hear nothing of it, and until when."""


class LetterGroups(Model):
    """A page of groups, those with the newest letter first; `total` counts all of them."""

    items: list[LetterGroup]
    total: int
    letters: int
    """How many letters there are in all groups."""
    oldest_at: datetime | None
    ages: list[Age]
    """How old all of them are, the youngest first."""
    next_cursor: str | None


class Suggestion(Model):
    """One way to go on: `value` is what to use, `label` what to show, `hint` what tells it from others."""

    field: str
    value: str
    label: str
    hint: str


class Suggestions(Model):
    """The best first."""

    items: list[Suggestion]
