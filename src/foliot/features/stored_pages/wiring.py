"""Builds the store of pages from the settings."""

from __future__ import annotations

from foliot.config.settings import Settings
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.stored_pages.bodies import BodyStore, LocalBodies, S3Bodies
from foliot.features.stored_pages.keeper import PageKeeper

PAGES = "pages"
"""Directory of large bodies, below FOLIOT_HOME."""


def build_keeper(settings: Settings, store: Database, clock: Clock) -> PageKeeper:
    """Large bodies are in S3 where FOLIOT_PAGES_URL names a bucket, else in files."""
    url = settings.pages_url
    bodies: BodyStore = LocalBodies(settings.home / PAGES) if url is None else S3Bodies(url, settings.pages_endpoint)
    return PageKeeper(store=store, clock=clock, bodies=bodies, quota=settings.pages_quota)
