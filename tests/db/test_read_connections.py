"""Reads of a SQLite file share its connections so that few of them fill their page caches."""

from __future__ import annotations

from typing import Any

from foliot.db.database import Database, Transaction


async def connection_of(tx: Transaction) -> Any:
    """The driver's connection, which has a thread and a page cache of its own."""
    return (await tx.conn.get_raw_connection()).driver_connection


async def test_reads_one_after_the_other_use_the_same_connection(sqlite_database_url: str) -> None:
    store = Database(sqlite_database_url)
    try:
        async with store.read() as one, store.read() as other:
            opened = [await connection_of(one), await connection_of(other)]
        used = []
        for _ in range(4):
            async with store.read() as tx:
                used.append(await connection_of(tx))
    finally:
        await store.close()

    assert opened[0] is not opened[1]
    assert len({id(each) for each in used}) == 1
