"""Previews a trigger without creating a schedule."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from foliot.commands.envelope import CommandContext, command
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.core.access import Thing, Verb
from foliot.core.declaration import read
from foliot.core.document import Fields
from foliot.core.errors import Invalid
from foliot.core.ports import Clock
from foliot.core.time.natural_trigger import understand
from foliot.core.time.preview import TriggerOutlook, preview
from foliot.core.time.trigger import Trigger
from foliot.core.time.zone import zone_info
from foliot.db.database import Database
from foliot.engine.model.restrictions import CalendarBook, Restriction, check_restriction, resolved
from foliot.engine.model.trigger_document import OWNED, TriggerContext, read_rule
from foliot.features.schedules.model.request import PreviewRequest
from foliot.features.schedules.usecases.calendars import calendars_of
from foliot.wakeups.feed import Feed

_TICK = timedelta(microseconds=1)
_HASHED = re.compile(r"\bH\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Previews:
    """Computes the next instants. Nothing is written but the idempotency key, when there is one."""

    store: Database
    clock: Clock
    feed: Feed
    default_zone: str = "UTC"

    @command(Verb.READ, Thing.SCHEDULE)
    async def preview(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> TriggerOutlook:
        """A trigger, or `words` that describe one; `start_at` is the first moment considered, `count` how many."""
        calendars = await calendars_of(self.store, ctx.tenant_id, raw)
        seen = self._look(raw, calendars)
        if once.key is not None:
            await ctx.begin()
        return seen

    def _look(self, raw: object, calendars: CalendarBook) -> TriggerOutlook:
        asked, fields = read(PreviewRequest, raw), Fields.of("", raw)
        now = self.clock.now()
        start_at, end_at = fields.moment("start_at"), fields.moment("end_at")
        trigger, anchor = (fields, None) if asked.words is None else self._trigger_fields(fields, asked.words)
        rule = read_rule(trigger, TriggerContext("preview", now, self.default_zone), anchor or start_at)
        plain = Trigger(rule, anchor, end_at)
        restriction = resolved(Restriction(asked.exclude, asked.only, asked.shift), calendars)
        shown = restriction.applied(plain)
        check_restriction(restriction, shown, now, plain)
        seen = preview(shown, now if start_at is None else start_at - _TICK, asked.count)
        if _HASHED.search(str(fields.raw.get("cron_expr", ""))):
            note = "H stands for a value that depends on the schedule's id: the saved schedule may fire at other times"
            seen = replace(seen, notes=[*seen.notes, note])
        return seen

    def _trigger_fields(self, fields: Fields, words: object) -> tuple[Fields, datetime | None]:
        """The trigger fields that these words describe, and the first instant of an interval that has one."""
        for name in ("type", *OWNED):
            if fields.value(name) is not None:
                raise Invalid(name, "cannot be combined with 'words': give one of the two", got=fields.value(name))
        zone = fields.value("timezone") or self.default_zone
        zone_info(zone)
        parsed = understand(words, zone, self.clock.now())
        return Fields.of("", {**parsed.as_fields(), "timezone": zone}), parsed.start_at
