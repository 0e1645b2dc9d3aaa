"""Sends tasks by name to another application's broker, and reads their states from its result backend. Blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from celery import Celery
from celery.exceptions import ImproperlyConfigured
from kombu.exceptions import KombuError, OperationalError
from redis import Redis
from redis.exceptions import RedisError

from foliot.core.errors import Unavailable

KEY = "celery-task-meta-"
PENDING, FAILURE, UNREADABLE = "PENDING", "FAILURE", "UNREADABLE"
PATIENCE = 5.0
"""Seconds for each connection and answer."""
_BROKEN = (OSError, KombuError, OperationalError, RedisError, ImproperlyConfigured)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMessage:
    """One task as it is sent. The id makes a second delivery recognisable."""

    task_id: str
    task: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    queue: str | None = None
    priority: int | None = None
    expires_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class TaskState:
    """What the result backend says of a task: `PENDING` is also one that it does not know."""

    state: str
    result: Any = None
    """The result of a success, the name and message of the exception of a failure."""


def send(broker: str, message: TaskMessage) -> None:
    """Put the task on its queue; `Unavailable` when the broker does not take it."""
    app = _app(broker)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
            app.send_task(
                message.task,
                args=list(message.args),
                kwargs=dict(message.kwargs),
                task_id=message.task_id,
                queue=message.queue,
                priority=message.priority,
                expires=message.expires_seconds,
                connection=connection,
                retry=False,
                ignore_result=False,
            )
    except _BROKEN as broken:
        raise Unavailable(f"the broker does not take the task ({_why(broken)})") from None
    finally:
        app.close()


def states(backend: str, task_ids: Sequence[str]) -> dict[str, TaskState]:
    """The state of each task in one round trip; `Unavailable` when the backend does not answer.

    Read as JSON and not by Celery, which makes exceptions of what is stored.
    """
    try:
        with Redis.from_url(backend, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE) as redis:
            stored = redis.mget([f"{KEY}{task_id}" for task_id in task_ids])
        return {task_id: _state(raw) for task_id, raw in zip(task_ids, stored, strict=True)}
    except _BROKEN as broken:
        raise Unavailable(f"the result backend does not answer ({_why(broken)})") from None


def _state(raw: bytes | None) -> TaskState:
    try:
        meta = {} if raw is None else orjson.loads(raw)
    except orjson.JSONDecodeError:
        return TaskState(UNREADABLE, "its result is not JSON: set result_serializer of the application to json")
    if not isinstance(meta, dict):
        return TaskState(PENDING)
    result = meta.get("result")
    if meta.get("status") == FAILURE and isinstance(result, dict):
        message = result.get("exc_message")
        said = ", ".join(map(str, message)) if isinstance(message, list) else str(message)
        result = f"{result.get('exc_type')}: {said}"
    return TaskState(str(meta.get("status", PENDING)), result)


def revoke(broker: str, task_id: str) -> None:
    """Ask the workers to drop the task, or to end it."""
    app = _app(broker)
    try:
        with app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=PATIENCE)
            app.control.revoke(task_id, terminate=True, connection=connection)
    except _BROKEN as broken:
        raise Unavailable(f"the broker does not take the task ({_why(broken)})") from None
    finally:
        app.close()


def _app(broker: str) -> Celery:
    app = Celery("foliot.tasks", broker=broker, backend="disabled://", set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        broker_connection_timeout=PATIENCE,
        broker_transport_options={"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE},
    )
    return app


def _why(broken: BaseException) -> str:
    return f"{type(broken).__name__}: {broken}"[:300]
