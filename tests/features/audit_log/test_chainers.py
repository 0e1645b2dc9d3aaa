"""Chainers in processes of their own, killed in mid-chain, on both servers: one chain per tenant, no gap, no fork."""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.core.access import LOCAL
from foliot.core.errors import Unavailable
from foliot.core.ids import ENTRY, new_id
from foliot.db.clock import StoreClock
from foliot.db.database import Database
from foliot.features.audit_log.actor import AuditChainer
from foliot.features.audit_log.chain import ChainVerifier
from foliot.testing import open_store
from tests.engine.racer import Dawdling, Notes
from tests.engine.test_races import Track
from tests.givens import NOON

TENANTS = ("a", "b", "c")
SECONDS = 4.0
PATIENCE = 20.0


def chain(url: str, path: str) -> None:
    """What one process does until it is killed."""
    asyncio.run(_chain(url, Notes.open(path)))


async def _chain(url: str, notes: Notes) -> None:
    chainer = AuditChainer(store=cast("Database", Dawdling(Database(url, pool=2))), period=0.005, batch=9)
    while True:
        try:
            did = await chainer.run_once()
        except Unavailable:
            continue
        except Exception as error:
            notes.write("error", type(error).__name__, *str(error).split()[:40])
            raise
        if did.entries:
            notes.write("chained", os.getpid(), did.entries)
        await asyncio.sleep(did.rest)


@pytest.fixture
def track(tmp_path: Path) -> Iterator[Track]:
    made = Track(tmp_path / "notes")
    try:
        yield made
    finally:
        made.close()


async def write(store: Database, tenant: str, until: float) -> int:
    count = 0
    while time.monotonic() < until:
        entries = [
            AuditEntry(
                id=new_id(ENTRY),
                tenant_id=tenant,
                at=NOON,
                user_id="ada",
                key_id=None,
                door="rest",
                verb="create",
                thing="schedule",
                thing_id=f"sch_{count}",
                was=None,
                became={"n": count},
            )
            for _ in range(random.randint(1, 4))
        ]
        async with store.begin() as tx:
            await SqlAuditLog(tx).add(entries)
            await asyncio.sleep(random.random() * 0.01)
        count += len(entries)
    return count


async def test_chainers_that_race_and_die_leave_one_sound_chain_each(server_database_url: str, track: Track) -> None:
    async with open_store(server_database_url) as store:
        names = [f"chainer-{number}" for number in range(4)]
        for name in names:
            track.enter(name, chain, server_database_url, str(track.notes))
        until = time.monotonic() + SECONDS
        writers = [asyncio.create_task(write(store, tenant, until)) for tenant in TENANTS for _ in range(2)]
        while time.monotonic() < until:
            await asyncio.sleep(0.5)
            track.kill(random.choice(names))
        written = sum(await asyncio.gather(*writers))

        proof = ChainVerifier(store=store, clock=StoreClock())
        deadline = time.monotonic() + PATIENCE
        while await proof.length(LOCAL) < written and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        seen = await proof.verify(LOCAL)

    lines = track.lines()
    assert track.crashed() == []
    assert seen.breaks == []
    assert (seen.tenants, seen.entries) == (len(TENANTS), written)
    assert written > 200
    # Several had a part in it, and several were cut off.
    assert len({line[1] for line in lines if line[0] == "chained"}) >= 3
    assert track.kills >= 3
