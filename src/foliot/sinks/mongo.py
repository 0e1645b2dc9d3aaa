"""Writes articles to MongoDB, each as a whole document; remembers there how far it came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog
from bson import encode
from bson.errors import BSONError
from pymongo import AsyncMongoClient, ReplaceOne
from pymongo.errors import BulkWriteError, ConfigurationError, OperationFailure, PyMongoError, WriteError

from foliot.domain.errors import Invalid, Unavailable
from foliot.ports.articles import ArticleView

COLLECTION = "articles"
MARKS = "foliot_marks"
MARK = "articles"
PATIENCE = 5_000
"""Milliseconds for which a server is looked for."""
ANSWER = 15_000
"""And for which it may take its time."""
LARGEST = 16 * 1024 * 1024
"""Bytes of a document: more is refused by the server, and with it everything that came along."""
SHORT = LARGEST // 8
"""Characters of a text that cannot make a document too large, whatever they are."""
_VALIDATORS = frozenset({"etag", "last_modified"})
_UNWRITABLE = (WriteError, BSONError, UnicodeError, OverflowError)
"""This document cannot be written, and others can."""

log = structlog.get_logger("foliot.sinks")


class SinkAway(Unavailable):
    """The sink takes nothing now; what it should take waits."""


class MongoArticles:
    """The collection `articles` of one database."""

    def __init__(self, uri: str, database: str) -> None:
        try:
            self._client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
                uri,
                appname="foliot",
                tz_aware=True,
                serverSelectionTimeoutMS=PATIENCE,
                connectTimeoutMS=PATIENCE,
                socketTimeoutMS=ANSWER,
            )
        except (ConfigurationError, ValueError) as wrong:
            # What it says of a wrong URL names the rule, and no password.
            raise Invalid("MONGO_URI", f"cannot be used by the driver of MongoDB ({wrong})") from None
        self._articles = self._client[database][COLLECTION]
        self._marks = self._client[database][MARKS]

    async def mark(self) -> datetime | None:
        """Everything that changed before this moment is here; None when nobody has been here yet."""
        try:
            found = await self._marks.find_one({"_id": MARK})
        except PyMongoError as error:
            raise _away(error) from None
        at = None if found is None else found.get("at")
        return at if isinstance(at, datetime) else None

    async def remember(self, at: datetime) -> None:
        try:
            await self._marks.replace_one({"_id": MARK}, {"_id": MARK, "at": at}, upsert=True)
        except PyMongoError as error:
            raise _away(error) from None

    async def write(self, views: Sequence[ArticleView]) -> int:
        """Replace what is there; says how many could not be written, which nobody tries again."""
        whole = [document(view) for view in views]
        made = [one for one in whole if _fits(one)]
        return len(whole) - len(made) + (await self._write(made) if made else 0)

    async def _write(self, made: Sequence[dict[str, Any]]) -> int:
        try:
            await self._articles.bulk_write(
                [ReplaceOne({"_id": one["_id"]}, one, upsert=True) for one in made], ordered=False
            )
        except (BulkWriteError, *_UNWRITABLE):
            return await self._one_by_one(made)
        except PyMongoError as error:
            raise _away(error) from None
        return 0

    async def _one_by_one(self, made: Sequence[dict[str, Any]]) -> int:
        refused = 0
        for one in made:
            try:
                await self._articles.replace_one({"_id": one["_id"]}, one, upsert=True)
            except _UNWRITABLE as error:
                refused += 1
                _refuse(one, f"{type(error).__name__}: {error}"[:300])
            except PyMongoError as error:
                raise _away(error) from None
        return refused

    async def close(self) -> None:
        await self._client.close()


def document(view: ArticleView) -> dict[str, Any]:
    """An article as it is kept there."""
    page = {name: value for name, value in asdict(view.page).items() if name not in _VALIDATORS}
    return {
        "_id": view.id,
        "tenant_id": view.tenant_id,
        "url": view.url,
        "host": view.host,
        **page,
        "status": "SCRAPED",
        "reference_count": view.reference_count,
        "retry_count": view.retry_count,
        "scraped_at": view.scraped_at,
        "created_at": view.created_at,
        "updated_at": view.updated_at,
    }


def _fits(one: dict[str, Any]) -> bool:
    if len(one["content"] or "") <= SHORT:
        return True
    try:
        size = len(encode(one))
    except _UNWRITABLE as error:
        _refuse(one, f"{type(error).__name__}: {error}"[:300])
        return False
    if size > LARGEST:
        _refuse(one, f"it has {size:,} bytes; {LARGEST:,} are the most")
    return size <= LARGEST


def _refuse(one: dict[str, Any], why: str) -> None:
    log.warning("MongoDB cannot hold an article", action="sink_refused", article_id=one["_id"], error=why)


def _away(error: PyMongoError) -> SinkAway:
    """In words without an address: those of the driver name every server it tried."""
    if isinstance(error, OperationFailure):
        named = (error.details or {}).get("codeName") or error.code
        return SinkAway(f"MongoDB refuses to take articles ({named})")
    return SinkAway(f"MongoDB does not answer ({type(error).__name__})")
