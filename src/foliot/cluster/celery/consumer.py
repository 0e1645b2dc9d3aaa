"""Celery's consumer, reconnecting to the broker within seconds instead of half a minute."""

from __future__ import annotations

from typing import Any

import structlog
from celery.worker.consumer import Consumer
from celery.worker.state import maybe_shutdown

FIRST, STEP, LONGEST = 0.2, 0.5, 2.0

log = structlog.get_logger("foliot.cluster")


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
