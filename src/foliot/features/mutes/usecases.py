"""Groups of dead letters that somebody wants to hear nothing of for a while."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.commands.idempotency import EACH_TIME, Once
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.db.transaction import Transaction
from foliot.features.audit_log.usecases import Change, record
from foliot.features.mutes.model import Mute, read_mute
from foliot.features.mutes.sql import SqlMutes
from foliot.wakeups.feed import RUNS_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutes:
    """Mute, unmute. A muted group keeps its letters, and gets those that come; it comes back by itself."""

    store: Database
    clock: Clock
    feed: Feed

    @again
    async def mute(self, caller: Caller, fingerprint: str, raw: object = None, once: Once = EACH_TIME) -> Mute:
        """For so many hours from now, whatever was said before."""
        demand(caller, Verb.WRITE, Thing.DEAD_LETTER)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            mute = read_mute(raw, fingerprint, caller.user_id, now)
            await once.begin(tx, caller, now)
            old = await _standing(tx, caller, fingerprint, self.clock)
            await SqlMutes(tx).put(caller.tenant_id, mute)
            await record(tx, caller, now, Change("mute", Thing.DEAD_LETTER, fingerprint, _told(old), _told(mute)))
            await once.keep(tx, caller, mute)
        self.feed.wake(RUNS_TOPIC)
        return mute

    @again
    async def unmute(self, caller: Caller, fingerprint: str, once: Once = EACH_TIME) -> None:
        """Before its time. Unmuting what is not muted changes nothing."""
        demand(caller, Verb.WRITE, Thing.DEAD_LETTER)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            old = await _standing(tx, caller, fingerprint, self.clock)
            if old is not None:
                await SqlMutes(tx).drop(caller.tenant_id, fingerprint)
                await record(tx, caller, now, Change("unmute", Thing.DEAD_LETTER, fingerprint, _told(old)))
            await once.keep(tx, caller, fingerprint)
        self.feed.wake(RUNS_TOPIC)


async def _standing(tx: Transaction, caller: Caller, fingerprint: str, clock: Clock) -> Mute | None:
    """The mute that holds; a group that the caller's tenant does not have is unknown."""
    found = (await SqlMutes(tx).standing(caller.tenant_id, clock.now())).get(fingerprint)
    if found is None and not await SqlMutes(tx).known(caller.tenant_id, fingerprint):
        raise NotFound("group of dead letters", fingerprint)
    return found


def _told(mute: Mute | None) -> dict[str, object] | None:
    return None if mute is None else {"until": rfc3339(mute.until), "reason": mute.reason, "by": mute.user_id}
