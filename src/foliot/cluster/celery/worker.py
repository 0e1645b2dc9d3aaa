"""A Celery worker in a thread beside the event loop: passes each message to the loop and waits."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
from celery.worker import WorkController, state
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown

from foliot.cluster.celery.app import TASK, make_app, queue_of
from foliot.cluster.celery.message import MalformedMessage, opened
from foliot.cluster.celery.monitor import RunMonitor
from foliot.cluster.frames import Receive
from foliot.core.threads import WORK

THREADS = 4
"""Messages that are taken at once; runs take slots of the event loop, not threads."""
JOIN = 10.0

log = structlog.get_logger("foliot.cluster")


class CeleryIntake:
    """One for each process: Celery keeps the state of its worker in global variables."""

    def __init__(
        self,
        url: str,
        *,
        name: str,
        queues: Sequence[str],
        slots: int,
        ended: Callable[[], None] | None = None,
        registered: Sequence[str] = (),
    ) -> None:
        self.url = url
        self._name = name
        self._queues = list(queues)
        self._threads = min(THREADS, slots)
        self._ended = ended
        self._worker: WorkController | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Receive | None = None
        self._malformed = 0
        self._closing = False
        self.monitor = RunMonitor(registered, self._restart)

    def _restart(self) -> None:
        if self._ended is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._ended)

    async def open(self, receive: Receive) -> None:
        self._loop, self._receive = asyncio.get_running_loop(), receive
        self._thread = threading.Thread(target=self._work, name="foliot-celery", daemon=True)
        self._thread.start()

    async def follow(self, queues: Sequence[str]) -> None:
        new = [name for name in queues if name not in self._queues]
        self._queues += new
        worker = self._worker
        if worker is not None and worker.consumer is not None and new:
            worker.consumer.call_soon(self._consume, worker, new)

    async def close(self) -> None:
        self._closing = True
        thread = self._thread
        if thread is None:
            return
        state.should_stop = 0
        if self._worker is not None and self._worker.hub is not None:
            self._worker.hub.call_soon(lambda: None)
        await WORK.run(thread.join, JOIN)
        if thread.is_alive():
            log.warning("the Celery worker does not stop; abandoning it", action="celery_left")

    def report(self) -> Mapping[str, Any]:
        return {"malformed": self._malformed}

    def _work(self) -> None:
        """Celery's own loop, until it is asked to end. Signals are left to the process: this is not its main thread."""
        for noisy in ("celery", "kombu", "amqp"):
            logging.getLogger(noisy).setLevel(logging.WARNING)
        state.should_stop = state.should_terminate = None
        app = make_app(self.url, self._queues)
        # The result of a message says nothing about its runs, which have events of their own.
        app.task(self._run, name=TASK, shared=False, ignore_result=True, max_retries=0, send_events=False)
        app.finalize()
        # Celery's threads look a task up in the default app.
        app.set_default()
        try:
            self._worker = app.WorkController(
                app=app,
                hostname=self._name,
                pool_cls="threads",
                concurrency=self._threads,
                loglevel=logging.WARNING,
                without_gossip=True,
                without_mingle=True,
                ready_callback=self._ready,
            )
            self.monitor.attach(self._worker)
            if not self._closing:
                self._worker.start()
        except Exception:
            log.exception("the Celery worker ended", action="celery_ended")
        finally:
            if not self._closing and self._ended is not None and self._loop is not None:
                self._loop.call_soon_threadsafe(self._ended)

    def _ready(self, consumer: Any) -> None:
        """Also after reconnecting: queues that were added meanwhile are consumed again."""
        if self._worker is not None:
            self._consume(self._worker, self._queues)

    def _consume(self, worker: WorkController, queues: Sequence[str]) -> None:
        known = worker.app.amqp.queues
        for name in queues:
            if name not in known:
                known.select_add(queue_of(name, self.url))
            worker.consumer.add_task_queue(name)

    def _run(self, *arguments: Any, **named: Any) -> None:
        try:
            parcel = opened(arguments, named)
        except MalformedMessage as wrong:
            self._malformed += 1
            log.warning("a message that Foliot did not send", action="message_malformed", error=str(wrong))
            return
        assert self._receive is not None and self._loop is not None  # noqa: S101, PT018 -- set before the thread began
        receiving = asyncio.run_coroutine_threadsafe(_awaited(self._receive, parcel), self._loop)
        receiving.result()


async def _awaited(receive: Receive, parcel: Any) -> None:
    await receive(parcel)


FIRST, STEP, LONGEST = 0.2, 0.5, 2.0


class PatientConsumer(Consumer):  # type: ignore[misc]
    """Retries for ever, and logs it now and then."""

    def ensure_connected(self, conn: Any) -> Any:
        tries = 0

        def failed(error: Exception, _interval: float) -> None:
            nonlocal tries
            tries += 1
            if tries & (tries - 1) == 0:
                log.warning(
                    "the broker does not answer",
                    action="broker_away",
                    broker=conn.as_uri(),
                    error=str(error),
                    tries=tries,
                )

        connected = conn.ensure_connection(
            failed, None, interval_start=FIRST, interval_step=STEP, interval_max=LONGEST, callback=maybe_shutdown
        )
        if tries:
            log.info("the broker answers again", action="broker_back", broker=conn.as_uri(), tries=tries)
        self.first_connection_attempt = False
        self.broker_connection_retry_attempt = 0
        return connected
