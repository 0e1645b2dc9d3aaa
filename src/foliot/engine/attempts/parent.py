"""What an attempt may use of the run that its own follows."""

from __future__ import annotations

from dataclasses import dataclass, replace

from foliot.core.parent_template import ParentRun, ParentValueMissing, filled, mentions_parent
from foliot.db.database import Database
from foliot.engine.model.run import AttemptError, Failed
from foliot.engine.ports import ActionContext
from foliot.engine.sql.follows import SqlFollowUps

FILLED = ("body", "parameters")
"""Fields of an action's configuration in which templates of the parent stand."""


@dataclass(frozen=True, slots=True)
class ParentReader:
    """Reads the parent when it is asked for; most actions never do."""

    store: Database
    tenant_id: str
    run_id: str

    async def __call__(self) -> ParentRun | None:
        async with self.store.read(self.tenant_id) as tx:
            return await SqlFollowUps(tx).parent_of(self.tenant_id, self.run_id)


async def with_parent(context: ActionContext) -> ActionContext | Failed:
    """The context with the parent's values in its configuration; a failure when one of them is missing."""
    mentioned = [name for name in FILLED if name in context.config and mentions_parent(context.config[name])]
    if not mentioned:
        return context
    parent = await context.parent()
    try:
        values = {name: filled(context.config[name], parent) for name in mentioned}
    except ParentValueMissing as missing:
        return Failed(AttemptError("parent_value_missing", str(missing)), permanent=True)
    return replace(context, config={**context.config, **values})
