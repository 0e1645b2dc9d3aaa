"""The app for Celery's own tools: `celery -A foliot.celery inspect active`, Flower. Settings name the broker."""

from __future__ import annotations

import os

from foliot.domain.queue import KNOWN_QUEUES
from foliot.settings import Settings
from foliot.workers.celery import monitor
from foliot.workers.celery.app import BrokerApp, make_app

__all__ = ["app"]


def _app() -> BrokerApp:
    settings = Settings.load(os.environ)
    if settings.broker_url is None:
        raise SystemExit("foliot.celery: there is no broker to ask: set CELERY_BROKER_URL (or FOLIOT_BROKER_URL)")
    made = make_app(settings.broker_url.reveal(), KNOWN_QUEUES)
    # Celery's command line offers what is registered here.
    assert monitor.PANEL.data  # noqa: S101 -- imported for that
    return made


app = _app()
