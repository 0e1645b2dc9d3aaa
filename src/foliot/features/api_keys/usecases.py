"""Everything that may be asked of API keys."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.auth.api_key import LONGER, Key, read_key, spell
from foliot.auth.digest import KEY_PURPOSE, Pepper, Print
from foliot.commands.idempotency import EACH_TIME, Once
from foliot.commands.retry_on_conflict import again
from foliot.core.access import Caller, Thing, Verb, demand
from foliot.core.document import rfc3339
from foliot.core.errors import Conflict, NotFound, TooMany
from foliot.core.ids import KEY
from foliot.core.ports import Clock
from foliot.db.database import Database
from foliot.engine.model.views import Page
from foliot.features.api_keys.sql import SqlKeys
from foliot.features.audit_log.usecases import Change, record

MOST = 100
"""Keys of one tenant that count at the same time."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key, this once with the text that is shown and kept nowhere."""

    key: Key
    text: str

    def __repr__(self) -> str:
        return f"NewKey({self.key.id})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Create, list, revoke."""

    store: Database
    clock: Clock
    new_id: Callable[[str], str]
    pepper: Pepper | None
    longer: timedelta = LONGER
    """By how much a key may outlive the token that made it."""

    @again
    async def create(self, caller: Caller, raw: object, once: Once = EACH_TIME) -> NewKey:
        """Nobody hands out more than they have: not a higher role, not other scopes, not a longer life of a key."""
        demand(caller, Verb.WRITE, Thing.KEY)
        pepper = needed(self.pepper)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            await once.begin(tx, caller, now)
            draft = read_key(raw, caller, now, self.longer)
            if await SqlKeys(tx).lock_live(caller.tenant_id, now) >= MOST:
                raise TooMany(f"there are {MOST} API keys that count, which is the most there may be: revoke one first")
            key_id = self.new_id(KEY)
            text, hint = spell(key_id, secrets.token_urlsafe(32))
            key = Key(
                id=key_id,
                tenant_id=caller.tenant_id,
                name=draft.name,
                role=draft.role,
                scopes=draft.scopes,
                hint=hint,
                created_by=caller.user_id,
                created_at=now,
                expires_at=draft.expires_at,
            )
            await SqlKeys(tx).add(key, Print(*pepper.digest(KEY_PURPOSE, text)))
            await record(tx, caller, now, Change("create", Thing.KEY, key_id, became=_portrait(key)))
            made = NewKey(key, text)
            await once.keep(tx, caller, made)
        return made

    async def list(self, caller: Caller, page: Page) -> Sequence[Key]:
        """Newest first, revoked and expired ones too."""
        demand(caller, Verb.READ, Thing.KEY)
        async with self.store.read(caller.tenant_id) as tx:
            return await SqlKeys(tx).find(caller.tenant_id, page)

    @again
    async def revoke(self, caller: Caller, key_id: str) -> Key:
        """For good. It stays listed; revoking it again changes nothing."""
        demand(caller, Verb.WRITE, Thing.KEY)
        async with self.store.begin(caller.tenant_id) as tx:
            now = self.clock.now()
            revoked = await SqlKeys(tx).revoke(caller.tenant_id, key_id, now, caller.user_id)
            key = await SqlKeys(tx).get(caller.tenant_id, key_id)
            if key is None:
                raise NotFound("key", key_id)
            if revoked:
                await record(tx, caller, now, Change("revoke", Thing.KEY, key_id, was=_portrait(key)))
        return key


def _portrait(key: Key) -> dict[str, Any]:
    """A key as the trail shows it."""
    return {
        "name": key.name,
        "role": key.role.value,
        "scopes": None if key.scopes is None else sorted(key.scopes),
        "expires_at": rfc3339(key.expires_at),
        "hint": key.hint,
    }


def needed(pepper: Pepper | None) -> Pepper:
    """What digests are made with; a server may have been started without."""
    if pepper is None:
        raise Conflict("this server has no master key to keep keys and tickets by: set FOLIOT_SECRET_KEY")
    return pepper
