"""Use cases of mutes: mute and unmute groups of dead letters."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.document import rfc3339
from foliot.core.errors import NotFound
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.features.mutes.model import MuteRecord, read_mute
from foliot.features.mutes.sql import SqlMutes
from foliot.wakeups.feed import RUNS_TOPIC, Feed


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutes:
    """Mutes and unmutes groups. A muted group keeps its dead letters and gets new ones; the mute ends by itself."""

    store: Database
    clock: Clock
    feed: Feed

    @command(Verb.WRITE, Thing.DEAD_LETTER)
    async def mute(
        self, ctx: CommandContext, fingerprint: str, raw: object = None, once: IdempotentRequest = EACH_TIME
    ) -> MuteRecord:
        """Mute it for some hours from now, replacing an earlier mute."""
        mute = read_mute(raw, fingerprint, ctx.caller.user_id, self.clock.now())
        tx = await ctx.begin()
        old = await _standing(ctx, fingerprint)
        await SqlMutes(tx).put(ctx.tenant_id, mute)
        ctx.audit(AuditedChange("mute", Thing.DEAD_LETTER, fingerprint, _audit_view(old), _audit_view(mute)))
        ctx.wake(RUNS_TOPIC)
        return mute

    @command(Verb.WRITE, Thing.DEAD_LETTER)
    async def unmute(self, ctx: CommandContext, fingerprint: str, once: IdempotentRequest = EACH_TIME) -> str:
        """Unmute it early; returns the fingerprint. Unmuting a group that is not muted changes nothing."""
        tx = await ctx.begin()
        old = await _standing(ctx, fingerprint)
        if old is not None:
            await SqlMutes(tx).drop(ctx.tenant_id, fingerprint)
            ctx.audit(AuditedChange("unmute", Thing.DEAD_LETTER, fingerprint, _audit_view(old)))
        ctx.wake(RUNS_TOPIC)
        return fingerprint


async def _standing(ctx: CommandContext, fingerprint: str) -> MuteRecord | None:
    """The mute that has not expired; a group that the caller's tenant does not have is unknown."""
    found = (await SqlMutes(ctx.tx).standing(ctx.tenant_id, ctx.now)).get(fingerprint)
    if found is None and not await SqlMutes(ctx.tx).known(ctx.tenant_id, fingerprint):
        raise NotFound("group of dead letters", fingerprint)
    return found


def _audit_view(mute: MuteRecord | None) -> dict[str, object] | None:
    return None if mute is None else {"until": rfc3339(mute.until), "reason": mute.reason, "by": mute.user_id}
