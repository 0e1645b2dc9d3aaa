"""Everything a person or program may ask; every door calls only this."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foliot.domain.ids import new_id
from foliot.ports import Actions, Clock, Feed, Store
from foliot.usecases.audit import Audit
from foliot.usecases.dead_letters import DeadLetters
from foliot.usecases.health import Wellbeing
from foliot.usecases.instants import Instants
from foliot.usecases.previews import Previews
from foliot.usecases.runs import Runs
from foliot.usecases.schedules import Schedules

__all__ = ["UseCases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """One of each, wired to the same store, clock and feed."""

    schedules: Schedules
    instants: Instants
    previews: Previews
    runs: Runs
    dead_letters: DeadLetters
    audit: Audit
    health: Wellbeing
    feed: Feed

    @classmethod
    def of(
        cls,
        store: Store,
        clock: Clock,
        feed: Feed,
        actions: Actions,
        *,
        default_zone: str = "UTC",
        disk: Callable[[], Mapping[str, Any]] | None = None,
    ) -> UseCases:
        return cls(
            schedules=Schedules(
                store=store, clock=clock, feed=feed, actions=actions, new_id=new_id, default_zone=default_zone
            ),
            instants=Instants(store=store, clock=clock),
            previews=Previews(clock=clock, default_zone=default_zone),
            runs=Runs(store=store, clock=clock, feed=feed, new_id=new_id),
            dead_letters=DeadLetters(store=store, clock=clock, feed=feed, new_id=new_id),
            audit=Audit(store=store),
            health=Wellbeing(store=store, clock=clock, disk=disk),
            feed=feed,
        )
