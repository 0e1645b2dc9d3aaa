"""Entries of the audit log: built from a change, and written in the transaction that makes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from foliot.commands.audit_sql import AuditEntry, SqlAuditLog
from foliot.core.access import Caller, Thing
from foliot.core.ids import ENTRY, new_id
from foliot.core.mask import shown
from foliot.db.database import Transaction

SMALL = 8 * 1024
"""Documents up to this many bytes are kept whole."""
SHORT = 1024
"""In larger documents, fields up to this many bytes are kept; larger fields become their size and digest."""


@dataclass(frozen=True, slots=True)
class AuditedChange:
    """A change that a caller made: `create`, `pause`, `revoke`, … `was` and `became` never hold a secret."""

    verb: str
    thing: Thing
    thing_id: str
    was: Mapping[str, Any] | None = None
    became: Mapping[str, Any] | None = None


async def record(tx: Transaction, caller: Caller, now: datetime, *changes: AuditedChange) -> None:
    """Write the changes in one statement, for code outside the envelope; a command calls `ctx.audit`."""
    if changes:
        await SqlAuditLog(tx).add([entry(caller, now, change) for change in changes])


def entry(caller: Caller, now: datetime, change: AuditedChange) -> AuditEntry:
    """The audit entry of a change, for statements that write it together with a row."""
    return AuditEntry(
        id=new_id(ENTRY),
        tenant_id=caller.tenant_id,
        at=now,
        user_id=caller.user_id,
        key_id=caller.key_id,
        door=caller.interface.value,
        verb=change.verb,
        thing=word(change.thing),
        thing_id=change.thing_id,
        was=_brief(_discreet(change.was)),
        became=_brief(_discreet(change.became)),
    )


def word(thing: Thing) -> str:
    """The name of the thing as one word: `dead_letter`."""
    return thing.value.replace(" ", "_")


def differences(was: Mapping[str, Any], became: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Only the fields that differ, before and after."""
    names = [name for name in {**was, **became} if was.get(name) != became.get(name)]
    return {name: was.get(name) for name in names}, {name: became.get(name) for name in names}


def _discreet(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The document with the credentials of its action removed."""
    action = None if document is None else document.get("action")
    if document is None or not isinstance(action, Mapping):
        return document
    return {**document, "action": shown(action)}


def _brief(document: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The document, with large fields replaced by their size and digest."""
    if document is None or len(orjson.dumps(document)) <= SMALL:
        return document
    return {name: _shortened(value) for name, value in document.items()}


def _shortened(value: object) -> object:
    written = orjson.dumps(value)
    if len(written) <= SHORT:
        return value
    return {"bytes": len(written), "sha256": hashlib.sha256(written).hexdigest()}


MASK = "***"


def masked(document: Mapping[str, Any]) -> dict[str, Any]:
    """Header names without their values: these are often secrets, and the audit log is kept forever."""
    action = document.get("action")
    if not isinstance(action, Mapping) or not isinstance(action.get("headers"), Mapping):
        return dict(document)
    return {**document, "action": {**action, "headers": dict.fromkeys(action["headers"], MASK)}}
