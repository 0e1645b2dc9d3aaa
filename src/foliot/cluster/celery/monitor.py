"""Runs as Celery's tools see them: task events, and answers to `celery inspect` and `control`."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from celery.worker.control import Panel, control_command, inspect_command, ok
from celery.worker.control import active as parcels_active
from celery.worker.control import pool_restart as celery_pool_restart
from celery.worker.control import registered as parcels_registered

from foliot.cluster.frames import MonitoredTask, MonitoredTaskEnd

EVENTS = {
    "success": "task-succeeded",
    "partial": "task-succeeded",
    "degraded": "task-succeeded",
    "retrying": "task-retried",
    "queued": "task-retried",
    "failed": "task-failed",
    "dead_letter": "task-failed",
    "cancelled": "task-revoked",
}
"""Celery's name for each outcome of an attempt; a run that was handed back is retried elsewhere."""


MOST_NEWS = 10_000
"""Size of the event buffer for Celery's thread; beyond it, the oldest are dropped."""


class RunMonitor:
    """Passes events of runs from the event loop to Celery's thread, which has the connection to the broker."""

    def __init__(self, registered: Sequence[str] = (), restart: Callable[[], None] | None = None) -> None:
        self.registered = sorted(registered)
        self.restart = restart
        self._worker: Any = None
        self._active: dict[str, MonitoredTask] = {}
        self._lock = threading.Lock()
        self._news: deque[tuple[str, dict[str, Any]]] = deque(maxlen=MOST_NEWS)

    def attach(self, worker: Any) -> None:
        """The Celery worker of this process."""
        self._worker = worker
        worker.app.foliot_monitor = self

    def began(self, run: MonitoredTask) -> None:
        with self._lock:
            self._active[run.run_id] = run
        about = {"args": "()", "kwargs": "{}", "retries": run.attempt - 1, "eta": None, "expires": None}
        self._send("task-received", run.run_id, run.started_at, name=run.name, **about)
        self._send("task-started", run.run_id, run.started_at)

    def left(self, run_id: str) -> None:
        """It is no longer in this process: it has ended, is parked, or was lost."""
        with self._lock:
            self._active.pop(run_id, None)

    def ended(self, run: MonitoredTask, ending: MonitoredTaskEnd) -> None:
        took = (ending.at - run.started_at).total_seconds()
        error = ending.error or {}
        message = f"{error.get('code', 'failed')}: {error.get('message', '')}"
        event = EVENTS[ending.state]
        match event:
            case "task-succeeded":
                about: dict[str, Any] = {"result": repr(ending.result)[:1000], "runtime": took}
            case "task-revoked":
                about = {"terminated": True, "signum": None, "expired": False}
            case _:
                about = {"exception": message[:1000], "traceback": ""}
        self._send(event, run.run_id, ending.at, **about)

    def active(self) -> list[dict[str, Any]]:
        """What runs in this process now, as `celery inspect active` shows it."""
        with self._lock:
            found = list(self._active.values())
        return [
            {
                "id": one.run_id,
                "name": one.name,
                "args": [],
                "kwargs": {},
                "type": one.name,
                "hostname": None if self._worker is None else self._worker.hostname,
                "time_start": one.started_at.timestamp(),
                "acknowledged": True,
                "delivery_info": {"exchange": "", "routing_key": one.queue, "priority": None, "redelivered": False},
                "worker_pid": None,
            }
            for one in found
        ]

    def _send(self, kind: str, run_id: str, at: datetime, **about: Any) -> None:
        consumer: Any = None if self._worker is None else self._worker.consumer
        events: Any = None if consumer is None else consumer.event_dispatcher
        if consumer is None or events is None or not events.enabled or (events.groups and "task" not in events.groups):
            return
        fields = {"uuid": run_id, "timestamp": at.timestamp(), **about}
        # Celery's connection belongs to its thread, whose loop keeps no order: the order is kept here.
        self._news.append((kind, fields))
        consumer.call_soon(self._dispatch, consumer)

    def _dispatch(self, consumer: Any) -> None:
        """A monitor may miss an event; the rows are authoritative."""
        while self._news:
            kind, fields = self._news.popleft()
            if consumer.event_dispatcher is not None:
                consumer.event_dispatcher.send(kind, **fields)


def _monitor(state: Any) -> RunMonitor | None:
    monitor = getattr(state.app, "foliot_monitor", None)
    return monitor if isinstance(monitor, RunMonitor) else None


@inspect_command(name="active", alias="dump_active")  # type: ignore[untyped-decorator]
def active(state: Any, safe: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 -- as Celery calls it
    """List of runs currently being executed."""
    monitor = _monitor(state)
    return parcels_active(state, safe=safe, **kwargs) if monitor is None else monitor.active()


@inspect_command(  # type: ignore[untyped-decorator]
    name="registered", alias="dump_tasks", variadic="taskinfoitems", signature="[attr1 [attr2 [... [attrN]]]]"
)
def registered(state: Any, taskinfoitems: Any = None, builtins: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 -- see above
    """List of the kinds of runs and the functions that can be run."""
    monitor = _monitor(state)
    if monitor is None or not monitor.registered:
        return parcels_registered(state, taskinfoitems, builtins, **kwargs)
    return monitor.registered


@control_command(name="pool_restart")  # type: ignore[untyped-decorator]
def pool_restart(state: Any, modules: Any = None, reload: bool = False, reloader: Any = None, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 -- see above
    """Finish what runs, and begin anew: the whole worker, as `foliot worker restart` does."""
    monitor = _monitor(state)
    if monitor is None or monitor.restart is None:
        return celery_pool_restart(state, modules, reload, reloader=reloader, **kwargs)
    monitor.restart()
    return ok("restarting when what runs has ended")


PANEL = Panel
"""Importing this module registers the commands above."""
