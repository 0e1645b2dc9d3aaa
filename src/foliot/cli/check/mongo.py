"""Checks the connection to MongoDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.cli.check.finding import Finding

if TYPE_CHECKING:
    from foliot.config.settings import Settings

KEY = "FOLIOT_MONGO_URI"


async def check(settings: Settings) -> list[Finding]:
    """Whether MongoDB answers. Foliot starts without it, and copies later what it missed."""
    if settings.mongo_uri is None:
        return []
    from foliot.core.errors import Invalid
    from foliot.features.articles.mongo import MongoArticles, SinkUnavailable

    try:
        sink = MongoArticles(settings.mongo_uri.reveal(), settings.mongo_db_name)
    except Invalid as wrong:
        return [Finding("error", KEY, wrong.message)]
    try:
        await sink.check()
    except SinkUnavailable as away:
        return [Finding("error", KEY, f"must be reachable, got {away.told}")]
    finally:
        await sink.close()
    return [
        Finding("ok", KEY, f"answers; jobs, articles and items are copied to the database {settings.mongo_db_name}")
    ]
