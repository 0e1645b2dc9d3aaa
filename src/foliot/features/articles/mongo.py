"""Writes articles, jobs and items to MongoDB, each as a whole document, and the position of the copy."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import structlog
from bson import encode
from bson.errors import BSONError
from pymongo import AsyncMongoClient, ReplaceOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, ConfigurationError, OperationFailure, PyMongoError, WriteError
from pymongo.monitoring import (
    ServerHeartbeatFailedEvent,
    ServerHeartbeatListener,
    ServerHeartbeatStartedEvent,
    ServerHeartbeatSucceededEvent,
)

from foliot.core.errors import Invalid, Unavailable
from foliot.features.articles.model import ArticleView

COLLECTION = "articles"
MARKS = "foliot_marks"
MARK, JOBS = "articles", "jobs"
SAME = ("user_id", "spider", "start_urls", "depth", "params")
"""Fields that make two requests for a crawl equal."""
PATIENCE = 5_000
"""Server selection timeout in milliseconds."""
ANSWER = 15_000
"""Socket timeout in milliseconds."""
LARGEST = 16 * 1024 * 1024
"""Maximum bytes of a document: the server refuses a larger one, and with it the whole batch."""
SHORT = LARGEST // 8
"""A text of fewer characters cannot make a document too large, whatever they are."""
_VALIDATORS = frozenset({"etag", "last_modified"})
_UNWRITABLE = (WriteError, BSONError, UnicodeError, OverflowError)
"""Errors of a single document; others of the batch can be written."""

Collection = AsyncCollection[dict[str, Any]]

log = structlog.get_logger("foliot.pipelines")


class SinkUnavailable(Unavailable):
    """MongoDB cannot be written to now; the copy continues later."""


class Heartbeats(ServerHeartbeatListener):
    """The heartbeats of a client that are under way, so that it is closed between two of them.

    The driver's `close()` cancels its monitor, and a heartbeat that is cancelled while it connects leaves its socket
    open.
    """

    MODE = "poll"
    """Each heartbeat ends by itself; a streamed one lasts until the next, and connects a second time for its timing."""

    def __init__(self) -> None:
        self._running = 0
        self._none = asyncio.Event()
        self._none.set()

    def started(self, event: ServerHeartbeatStartedEvent) -> None:
        self._running += 1
        self._none.clear()

    def succeeded(self, event: ServerHeartbeatSucceededEvent) -> None:
        self._ended()

    def failed(self, event: ServerHeartbeatFailedEvent) -> None:
        self._ended()

    def _ended(self) -> None:
        self._running -= 1
        if not self._running:
            self._none.set()

    async def close(self, client: AsyncMongoClient[dict[str, Any]], patience: float) -> None:
        """Close the client when no heartbeat is under way; the patience in seconds exceeds the time of a connect."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._none.wait(), patience)
        await client.close()


class MongoArticles:
    """The collection `articles` of one database."""

    def __init__(self, uri: str, database: str) -> None:
        self._heartbeats = Heartbeats()
        try:
            self._client: AsyncMongoClient[dict[str, Any]] = AsyncMongoClient(
                uri,
                appname="foliot",
                tz_aware=True,
                serverSelectionTimeoutMS=PATIENCE,
                connectTimeoutMS=PATIENCE,
                socketTimeoutMS=ANSWER,
                serverMonitoringMode=Heartbeats.MODE,
                event_listeners=[self._heartbeats],
            )
        except (ConfigurationError, ValueError) as wrong:
            # The driver's message about a wrong URL names the rule, and no password.
            raise Invalid("MONGO_URI", f"cannot be used by the driver of MongoDB ({wrong})") from None
        self.database = self._client[database]
        self._articles = self.database[COLLECTION]
        self.marks = self.database[MARKS]

    async def mark(self) -> datetime | None:
        """Everything that changed before this moment has been copied; None before the first copy."""
        return await _mark(self.marks, MARK)

    async def remember(self, at: datetime) -> None:
        await _remember(self.marks, MARK, at)

    async def write(self, views: Sequence[ArticleView]) -> int:
        """Replaces the documents; returns how many could not be written, which are not retried."""
        return await replace_all(self._articles, [document(view) for view in views])

    async def check(self) -> None:
        """`SinkUnavailable` when the server does not answer or refuses the credentials."""
        try:
            await self.database.command("ping")
            await self.marks.find_one({"_id": MARK})
        except PyMongoError as error:
            raise _away(error) from None

    async def close(self) -> None:
        await self._heartbeats.close(self._client, PATIENCE / 1000 + 1)


class MongoJobs:
    """The collections `jobs` and `items` of the same database."""

    def __init__(self, articles: MongoArticles) -> None:
        self._marks = articles.marks
        self._jobs = articles.database["jobs"]
        self._items = articles.database["items"]
        self._indexed = False

    async def mark(self) -> datetime | None:
        return await _mark(self._marks, JOBS)

    async def remember(self, at: datetime) -> None:
        await _remember(self._marks, JOBS, at)

    async def write_jobs(self, documents: Sequence[Mapping[str, Any]]) -> int:
        if not self._indexed:
            await self._index()
        return await replace_all(self._jobs, documents)

    async def write_items(self, documents: Sequence[Mapping[str, Any]]) -> int:
        return await replace_all(self._items, documents)

    async def _index(self) -> None:
        """Indexes on the fields of equal crawl requests and on the job of items; not fatal where the server refuses."""
        self._indexed = True
        try:
            await self._jobs.create_index([(name, 1) for name in SAME])
            await self._items.create_index([("job_id", 1), ("number", 1)])
        except OperationFailure as refused:
            log.warning("MongoDB could not create an index", action="sink_index", error=str(refused)[:300])
        except PyMongoError as error:
            self._indexed = False
            raise _away(error) from None


async def _mark(marks: Collection, name: str) -> datetime | None:
    try:
        found = await marks.find_one({"_id": name})
    except PyMongoError as error:
        raise _away(error) from None
    at = None if found is None else found.get("at")
    return at if isinstance(at, datetime) else None


async def _remember(marks: Collection, name: str, at: datetime) -> None:
    try:
        await marks.replace_one({"_id": name}, {"_id": name, "at": at}, upsert=True)
    except PyMongoError as error:
        raise _away(error) from None


async def replace_all(collection: Collection, whole: Sequence[Mapping[str, Any]]) -> int:
    """Replaces each document by its id; returns how many could not be written."""
    made = [dict(one) for one in whole if _fits(one)]
    return len(whole) - len(made) + (await _write(collection, made) if made else 0)


async def _write(collection: Collection, made: Sequence[dict[str, Any]]) -> int:
    try:
        await collection.bulk_write([ReplaceOne({"_id": one["_id"]}, one, upsert=True) for one in made], ordered=False)
    except (BulkWriteError, *_UNWRITABLE):
        return await _one_by_one(collection, made)
    except PyMongoError as error:
        raise _away(error) from None
    return 0


async def _one_by_one(collection: Collection, made: Sequence[dict[str, Any]]) -> int:
    refused = 0
    for one in made:
        try:
            await collection.replace_one({"_id": one["_id"]}, one, upsert=True)
        except _UNWRITABLE as error:
            refused += 1
            _refuse(one, f"{type(error).__name__}: {error}"[:300])
        except PyMongoError as error:
            raise _away(error) from None
    return refused


def document(view: ArticleView) -> dict[str, Any]:
    """The MongoDB document of an article."""
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


def _fits(one: Mapping[str, Any]) -> bool:
    if "item" not in one and len(one.get("content") or "") <= SHORT:
        return True
    try:
        size = len(encode(one))
    except _UNWRITABLE as error:
        _refuse(one, f"{type(error).__name__}: {error}"[:300])
        return False
    if size > LARGEST:
        _refuse(one, f"it is {size:,} bytes; at most {LARGEST:,} are allowed")
    return size <= LARGEST


def _refuse(one: Mapping[str, Any], why: str) -> None:
    log.warning("MongoDB cannot store a document", action="sink_refused", document_id=one["_id"], error=why)


def _away(error: PyMongoError) -> SinkUnavailable:
    """An error without addresses: the driver's message names every server it tried."""
    if isinstance(error, OperationFailure):
        named = (error.details or {}).get("codeName") or error.code
        return SinkUnavailable(f"MongoDB refuses documents ({named})")
    return SinkUnavailable(f"MongoDB does not answer ({type(error).__name__})")
