"""Asks the target of an action, before a schedule is stored, whether it knows what will be asked of it."""

from __future__ import annotations

from collections.abc import Mapping

import structlog

from foliot.core.access import Caller
from foliot.core.errors import Invalid
from foliot.db.database import Database, Transaction
from foliot.engine.ports import Action, Actions, is_examined
from foliot.engine.sql.schedules import SqlSchedules
from foliot.features.schedules.model.document import ActionCheck, action_of, merge, put_back, under, whole

log = structlog.get_logger("foliot.schedules")


async def objection(actions: Actions, caller: Caller, raw: object, check: ActionCheck) -> Invalid | None:
    """Why the target refuses a request; None also when it could not be asked, or the request is invalid.

    Never inside a transaction: a target may be slow.
    """
    if not is_examined(_action_named(raw, actions)):
        return None
    asked = action_of(raw, check)
    action = None if asked is None else actions.get(asked[0])
    if asked is None or not is_examined(action):
        return None
    kind, config = asked
    try:
        unasked = await action.examine(caller.tenant_id, config)
    except Invalid as wrong:
        return under("action", wrong)
    if unasked is not None:
        log.info("accepted unseen", action="target_not_asked", tenant_id=caller.tenant_id, kind=kind, why=unasked)
    return None


def _action_named(raw: object, actions: Actions) -> Action | None:
    """What performs the request's action, by its kind alone: most kinds have no target to ask."""
    config = raw.get("action") if isinstance(raw, Mapping) else None
    kind = config.get("kind") if isinstance(config, Mapping) else "webhook"
    return actions.get(kind) if isinstance(kind, str) else None


def names_source(raw: object) -> bool:
    """Whether it is a copy of another schedule's document."""
    return isinstance(raw, Mapping) and isinstance(raw.get("id"), str)


async def copied(tx: Transaction, caller: Caller, raw: object) -> object:
    """A request that is a copy of another schedule's document names it by `id`, and keeps its credentials."""
    named = raw.get("id") if isinstance(raw, Mapping) else None
    source = await SqlSchedules(tx).get(caller.tenant_id, named) if isinstance(named, str) else None
    return put_back(raw, *([] if source is None else [source.action]))


async def objection_to_patch(
    store: Database, actions: Actions, caller: Caller, patched: tuple[str, object], check: ActionCheck
) -> Invalid | None:
    """The same for a patch of a schedule; one that leaves the action alone is not checked against its target."""
    schedule_id, raw = patched
    if not isinstance(raw, Mapping) or not isinstance(raw.get("action"), Mapping):
        return None
    async with store.read(caller.tenant_id) as tx:
        schedule = await SqlSchedules(tx).get(caller.tenant_id, schedule_id)
    if schedule is None or schedule.fault is not None:
        return None
    return await objection(actions, caller, merge(whole(schedule), raw), check)
