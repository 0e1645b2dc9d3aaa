"""Everything a person or program may ask; every door calls only this."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from foliot.domain.ids import new_id
from foliot.domain.key import LONGER
from foliot.ports import Actions, Clock, Feed, Reach, Store, Vault
from foliot.ports.keys import Pepper
from foliot.ports.tasks import Preset
from foliot.ports.tasks import Tasks as KnownTasks
from foliot.usecases.articles import FRESH, Articles
from foliot.usecases.attention import Attention
from foliot.usecases.audit import Audit
from foliot.usecases.backfills import Backfills
from foliot.usecases.bulk_hands import BulkHands
from foliot.usecases.bulks import Bulks
from foliot.usecases.calendar import Calendars
from foliot.usecases.chain import Chain
from foliot.usecases.crawls import CACHED_FOR, Crawls
from foliot.usecases.dead_letters import DeadLetters
from foliot.usecases.declaring import Declaring
from foliot.usecases.demo import Demo, Site
from foliot.usecases.endpoints import Endpoints
from foliot.usecases.glimpses import Glimpses
from foliot.usecases.health import Crawler, Wellbeing
from foliot.usecases.instants import Instants
from foliot.usecases.jobs import Jobs
from foliot.usecases.keys import Keys
from foliot.usecases.knowledge import Knowledge
from foliot.usecases.limits import Limiter
from foliot.usecases.logs import Logs
from foliot.usecases.members import Members
from foliot.usecases.mutes import Mutes
from foliot.usecases.pipelines import Pipelines
from foliot.usecases.presets import Presets
from foliot.usecases.previews import Previews
from foliot.usecases.queues import Queues
from foliot.usecases.rankings import Rankings
from foliot.usecases.realign import Realign
from foliot.usecases.reverting import Reverting
from foliot.usecases.runs import Runs
from foliot.usecases.schedules import Schedules
from foliot.usecases.searching import Searching
from foliot.usecases.secrets import Secrets
from foliot.usecases.sessions import Sessions
from foliot.usecases.skipping import Skipping
from foliot.usecases.suggesting import Suggesting
from foliot.usecases.tasks import NO_TASKS, Tasks
from foliot.usecases.tenants import CheckAllow, Tenants
from foliot.usecases.tickets import Tickets
from foliot.usecases.timeline import Timelines
from foliot.usecases.trail import Trail
from foliot.usecases.wellness import Fares
from foliot.usecases.workers import Workers

__all__ = ["UseCases"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCases:
    """One of each, wired to the same store, clock and feed."""

    schedules: Schedules
    instants: Instants
    previews: Previews
    fares: Fares
    rankings: Rankings
    glimpses: Glimpses
    attention: Attention
    timelines: Timelines
    calendars: Calendars
    runs: Runs
    searching: Searching
    suggesting: Suggesting
    logs: Logs
    bulks: Bulks
    hands: BulkHands
    """Who acts on each thing of a bulk action."""
    backfills: Backfills
    skipping: Skipping
    realign: Realign
    dead_letters: DeadLetters
    mutes: Mutes
    crawls: Crawls
    jobs: Jobs
    tasks: Tasks
    presets: Presets
    pipelines: Pipelines
    keys: Keys
    tickets: Tickets
    sessions: Sessions
    members: Members
    demo: Demo
    tenants: Tenants
    limiter: Limiter
    secrets: Secrets
    trail: Trail
    reverting: Reverting
    queues: Queues
    endpoints: Endpoints
    articles: Articles
    workers: Workers
    chain: Chain
    audit: Audit
    health: Wellbeing
    feed: Feed

    @classmethod
    def of(  # noqa: PLR0913 -- as many as there are things to wire
        cls,
        store: Store,
        clock: Clock,
        feed: Feed,
        actions: Actions,
        *,
        default_zone: str = "UTC",
        crawls_cached_for: timedelta = CACHED_FOR,
        articles_fresh_for: timedelta = FRESH,
        pepper: Pepper | None = None,
        vault: Vault | None = None,
        require_hosts: bool = False,
        limiter: Limiter | None = None,
        check_allow: CheckAllow = lambda _: None,
        disk: Callable[[], Mapping[str, Any]] | None = None,
        remarks: Callable[[], Sequence[str]] | None = None,
        reach: Callable[[], Reach] | None = None,
        tasks: KnownTasks = NO_TASKS,
        presets: Mapping[str, Preset] | None = None,
        crawlers: Callable[[], Awaitable[Sequence[Crawler]]] | None = None,
        site: Site | None = None,
        signs_by_setting: bool = False,
        knowledge: Knowledge | None = None,
        keys_live_longer: timedelta = LONGER,
    ) -> UseCases:
        knowledge = knowledge or Knowledge(store=store)
        limiter = limiter or Limiter(store=store, clock=clock)
        schedules = Schedules(
            store=store,
            clock=clock,
            feed=feed,
            actions=actions,
            limiter=limiter,
            new_id=new_id,
            default_zone=default_zone,
        )
        runs = Runs(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id)
        dead_letters = DeadLetters(
            store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id, check_for=schedules.check_for
        )
        backfills = Backfills(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id)
        searching = Searching(store=store, clock=clock, actions=actions)
        return cls(
            schedules=schedules,
            instants=Instants(store=store, clock=clock),
            previews=Previews(store=store, clock=clock, default_zone=default_zone),
            fares=Fares(store=store),
            rankings=Rankings(store=store, clock=clock),
            glimpses=Glimpses(store=store, clock=clock),
            attention=Attention(store=store, clock=clock, knowledge=knowledge),
            timelines=Timelines(store=store, clock=clock),
            calendars=Calendars(store=store, clock=clock, default_zone=default_zone),
            runs=runs,
            searching=searching,
            suggesting=Suggesting(store=store, actions=actions),
            logs=Logs(store=store),
            bulks=Bulks(
                store=store, clock=clock, feed=feed, searching=searching, new_id=new_id, check_for=schedules.check_for
            ),
            hands=BulkHands(
                runs=runs, dead_letters=dead_letters, schedules=schedules, backfills=backfills, limiter=limiter
            ),
            backfills=backfills,
            skipping=Skipping(store=store, clock=clock, feed=feed),
            realign=Realign(store=store, clock=clock, feed=feed),
            crawls=Crawls(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                new_id=new_id,
                cached_for=crawls_cached_for,
            ),
            articles=Articles(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                new_id=new_id,
                fresh=articles_fresh_for,
            ),
            jobs=Jobs(store=store, runs=runs, schedules=schedules),
            tasks=Tasks(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                known=tasks,
                new_id=new_id,
            ),
            presets=Presets(
                store=store,
                feed=feed,
                tasks=tasks,
                declaring=Declaring(schedules=schedules),
                presets=presets or {},
            ),
            pipelines=Pipelines(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id),
            dead_letters=dead_letters,
            mutes=Mutes(store=store, clock=clock, feed=feed),
            keys=Keys(store=store, clock=clock, new_id=new_id, pepper=pepper, longer=keys_live_longer),
            tickets=Tickets(store=store, clock=clock, pepper=pepper),
            sessions=Sessions(store=store, clock=clock, pepper=pepper),
            members=Members(store=store, clock=clock),
            demo=Demo(store=store, clock=clock, feed=feed, site=site),
            secrets=Secrets(store=store, clock=clock, vault=vault, require_hosts=require_hosts),
            tenants=Tenants(store=store, clock=clock, limiter=limiter, check_allow=check_allow),
            limiter=limiter,
            trail=Trail(store=store),
            reverting=Reverting(store=store, schedules=schedules),
            queues=Queues(store=store, clock=clock, feed=feed),
            endpoints=Endpoints(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                new_id=new_id,
                signs_by_setting=signs_by_setting,
            ),
            workers=Workers(store=store, clock=clock, feed=feed),
            chain=Chain(store=store, clock=clock),
            audit=Audit(store=store),
            health=Wellbeing(
                store=store,
                clock=clock,
                knowledge=knowledge,
                disk=disk,
                remarks=remarks,
                reach=reach,
                crawlers=crawlers,
            ),
            feed=feed,
        )
