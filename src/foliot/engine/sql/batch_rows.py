"""Keeps batches away from executors: a batch has no lane; `poll_at` says when its items are created."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foliot.core.ids import new_id
from foliot.engine.model.run import BATCH_CHECK, BATCH_KINDS, RunState
from foliot.engine.model.views import RunRequest

Columns = dict[str, list[Any]]


def without_lane(columns: Columns, kinds: Sequence[str]) -> Columns:
    """The columns of new or released runs; a batch that could be claimed waits for its items instead."""
    if BATCH_KINDS.isdisjoint(kinds):
        return columns
    waits = [kind in BATCH_KINDS and lane is not None for kind, lane in zip(kinds, columns["lane"], strict=True)]
    ready = columns["ready_at"]
    return columns | {
        "lane": [None if held else lane for held, lane in zip(waits, columns["lane"], strict=True)],
        "poll_at": [at if held else None for held, at in zip(waits, ready, strict=True)],
        "handle": [{} if held else None for held in waits],
    }


def born_parked(columns: Columns, requests: Sequence[RunRequest], now: datetime) -> Columns:
    """The columns of new runs; those whose items come with them have started, and are held by no process.

    Their first attempt begins with them: 1 is the event of their creation, 2 that of their start.
    """
    if not any(request.parked for request in requests):
        return columns
    parked = [request.parked for request in requests]

    def either(begun: Any, waiting: Sequence[Any]) -> list[Any]:
        return [begun if yes else other for yes, other in zip(parked, waiting, strict=True)]

    zero, one, nothing = [0] * len(parked), [1] * len(parked), [None] * len(parked)
    return columns | {
        "state": either(RunState.RUNNING.value, columns["state"]),
        "poll_at": either(now + BATCH_CHECK, columns.get("poll_at", nothing)),
        "epoch": either(1, zero),
        "attempt": either(1, zero),
        "token": [new_id("tok") if yes else None for yes in parked],
        "event_seq": either(2, one),
        "started_seq": either(2, nothing),
        "started_at": either(now, nothing),
        "attempt_at": either(now, nothing),
        "due_at": either(now, nothing),
    }
