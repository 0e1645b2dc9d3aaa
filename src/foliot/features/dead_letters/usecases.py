"""Dry run of a replay: which hosts it reaches, which settings it follows, duplicates, and refusals.

Use cases of dead letters: group by failure, replay, discard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from foliot.commands.audit import AuditedChange, masked
from foliot.commands.envelope import CommandContext, QueryContext, command, query
from foliot.commands.idempotency import EACH_TIME, IdempotentRequest
from foliot.commands.limits import Limiter
from foliot.core.access import Caller, Thing, Verb, require
from foliot.core.declaration import in_order, read
from foliot.core.document import Complaints
from foliot.core.errors import Conflict, FoliotError, Invalid, NotFound
from foliot.core.failure_fingerprint import host_in, host_of
from foliot.core.ports import Clock
from foliot.db.database import Database, Transaction
from foliot.engine.model.dead_letter_sort import DeadLetterSort
from foliot.engine.model.run import Origin, RunState
from foliot.engine.model.views import DeadLetterGroupView, PageRequest, RunView
from foliot.engine.sql.runs import SqlRuns
from foliot.features.dead_letters.model import (
    DISCARDED,
    MAX_REPLAY,
    MOST_REPLAYS,
    DeadLetterFilter,
    FailureGroups,
    ReplayRequest,
)
from foliot.features.dead_letters.sql import groups as grouped
from foliot.features.filters.model import EXACT_CODE, REPLAYABLE, UNANSWERED, FilterQuery, FilterTerm
from foliot.features.filters.sql.runs import RunConditions
from foliot.features.filters.usecases import hosts_of
from foliot.features.runs.usecases.replay import ReplayOptions, ReplayPlan, ReplayPlanner, as_it_was
from foliot.features.runs.usecases.runs import repeat
from foliot.features.schedules.model.document import ActionCheck, CheckFor
from foliot.wakeups.feed import RUNS_TOPIC, Feed, run_topic


@dataclass(frozen=True, slots=True)
class Replayed:
    """The new runs; `more` says that the filter matches dead letters beyond the limit of one request."""

    runs: Sequence[RunView]
    more: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetters:
    """Groups and replays dead letters. A dead letter stays until a replay of it succeeds."""

    store: Database
    clock: Clock
    feed: Feed
    limiter: Limiter
    new_id: Callable[[str], str]
    check_for: CheckFor
    """The tenant's validation of an action's configuration."""

    @query(Verb.READ, Thing.DEAD_LETTER)
    async def groups(
        self, ctx: QueryContext, /, page: PageRequest, sort: DeadLetterSort | None = None, **filters: str | None
    ) -> list[DeadLetterGroupView]:
        """Groups by error. `filters`: kind, schedule_id, code."""
        async with ctx.read() as tx:
            return await SqlRuns(tx).dead_groups(ctx.tenant_id, page, sort, **filters)

    @query(Verb.READ, Thing.DEAD_LETTER)
    async def alike(
        self, ctx: QueryContext, page: PageRequest, wanted: FilterQuery, sort: DeadLetterSort | None = None
    ) -> FailureGroups:
        """Unresolved dead letters that match the filter, grouped by failure fingerprint."""
        async with ctx.read() as tx:
            sieve = await RunConditions.of(
                tx.conn, tx.dialect, ctx.tenant_id, wanted.also(*UNANSWERED), self.clock.now()
            )
            groups, pile = await grouped(tx, sieve, page, sort)
            hosts = await hosts_of(tx, ctx.tenant_id, [group.sample for group in groups])
            return FailureGroups(groups, pile, hosts)

    @command(Verb.RUN, Thing.DEAD_LETTER)
    async def replay(self, ctx: CommandContext, raw: object, once: IdempotentRequest = EACH_TIME) -> Replayed:
        """`{"ids": […]}`, or `{"filter": {…}}` for the oldest dead letters that match; `{}` as filter means all."""
        asked = _read(raw)
        terms, ids = ReplayOptions(asked.as_of, asked.patch), asked.ids or []
        may_send(ctx.caller, terms)
        tx = await ctx.begin(self.limiter)
        if asked.filter is not None:
            query = FilterQuery(_terms(asked.filter)).also(*REPLAYABLE)
            chosen = await RunConditions.of(tx.conn, tx.dialect, ctx.tenant_id, query, ctx.now)
            ids = await chosen.oldest(MAX_REPLAY + 1)
        more, ids = len(ids) > MAX_REPLAY, ids[:MAX_REPLAY]
        return Replayed(await self.send(ctx, ids, terms) if ids else [], more)

    async def send(self, ctx: CommandContext, ids: Sequence[str], terms: ReplayOptions) -> list[RunView]:
        """Replay these as part of the caller's transaction, which has read the tenant's limits."""
        letters = await _letters(ctx, ids)
        sent = await SqlRuns(ctx.tx).replays(ids)
        for letter in letters:
            if sent.get(letter.id, 0) >= MOST_REPLAYS:
                refused = f"dead letter {letter.id} was replayed {sent[letter.id]} times without success"
                raise Conflict(f"{refused}: fix its target, or discard it")
        self.limiter.run(ctx.caller, ctx.limits, len(letters))
        repeating = await ReplayPlanner.of(ctx.tx, letters, terms, self.check_for(ctx.caller))
        courses = [repeating.course(letter) for letter in letters]
        runs = await repeat(ctx, courses, Origin.REPLAY, self.new_id)
        if terms.patch is not None:
            await self.limiter.stored(ctx.tx, ctx.caller, ctx.limits)
        ctx.audit(*(_replayed(run, terms) for run in runs))
        return runs


def _terms(asked: DeadLetterFilter) -> tuple[FilterTerm, ...]:
    """The filter of a request in the terms of the filter language, by which bulk actions choose too."""
    given = {"kind": asked.kind, "schedule": asked.schedule_id, EXACT_CODE: asked.code}
    return tuple(FilterTerm(key, (value,)) for key, value in given.items() if value)


def may_send(caller: Caller, terms: ReplayOptions) -> None:
    """Choosing where a run goes and what it carries means choosing where secrets go."""
    if terms.patch is not None:
        require(caller, Verb.WRITE, Thing.SCHEDULE)


def _replayed(run: RunView, terms: ReplayOptions) -> AuditedChange:
    became: dict[str, Any] = {"run_id": run.id, "version": run.version}
    if terms.patch is not None:
        became = masked({**became, "action": run.action})
    return AuditedChange("replay", Thing.DEAD_LETTER, run.parent_id or "", became=became)


async def discard(ctx: CommandContext, run_id: str) -> None:
    """Resolve a dead letter without a replay: it stays readable, and counts as resolved."""
    await _letters(ctx, [run_id])
    await SqlRuns(ctx.tx).resolve([run_id], DISCARDED)
    ctx.audit(AuditedChange("discard", Thing.DEAD_LETTER, run_id, became={"resolved_by": DISCARDED}))
    ctx.wake(RUNS_TOPIC, run_topic(run_id))


async def _letters(ctx: CommandContext, ids: Sequence[str]) -> list[RunView]:
    """All of them, locked; one that cannot be replayed is refused by id, and with it the whole request."""
    letters = await SqlRuns(ctx.tx).several(ctx.tenant_id, ids, lock=True)
    found = {letter.id for letter in letters}
    for run_id in ids:
        if run_id not in found:
            raise NotFound("run", run_id)
    for run in letters:
        if run.state is not RunState.DEAD_LETTER:
            raise Conflict(f"run {run.id} is not a dead letter: {run.state.value}")
        if run.resolved_by is not None:
            raise Conflict(f"dead letter {run.id} is resolved by {run.resolved_by}")
    return letters


def _read(raw: object) -> ReplayRequest:
    wrong = Complaints()
    asked: ReplayRequest = wrong.attempt(lambda: read(ReplayRequest, raw))
    given = raw if isinstance(raw, Mapping) else {}
    if (given.get("ids") is None) == (given.get("filter") is None):
        wrong.found.append(Invalid("ids", "or 'filter' must be given: one of the two"))
    if wrong.found:
        Complaints(in_order(ReplayRequest, wrong.found)).speak()
    return asked


LISTED = 5
"""Refusals that are listed, with their reasons."""


@dataclass(slots=True)
class ReplayEstimate:
    """What replaying these dead letters would do."""

    looked_at: int
    hosts: dict[str, None] = field(default_factory=dict)
    duplicates: int = 0
    """How many would do exactly what another of them does."""
    changed: int = 0
    """How many would do something else than they did then, because their schedule has changed."""
    stay: dict[str, int] = field(default_factory=dict)
    """Why some would follow their old settings, though the present ones were asked for; how many each."""
    edited: int = 0
    """How many the patch changes."""
    refused: int = 0
    reasons: list[tuple[str, str]] = field(default_factory=list)
    """(id, why) of the first that would be refused."""
    replays: Mapping[str, int] = field(default_factory=dict)
    """How often each was replayed before."""
    follows: dict[str, int | None] = field(default_factory=dict)
    """The version that each would follow."""

    def refuse(self, letter: RunView, why: str) -> None:
        self.refused += 1
        if len(self.reasons) < LISTED:
            self.reasons.append((letter.id, why))


async def rehearse(
    tx: Transaction, letters: Sequence[RunView], terms: ReplayOptions, check: ActionCheck
) -> ReplayEstimate:
    """Three queries, however many dead letters; nothing is written."""
    estimate = ReplayEstimate(len(letters), replays=await SqlRuns(tx).replays([one.id for one in letters]))
    repeating = await ReplayPlanner.of(tx, letters, terms, check, whole=True)
    plain = ReplayPlanner(ReplayOptions(terms.as_of), check, repeating.schedules, repeating.then)
    seen: set[bytes] = set()
    for letter in letters:
        if estimate.replays.get(letter.id, 0) >= MOST_REPLAYS:
            estimate.refuse(letter, f"was replayed {MOST_REPLAYS} times without success")
            continue
        try:
            course = repeating.course(letter)
        except FoliotError as refused:
            estimate.refuse(letter, str(refused))
            continue
        config = repeating.config(course)
        estimate.hosts.update(dict.fromkeys(_hosts(letter, config)))
        estimate.follows[letter.id] = course.version
        unedited = plain.config(plain.course(letter))
        estimate.changed += unedited != repeating.config(as_it_was(letter))
        estimate.edited += config != unedited
        if course.stays is not None:
            estimate.stay[course.stays] = estimate.stay.get(course.stays, 0) + 1
        alike = _alike(course, config)
        estimate.duplicates += alike in seen
        seen.add(alike)
    return estimate


def _alike(course: ReplayPlan, config: Mapping[str, Any]) -> bytes:
    """Equal for two that would do the same; one without a payload equals no other."""
    what: object = config or course.old.id
    return orjson.dumps([course.old.kind, what], option=orjson.OPT_SORT_KEYS)


def _hosts(letter: RunView, config: Mapping[str, Any]) -> Iterator[str]:
    """The hosts of its action; if that names none, those that its error names."""
    urls = config.get("start_urls")
    targets = [config.get("url", ""), *(urls if isinstance(urls, list) else ())]
    named = [host for url in targets if (host := host_in(str(url)))]
    failed = host_of(letter.error)
    yield from named or ([failed] if failed else [])
