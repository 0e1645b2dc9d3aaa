"""Use cases of secrets: set, list, delete, and rotate the master key. Values are never returned."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foliot.commands.audit import AuditedChange
from foliot.commands.envelope import CommandContext, QueryContext, command, query, requires
from foliot.core.access import Caller, Thing, Verb
from foliot.core.errors import Conflict, Invalid, NotFound, TooMany
from foliot.core.ports import Clock
from foliot.core.secrets import MOST, OVERLAP, SIGNING, CannotUnseal, Vault, is_name, read_hosts, read_name, read_value
from foliot.db.database import Database, Transaction
from foliot.features.secrets.model import SealedSecret, SecretView
from foliot.features.secrets.sql import SqlSecrets
from foliot.wakeups.feed import Feed

BATCH = 100


@dataclass(frozen=True, slots=True)
class RekeyResult:
    """How many versions were re-encrypted; `shut` names those that no present key opens, as tenant/name.

    `actions`: how many schedules, versions and runs had a credential re-encrypted.
    """

    done: int
    shut: Sequence[str]
    actions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Set, list and delete secrets. Values are write-only: only actions read them."""

    store: Database
    clock: Clock
    feed: Feed
    vault: Vault | None
    require_hosts: bool = False
    """Whether every secret that is sent must name its hosts."""

    @command(Verb.WRITE, Thing.SECRET)
    async def put(self, ctx: CommandContext, name: str, raw: object) -> None:
        """`{"value": …}` becomes the newest version; the same value again changes nothing."""
        value, hosts = read_value(read_name(name), raw), read_hosts(raw)
        vault = self._vault()
        tx = await ctx.begin()
        await SqlSecrets(tx).lock(ctx.tenant_id)
        newest = await SqlSecrets(tx).newest(ctx.tenant_id, name)
        hosts = self._hosts(name, hosts, newest)
        if newest is None:
            await _refuse_too_many(tx, ctx.caller)
        elif _holds(vault, newest, value) and tuple(newest.hosts or ()) == hosts:
            return
        now, version = self.clock.now(), newest.version + 1 if newest else 1
        secret = SealedSecret(
            tenant_id=ctx.tenant_id,
            name=name,
            version=version,
            sealed_with="",
            sealed=b"",
            created_by=ctx.caller.user_id,
            created_at=now,
            hosts=hosts or None,
        )
        sealed_with, sealed = vault.seal(value.encode(), *secret.place)
        await SqlSecrets(tx).put(replace(secret, sealed_with=sealed_with, sealed=sealed))
        was = _told(newest) if newest else None
        ctx.audit(AuditedChange("set", Thing.SECRET, name, was, _told(secret)))

    def _hosts(self, name: str, given: tuple[str, ...] | None, newest: SealedSecret | None) -> tuple[str, ...]:
        """A new value keeps the hosts of the one before, unless others are given."""
        if name == SIGNING:
            if given:
                raise Invalid("hosts", f"cannot be set for {SIGNING}: it signs every webhook and is never sent")
            return ()
        hosts = tuple(newest.hosts or ()) if given is None and newest is not None else given or ()
        if self.require_hosts and not hosts:
            raise Invalid(
                "hosts", "must name the hosts that it may be sent to, because of FOLIOT_SECRETS_REQUIRE_HOSTS"
            )
        return hosts

    @query(Verb.READ, Thing.SECRET)
    async def list(self, ctx: QueryContext) -> Sequence[SecretView]:
        """Names, versions and times, in order of name."""
        async with ctx.read() as tx:
            return await SqlSecrets(tx).views(ctx.tenant_id)

    @command(Verb.WRITE, Thing.SECRET)
    async def delete(self, ctx: CommandContext, name: str) -> None:
        """All versions at once: a deleted signing secret no longer signs beside its successor either."""
        if not is_name(name):
            raise NotFound("secret", name[:64])
        tx = await ctx.begin()
        if not await SqlSecrets(tx).delete(ctx.tenant_id, name):
            raise NotFound("secret", name)
        ctx.audit(AuditedChange("delete", Thing.SECRET, name))

    @requires(Verb.WRITE, Thing.INSTALLATION)
    async def rekey(self, caller: Caller, progress: Callable[[int], None] | None = None) -> RekeyResult:
        """Re-encrypt everything with the newest master key, a batch at a time. After an interruption, run it again."""
        vault = self._vault()
        async with self.store.begin() as tx:
            await SqlSecrets(tx).prune(self.clock.now() - OVERLAP)
        done, shut, after = 0, list[str](), ("", "", 0)
        while rows := await self._reseal(vault, after):
            shut += [f"{row.tenant_id}/{row.name}" for row, opened in rows if not opened]
            done += sum(opened for _, opened in rows)
            last = rows[-1][0]
            after = (last.tenant_id, last.name, last.version)
            if progress is not None:
                progress(done + len(shut))
        actions, more = await _reseal_actions(self.store)
        return RekeyResult(done, list(dict.fromkeys([*shut, *more])), actions)

    async def _reseal(self, vault: Vault, after: tuple[str, str, int]) -> Sequence[tuple[SealedSecret, bool]]:
        """One batch: its versions, and whether each could be opened."""
        async with self.store.begin() as tx:
            rows = await SqlSecrets(tx).stale(vault.current, BATCH, after)
            results = [(row, _resealed(vault, row)) for row in rows]
            await SqlSecrets(tx).reseal([new for _, new in results if new is not None])
        return [(row, new is not None) for row, new in results]

    @query(Verb.READ, Thing.INSTALLATION)
    async def stale(self, ctx: QueryContext) -> int:
        """How many versions an older master key encrypted, over all tenants."""
        vault = self._vault()
        async with ctx.read(across_tenants=True) as tx:
            return await SqlSecrets(tx).left(vault.current)

    def _vault(self) -> Vault:
        if self.vault is None:
            raise Conflict("secrets need a master key: set FOLIOT_SECRET_KEY to at least 32 random characters")
        return self.vault


async def _reseal_actions(store: Database) -> tuple[int, Sequence[str]]:
    """Credentials of schedules, versions and runs, a batch at a time."""
    done, shut = 0, list[str]()
    place: tuple[Any, ...] | None = ()
    while place is not None:
        async with store.begin() as tx:
            batch = await SqlSecrets(tx).reseal_actions(place, BATCH)
        done, place = done + batch.done, batch.place
        shut += batch.shut
    return done, shut


async def _refuse_too_many(tx: Transaction, caller: Caller) -> None:
    if await SqlSecrets(tx).count(caller.tenant_id) >= MOST:
        raise TooMany(f"there are {MOST} secrets, the maximum: delete one first")


def _told(sealed: SealedSecret) -> dict[str, object]:
    return {"version": sealed.version} | ({"hosts": list(sealed.hosts)} if sealed.hosts else {})


def _holds(vault: Vault, sealed: SealedSecret, value: str) -> bool:
    try:
        plain = vault.open(sealed.sealed_with, sealed.sealed, *sealed.place)
    except CannotUnseal:
        return False
    return hmac.compare_digest(plain, value.encode())


def _resealed(vault: Vault, row: SealedSecret) -> SealedSecret | None:
    try:
        plain = vault.open(row.sealed_with, row.sealed, *row.place)
    except CannotUnseal:
        return None
    sealed_with, sealed = vault.seal(plain, *row.place)
    return replace(row, sealed_with=sealed_with, sealed=sealed)
