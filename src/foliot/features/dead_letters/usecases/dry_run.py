"""Rehearses a replay: where letters would go, by which settings, how often alike, and what would be refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from foliot.core.errors import FoliotError
from foliot.core.failure_fingerprint import host_in, host_of
from foliot.db.transaction import Transaction
from foliot.engine.model.views import RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.dead_letters.model import MOST_REPLAYS
from foliot.features.runs.model.replay import ReplayOptions
from foliot.features.runs.usecases.replay import ReplayPlan, ReplayPlanner, as_it_was
from foliot.features.schedules.model.document import ActionCheck

TOLD = 5
"""Of those that would be refused, and why."""


@dataclass(slots=True)
class ReplayEstimate:
    """What replaying these letters would do."""

    looked_at: int
    hosts: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    """How many would do exactly what another of them does."""
    changed: int = 0
    """How many would be told something else than they were then, because their schedule has changed."""
    stay: dict[str, int] = field(default_factory=dict)
    """Why some do what they did then, though the settings of now were wanted; how many each."""
    edited: int = 0
    """How many the patch changes."""
    refused: int = 0
    reasons: list[tuple[str, str]] = field(default_factory=list)
    """(id, why) of the first that would be refused."""
    replays: Mapping[str, int] = field(default_factory=dict)
    """How often each was replayed before."""
    follows: dict[str, int | None] = field(default_factory=dict)
    """The version that each would follow."""

    def refuse(self, letter: RunView, why: str) -> None:
        self.refused += 1
        if len(self.reasons) < TOLD:
            self.reasons.append((letter.id, why))


async def rehearse(
    tx: Transaction, letters: Sequence[RunView], terms: ReplayOptions, check: ActionCheck
) -> ReplayEstimate:
    """Three questions, however many letters; nothing is written."""
    made = ReplayEstimate(len(letters), replays=await SqlRuns(tx).replays([one.id for one in letters]))
    repeating = await ReplayPlanner.of(tx, letters, terms, check, whole=True)
    plain = ReplayPlanner(ReplayOptions(terms.as_of), check, repeating.schedules, repeating.then)
    seen: set[bytes] = set()
    for letter in letters:
        if made.replays.get(letter.id, 0) >= MOST_REPLAYS:
            made.refuse(letter, f"was replayed {MOST_REPLAYS} times, and never with success")
            continue
        try:
            course = repeating.course(letter)
        except FoliotError as refused:
            made.refuse(letter, str(refused))
            continue
        config = repeating.config(course)
        made.hosts.update(dict.fromkeys(_hosts(letter, config)))
        made.follows[letter.id] = course.version
        unedited = plain.config(plain.course(letter))
        made.changed += unedited != repeating.config(as_it_was(letter))
        made.edited += config != unedited
        if course.stays is not None:
            made.stay[course.stays] = made.stay.get(course.stays, 0) + 1
        alike = _alike(course, config)
        made.duplicates += alike in seen
        seen.add(alike)
    return made


def _alike(course: ReplayPlan, config: Mapping[str, Any]) -> bytes:
    """The same for two that would do the same; one without a payload is like no other."""
    what: object = config or course.old.id
    return orjson.dumps([course.old.kind, what], option=orjson.OPT_SORT_KEYS)


def _hosts(letter: RunView, config: Mapping[str, Any]) -> Iterator[str]:
    """Where it would go, by what it would be told; where that says nothing, by what its failure named."""
    urls = config.get("start_urls")
    told = [config.get("url", ""), *(urls if isinstance(urls, list) else ())]
    named = [host for url in told if (host := host_in(str(url)))]
    found = host_of(letter.error)
    yield from named or ([found] if found else [])
