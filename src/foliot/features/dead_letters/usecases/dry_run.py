"""Dry run of a replay: which hosts it reaches, which settings it follows, duplicates, and refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from foliot.core.errors import FoliotError
from foliot.core.failure_fingerprint import host_in, host_of
from foliot.db.database import Transaction
from foliot.engine.model.views import RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.dead_letters.model import MOST_REPLAYS
from foliot.features.runs.model.replay import ReplayOptions
from foliot.features.runs.usecases.replay import ReplayPlan, ReplayPlanner, as_it_was
from foliot.features.schedules.model.document import ActionCheck

LISTED = 5
"""Refusals that are listed, with their reasons."""


@dataclass(slots=True)
class ReplayEstimate:
    """What replaying these dead letters would do."""

    looked_at: int
    hosts: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    """How many would do exactly what another of them does."""
    changed: int = 0
    """How many would do something else than they did then, because their schedule has changed."""
    stay: dict[str, int] = field(default_factory=dict)
    """Why some would follow their old settings, though the present ones were asked for; how many each."""
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
        if len(self.reasons) < LISTED:
            self.reasons.append((letter.id, why))


async def rehearse(
    tx: Transaction, letters: Sequence[RunView], terms: ReplayOptions, check: ActionCheck
) -> ReplayEstimate:
    """Three queries, however many dead letters; nothing is written."""
    estimate = ReplayEstimate(len(letters), replays=await SqlRuns(tx).replays([one.id for one in letters]))
    repeating = await ReplayPlanner.of(tx, letters, terms, check, whole=True)
    plain = ReplayPlanner(ReplayOptions(terms.as_of), check, repeating.schedules, repeating.then)
    seen: set[bytes] = set()
    for letter in letters:
        if estimate.replays.get(letter.id, 0) >= MOST_REPLAYS:
            estimate.refuse(letter, f"was replayed {MOST_REPLAYS} times, and never with success")
            continue
        try:
            course = repeating.course(letter)
        except FoliotError as refused:
            estimate.refuse(letter, str(refused))
            continue
        config = repeating.config(course)
        estimate.hosts.update(dict.fromkeys(_hosts(letter, config)))
        estimate.follows[letter.id] = course.version
        unedited = plain.config(plain.course(letter))
        estimate.changed += unedited != repeating.config(as_it_was(letter))
        estimate.edited += config != unedited
        if course.stays is not None:
            estimate.stay[course.stays] = estimate.stay.get(course.stays, 0) + 1
        alike = _alike(course, config)
        estimate.duplicates += alike in seen
        seen.add(alike)
    return estimate


def _alike(course: ReplayPlan, config: Mapping[str, Any]) -> bytes:
    """Equal for two that would do the same; one without a payload equals no other."""
    what: object = config or course.old.id
    return orjson.dumps([course.old.kind, what], option=orjson.OPT_SORT_KEYS)


def _hosts(letter: RunView, config: Mapping[str, Any]) -> Iterator[str]:
    """The hosts of its action; if that names none, those that its error names."""
    urls = config.get("start_urls")
    targets = [config.get("url", ""), *(urls if isinstance(urls, list) else ())]
    named = [host for url in targets if (host := host_in(str(url)))]
    failed = host_of(letter.error)
    yield from named or ([failed] if failed else [])
