"""Groups of dead letters that somebody wants to hear nothing of for a while."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.domain.access import Caller, Thing, Verb, demand
from foliot.domain.errors import NotFound
from foliot.domain.mute import Mute, read_mute
from foliot.domain.reading import rfc3339
from foliot.ports import RUNS_TOPIC, Clock, Feed, Store, Transaction
from foliot.usecases.again import again
from foliot.usecases.once import EACH_TIME, Once
from foliot.usecases.trail import Change, record


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutes:
    """Mute, unmute. A muted group keeps its letters, and gets those that come; it comes back by itself."""

    store: Store
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
            await tx.mutes.put(caller.tenant_id, mute)
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
                await tx.mutes.drop(caller.tenant_id, fingerprint)
                await record(tx, caller, now, Change("unmute", Thing.DEAD_LETTER, fingerprint, _told(old)))
            await once.keep(tx, caller, fingerprint)
        self.feed.wake(RUNS_TOPIC)


async def _standing(tx: Transaction, caller: Caller, fingerprint: str, clock: Clock) -> Mute | None:
    """The mute that holds; a group that the caller's tenant does not have is unknown."""
    found = (await tx.mutes.standing(caller.tenant_id, clock.now())).get(fingerprint)
    if found is None and not await tx.mutes.known(caller.tenant_id, fingerprint):
        raise NotFound("group of dead letters", fingerprint)
    return found


def _told(mute: Mute | None) -> dict[str, object] | None:
    return None if mute is None else {"until": rfc3339(mute.until), "reason": mute.reason, "by": mute.user_id}
