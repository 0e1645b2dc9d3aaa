"""MongoDB sink: writes items of pipelines to a collection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bson.errors import BSONError
from pymongo import AsyncMongoClient, InsertOne, ReplaceOne
from pymongo.asynchronous.collection import AsyncCollection
from pymongo.errors import BulkWriteError, ConfigurationError, InvalidURI, OperationFailure, PyMongoError, WriteError

from foliot.core.errors import Invalid, Unavailable
from foliot.features.articles.mongo import Heartbeats
from foliot.features.pipelines.model import RowTarget

DATABASE = "foliot"
PATIENCE = 5_000
"""Server selection timeout in milliseconds."""
ANSWER = 30_000
"""Socket timeout in milliseconds."""
_UNWRITABLE = (WriteError, BSONError, UnicodeError, OverflowError)
"""Errors of a single document; others of the batch can be written."""

Document = dict[str, Any]


class MongoSinkDatabase:
    """Connects to the MongoDB that a step names, with one client per run."""

    @asynccontextmanager
    async def open(self, into: RowTarget) -> AsyncIterator[MongoRowWriter]:
        heartbeats = Heartbeats()
        try:
            client: AsyncMongoClient[Document] = AsyncMongoClient(
                into.url,
                appname="foliot",
                tz_aware=True,
                serverSelectionTimeoutMS=PATIENCE,
                connectTimeoutMS=PATIENCE,
                socketTimeoutMS=ANSWER,
                serverMonitoringMode=Heartbeats.MODE,
                event_listeners=[heartbeats],
            )
            database = client.get_default_database(DATABASE) if into.database is None else client[into.database]
        except (ConfigurationError, InvalidURI, PyMongoError, ValueError) as wrong:
            # The driver's message about a wrong URI names the rule, and no password.
            raise Invalid("uri", f"cannot be used by the driver of MongoDB ({wrong})"[:300]) from None
        try:
            yield MongoRowWriter(database[into.name], into.key)
        finally:
            await heartbeats.close(client, PATIENCE / 1000 + 1)


class MongoRowWriter:
    """Inserts or upserts documents in one collection."""

    def __init__(self, collection: AsyncCollection[Document], key: Sequence[str]) -> None:
        self._collection = collection
        self._key = key

    async def put(self, items: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
        refused: dict[int, str] = {}
        writes: list[tuple[int, InsertOne[Document] | ReplaceOne[Document]]] = []
        for at, item in enumerate(items):
            if missing := [name for name in self._key if item.get(name) is None]:
                refused[at] = f"it has no {missing[0]!r}, which is part of the key"
            elif odd := [name for name in self._key if isinstance(item[name], Mapping | list | tuple)]:
                # In a filter such a value would be a query operator, and match other documents.
                refused[at] = f"its {odd[0]!r} is part of the key, and not a single value"
            elif odd := [str(name) for name in item if str(name).startswith("$")]:
                refused[at] = f"its field {odd[0][:100]!r} begins with $, which MongoDB reserves"
            else:
                writes.append((at, self._write(dict(item))))
        if writes:
            refused |= await self._all(writes)
        return refused

    def _write(self, item: Document) -> InsertOne[Document] | ReplaceOne[Document]:
        if not self._key:
            return InsertOne(item)
        return ReplaceOne({name: item[name] for name in self._key}, item, upsert=True)

    async def _all(self, writes: Sequence[tuple[int, InsertOne[Document] | ReplaceOne[Document]]]) -> dict[int, str]:
        try:
            await self._collection.bulk_write([write for _, write in writes], ordered=False)
        except BulkWriteError as error:
            wrong = error.details.get("writeErrors", [])
            if not wrong:
                raise Unavailable("MongoDB did not confirm what was written") from None
            return {writes[one["index"]][0]: str(one.get("errmsg", "refused"))[:200] for one in wrong}
        except _UNWRITABLE:
            return await self._one_by_one(writes)
        except PyMongoError as error:
            raise _away(error) from None
        return {}

    async def _one_by_one(
        self, writes: Sequence[tuple[int, InsertOne[Document] | ReplaceOne[Document]]]
    ) -> dict[int, str]:
        refused: dict[int, str] = {}
        for at, write in writes:
            try:
                await self._collection.bulk_write([write])
            except (BulkWriteError, *_UNWRITABLE) as error:
                refused[at] = f"{type(error).__name__}: {error}"[:200]
            except PyMongoError as error:
                raise _away(error) from None
        return refused


def _away(error: PyMongoError) -> Unavailable:
    """An error without addresses: the driver's message names every server it tried."""
    if isinstance(error, OperationFailure):
        named = (error.details or {}).get("codeName") or error.code
        return Unavailable(f"MongoDB refuses items ({named})")
    return Unavailable(f"MongoDB does not answer ({type(error).__name__})")
