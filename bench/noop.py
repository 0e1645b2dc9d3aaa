"""A Foliot whose only action does nothing: the real engine, wired as `bootstrap` wires it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.engine.embedded_workers import EmbeddedWorkers
from foliot.engine.engine import Engine
from foliot.engine.executor import Executor
from foliot.engine.loop import EnginePace
from foliot.engine.model.run import Outcome, Succeeded
from foliot.engine.ports import Action, ActionContext
from foliot.wakeups.feed import MemoryFeed

KIND = "webhook"


class Noop:
    """Answers at once; tells whoever wants to know that a run has started."""

    kind = KIND
    timeout = timedelta(seconds=60)

    def __init__(self, started: Callable[[ActionContext], None] | None = None) -> None:
        self.started = started

    def check(self, config: Mapping[str, Any]) -> dict[str, Any]:
        return dict(config)

    async def perform(self, ctx: ActionContext) -> Outcome:
        if self.started is not None:
            self.started(ctx)
        return Succeeded({"ok": True})


@dataclass(frozen=True, slots=True)
class OneAction:
    """A registry that knows one action."""

    action: Action

    def get(self, kind: str) -> Action | None:
        return self.action if kind == self.action.kind else None

    def kinds(self) -> Sequence[str]:
        return [self.action.kind]


def noop_engine(store: Database, clock: StoreClock, feed: MemoryFeed, action: Noop, slots: int) -> Engine:
    """An engine with embedded workers. Only warnings are logged, as a service under load would have it."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))

    def workers(executor: Executor) -> EmbeddedWorkers:
        return EmbeddedWorkers(executor, slots)

    return Engine(
        node_id="bench",
        clock=clock,
        store=store,
        feed=feed,
        actions=OneAction(action),
        pace=EnginePace(),
        workers_of=workers,
    )
