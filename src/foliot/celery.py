"""The app for Celery's own tools: `celery -A foliot.celery inspect active`, Flower. Settings name the broker."""

from __future__ import annotations

import os

from foliot.cluster.celery import monitor
from foliot.cluster.celery.app import BrokerApp, make_app
from foliot.config.settings import Settings
from foliot.core.queue_name import KNOWN_QUEUES

__all__ = ["app"]


def _app() -> BrokerApp:
    settings = Settings.load(os.environ)
    if settings.broker_url is None:
        raise SystemExit("foliot.celery: there is no broker to ask: set CELERY_BROKER_URL (or FOLIOT_BROKER_URL)")
    made = make_app(settings.broker_url.reveal(), KNOWN_QUEUES)
    # Celery's command line offers the commands that are registered here.
    assert monitor.PANEL.data  # noqa: S101 -- imported for that
    return made


app = _app()
