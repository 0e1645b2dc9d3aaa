"""Handlers of commands and buttons: each calls one use case and returns the reply."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import discord

import foliot
from foliot.commands.envelope import UseCases, permission_of
from foliot.commands.idempotency import AnsweredBefore, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, require
from foliot.core.errors import Conflict, FoliotError, Invalid, NotFound
from foliot.core.ids import RUN
from foliot.engine.model.run import RunState
from foliot.engine.model.schedule import Schedule, ScheduleStatus
from foliot.engine.model.views import PageRequest, RunView
from foliot.features.discord import text as words
from foliot.features.discord.answer import Button, ButtonAction, DiscordMembers, DiscordReply, Interaction
from foliot.features.pipelines.model import PIPELINE
from foliot.features.pipelines.usecases.pipelines import Pipelines
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.preview import Previews
from foliot.features.schedules.usecases.schedules import Schedules

LONGEST = 200
"""Maximum length of an expression."""
_NAMES = {"pipeline": "Pipeline", "cron": "Cron", "timezone": "Time zone"}


@dataclass(frozen=True, slots=True)
class ScheduleDraftMessage:
    """A pipeline, and optionally its trigger."""

    pipeline: str
    cron: str = ""
    timezone: str = ""

    def when(self) -> dict[str, Any]:
        """The trigger fields of a schedule's document."""
        zone = {"timezone": self.timezone} if self.timezone else {}
        return {"type": "cron", "cron_expr": self.cron, **zone}

    def of(self, pipeline: str) -> Self:
        return replace(self, pipeline=pipeline)

    def in_zone(self, default: str) -> Self:
        return self if self.timezone else replace(self, timezone=default)

    def mended(self, field: str, suggestion: str) -> Self | None:
        match field:
            case "cron_expr":
                return replace(self, cron=suggestion)
            case "timezone":
                return replace(self, timezone=suggestion)
            case _:
                return None

    def embed(self, title: str | None) -> discord.Embed:
        embed = discord.Embed(title=title)
        for name, label in _NAMES.items():
            if text := getattr(self, name):
                embed.add_field(name=label, value=words.code(text, LONGEST))
        return embed

    @classmethod
    def read(cls, embeds: Sequence[discord.Embed]) -> Self | None:
        """The draft that a preview message holds."""
        shown = {field.name: (field.value or "").strip("`") for embed in embeds[:1] for field in embed.fields}
        fields = {name: shown.get(label, "") for name, label in _NAMES.items()}
        return cls(**fields) if fields["pipeline"] else None


SHOWN = 200
"""Schedules that are read for a list."""
CHOICES = 25
"""Maximum number of choices in Discord's autocompletion."""
FIRES = 5
OPEN = (RunState.RUNNING, RunState.QUEUED, RunState.RETRYING)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscordRequests:
    """Handlers of run, schedule, list, remove and status."""

    cases: UseCases
    members: DiscordMembers

    async def admit(self, interaction: Interaction) -> Caller:
        caller = self.members.caller(interaction)
        await self.cases[Limiter].request(caller)
        return caller

    # --- commands ---

    async def run(self, interaction: Interaction, pipeline: str, of: int) -> DiscordReply:
        """Run it now; the reply follows the run."""
        caller = await self.admit(interaction)
        require(caller, *permission_of(Pipelines.run))
        try:
            _sound("pipeline", pipeline)
            run = await self.cases[Pipelines].run(caller, pipeline, None, _once(of, "run", pipeline, _id))
        except AnsweredBefore as before:
            run = await self.cases[Runs].get(caller, before.body)
        except NotFound as unknown:
            return await self._meant(caller, unknown, ScheduleDraftMessage(pipeline=pipeline), ButtonAction.RUN, of)
        return DiscordReply(text=words.run_message(pipeline, run, None), private=False, run=run, what=pipeline)

    async def schedule(self, interaction: Interaction, draft: ScheduleDraftMessage, of: int) -> DiscordReply:
        """Preview a schedule; nothing is saved."""
        caller = await self.admit(interaction)
        require(caller, *permission_of(Schedules.create))
        try:
            _sound("pipeline", draft.pipeline)
            await self.cases[Pipelines].get(caller, draft.pipeline)
        except NotFound as unknown:
            return await self._meant(caller, unknown, draft, ButtonAction.SCHEDULE, of)
        draft = draft.in_zone(self.cases[Previews].default_zone)
        try:
            seen = await self.cases[Previews].preview(caller, {**draft.when(), "count": FIRES})
        except Invalid as wrong:
            return await self._mended(caller, wrong, draft, of)
        embed = draft.embed(words.plain(seen.summary, 200))
        embed.add_field(name=f"Next {len(seen.fires)} times", value=words.fires(seen), inline=False)
        for note in seen.notes[:2]:
            embed.add_field(name="Note", value=words.plain(note, 300), inline=False)
        if standing := [one for one in await self._jobs(caller, PIPELINE) if _pipeline(one) == draft.pipeline]:
            lines = "\n".join(words.job_line(one) for one in standing[:3])
            embed.add_field(name="Scheduled already", value=lines, inline=False)
        buttons = (Button("Save", ButtonAction.SAVE, of, main=True), Button("Cancel", ButtonAction.CANCEL, of))
        return DiscordReply(text="Nothing is saved yet.", embed=embed, buttons=buttons)

    async def save(self, interaction: Interaction, of: int) -> DiscordReply:
        """Create the schedule that the message previews."""
        caller = await self.admit(interaction)
        draft = draft_of(interaction)
        raw = {
            **draft.when(),
            "name": draft.pipeline,
            "description": "Created in Discord.",
            "action": {"kind": PIPELINE, "pipeline": draft.pipeline},
        }
        once = _once(of, "schedule", repr(raw), _id)
        try:
            schedule = await self.cases[Schedules].create(caller, raw, once)
        except AnsweredBefore as before:
            schedule = await self.cases[Schedules].get(caller, before.body)
        return DiscordReply(text=f"✓ Saved.\n{words.job_line(schedule)}")

    async def cancel(self, interaction: Interaction) -> DiscordReply:
        self.members.caller(interaction)
        return DiscordReply(text="Nothing was saved.")

    async def jobs(self, interaction: Interaction) -> DiscordReply:
        caller = await self.admit(interaction)
        schedules = await self._jobs(caller)
        if not schedules:
            return DiscordReply(text="There are no scheduled jobs. /schedule creates one.")
        schedules = sorted(schedules, key=lambda one: (one.next_run_at is None, one.next_run_at))
        lines = [words.job_line(one) for one in schedules[:SHOWN]]
        more = len(schedules) - len(lines)
        return DiscordReply(
            text=words.listed(f"**{_count(len(schedules), 'job')}**", lines, more, "see foliot schedule list")
        )

    async def remove(self, interaction: Interaction, job_id: str) -> DiscordReply:
        caller = await self.admit(interaction)
        _sound("schedule", job_id)
        schedule = await self.cases[Schedules].get(caller, job_id)
        if schedule.status is ScheduleStatus.DELETED:
            raise Conflict(f"job {job_id} is already removed")
        await self.cases[Schedules].delete(caller, job_id)
        return DiscordReply(
            text=f"✓ Removed {words.code(schedule.name)} · {words.code(job_id)}. It will not run again."
        )

    async def pipelines(self, interaction: Interaction) -> DiscordReply:
        caller = await self.admit(interaction)
        pipelines = await self.cases[Pipelines].list(caller)
        if not pipelines:
            return DiscordReply(
                text="There are no pipelines: they are defined in the file that PIPELINES_CONFIG names."
            )
        when: dict[str, list[str]] = {}
        for one in await self._jobs(caller, PIPELINE):
            if one.fault is None and one.status is ScheduleStatus.ACTIVE:
                when.setdefault(_pipeline(one), []).append(words.plain(one.spec.trigger.summary, 150))
        lines = [words.pipeline_line(one, when.get(one.kept.name, [])) for one in pipelines]
        return DiscordReply(
            text=words.listed(f"**{_count(len(pipelines), 'pipeline')}**", lines, 0, "see foliot pipeline list")
        )

    async def status(self, interaction: Interaction, job_id: str | None) -> DiscordReply:
        """The status of a run, of a job's newest run, or of everything."""
        caller = await self.admit(interaction)
        if job_id is None:
            return DiscordReply(text=await self._overview(caller))
        _sound("schedule", job_id)
        if job_id.startswith(f"{RUN}_"):
            run = await self.cases[Runs].get(caller, job_id)
            return DiscordReply(text=words.run_message(run.schedule_name or run.kind, run, None))
        schedule = await self.cases[Schedules].get(caller, job_id)
        runs = await self.cases[Runs].of_schedule(caller, job_id, PageRequest(1), None)
        newest = [words.run_message(schedule.name, run, None) for run in runs] or ["It has not run yet."]
        return DiscordReply(text="\n".join([words.job_line(schedule), *newest]))

    # --- autocompletion ---

    async def choose_pipeline(self, interaction: Interaction, typed: str) -> Sequence[str]:
        caller = await self.admit(interaction)
        names = [name for name in await self._names(caller) if typed.lower() in name.lower()]
        return [name for name in names if len(name) <= words.NAME][:CHOICES]

    async def choose_job(self, interaction: Interaction, typed: str) -> Sequence[Schedule]:
        caller = await self.admit(interaction)
        schedules = await self._jobs(caller)
        return [one for one in schedules if typed.lower() in f"{one.name} {one.id}".lower()][:CHOICES]

    # --- shared ---

    async def _names(self, caller: Caller) -> list[str]:
        return sorted(one.kept.name for one in await self.cases[Pipelines].list(caller))

    async def _jobs(self, caller: Caller, kind: str | None = None) -> Sequence[Schedule]:
        return await self.cases[Schedules].list(caller, PageRequest(SHOWN), kind=kind)

    async def _overview(self, caller: Caller) -> str:
        found = await self._jobs(caller)
        active = [one for one in found if one.status is ScheduleStatus.ACTIVE]
        lines = [f"**Foliot {foliot.__version__}** · {_count(len(found), 'job')}, {len(active)} active"]
        upcoming = [(one.next_run_at, one.name) for one in active if one.next_run_at is not None]
        if upcoming:
            at, name = min(upcoming)
            lines.append(f"Next: {words.code(name)} {words.moment(at, 'R')}")
        for state in OPEN:
            runs = await self.cases[Runs].list(caller, PageRequest(SHOWN), state=state.value)
            lines += [f"{_count(len(runs), 'run')} {state.value}"] if runs else []
        recent = await self.cases[Runs].list(caller, PageRequest(5))
        lines += [words.run_message(run.schedule_name or _of(run), run, None).splitlines()[0] for run in recent]
        return "\n".join(lines)[: words.LONGEST]

    async def _meant(
        self, caller: Caller, unknown: NotFound, draft: ScheduleDraftMessage, press: ButtonAction, of: int
    ) -> DiscordReply:
        """Suggests the closest name for an unknown one."""
        names = await self._names(caller)
        near = difflib.get_close_matches(draft.pipeline, names, n=1, cutoff=0.5)
        said = words.refusal(unknown)
        if not near:
            return DiscordReply(text=f"{said}. /pipelines lists them.", failed=True)
        text = f"{said}. Did you mean {words.code(near[0])}?"
        return _offer(text, draft.of(near[0]), press, of)

    async def _mended(self, caller: Caller, wrong: Invalid, draft: ScheduleDraftMessage, of: int) -> DiscordReply:
        """Suggests a corrected expression for an invalid one."""
        meant = draft.mended(wrong.field, wrong.suggestion) if wrong.suggestion else None
        if meant is None:
            raise wrong
        try:
            seen = await self.cases[Previews].preview(caller, {**meant.when(), "count": 1})
        except FoliotError:
            raise wrong from None
        said = f"{words.code(wrong.suggestion)} – {words.plain(seen.summary, 200)}"
        return _offer(f"{words.refusal(wrong)}. Did you mean {said}?", meant, ButtonAction.SCHEDULE, of)


def _offer(text: str, draft: ScheduleDraftMessage, press: ButtonAction, of: int) -> DiscordReply:
    button = Button("Use it", press, of, main=True)
    return DiscordReply(text=text, embed=draft.embed(None), buttons=(button,))


def _sound(kind: str, key: str) -> None:
    """Refuses names with unprintable characters: none exist, and some databases do not accept them."""
    if not key.isprintable():
        raise NotFound(kind, key)


def _id(made: Any) -> str:
    """The id, all that is stored of an answer: a repeated request gets it rendered from the present state."""
    return str(made.id)


def _once(of: int, what: str, asked: str, render: Callable[[Any], str]) -> IdempotentRequest:
    """The idempotency key of an interaction, which Discord may deliver repeatedly, and to several processes."""
    return IdempotentRequest(
        f"discord:{of}", hashlib.sha256(f"discord {what}\n{asked}".encode()).hexdigest(), 200, render
    )


def draft_of(interaction: Interaction) -> ScheduleDraftMessage:
    """The draft in the message of a pressed button."""
    draft = None if interaction.message is None else ScheduleDraftMessage.read(interaction.message.embeds)
    if draft is None:
        raise Conflict("this message is too old: give the command again")
    return draft


def _pipeline(schedule: Schedule) -> str:
    return str(schedule.action.get("pipeline", ""))


def _of(run: RunView) -> str:
    return str((run.action or {}).get("pipeline") or run.kind)


def _count(number: int, what: str) -> str:
    return f"{number}{'+' if number >= SHOWN else ''} {what}{'' if number == 1 else 's'}"
