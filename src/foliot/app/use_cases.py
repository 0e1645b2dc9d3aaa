"""Builds every use case of a process around one store, clock and feed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from foliot.auth.identity import LONGER, Pepper
from foliot.commands.envelope import UseCases
from foliot.commands.limits import Limiter
from foliot.core.ids import new_id
from foliot.core.ports import Clock
from foliot.core.secrets import Vault
from foliot.db.database import Database
from foliot.engine.ports import Actions
from foliot.features.alerts.attention import alert_numbers, failing_channels
from foliot.features.alerts.channels.send import ChannelSender
from foliot.features.alerts.usecases.alerts import Alerts
from foliot.features.alerts.usecases.channels import Channels
from foliot.features.alerts.usecases.rules import AlertRules
from foliot.features.api_keys.usecases import ApiKeys
from foliot.features.articles.sql.picks import USE as HOST_USE
from foliot.features.articles.usecases import FRESH, Articles
from foliot.features.audit_log.chain import ChainVerifier
from foliot.features.audit_log.usecases import AuditLog
from foliot.features.backfills.usecases import Backfills
from foliot.features.bulk.usecases import BulkItemActions, Bulks
from foliot.features.calendars.usecases import NamedCalendars
from foliot.features.crawls.usecases import CACHED_FOR, Crawls
from foliot.features.dead_letters.usecases import DeadLetters
from foliot.features.demo.usecases import Demo, Site
from foliot.features.endpoints.usecases import Endpoints
from foliot.features.expectations.usecases import DataQuality
from foliot.features.explanations.usecases import Explanations
from foliot.features.fetching.politeness import Politeness
from foliot.features.fetching.usecases import Hosts
from foliot.features.filters.usecases import Search
from foliot.features.health.usecases import HealthChecks, KnownStandstills, ScrapydProbe
from foliot.features.host_sessions.usecases import HostSessions
from foliot.features.insights.usecases.attention import Attention
from foliot.features.insights.usecases.calendar import Calendars
from foliot.features.insights.usecases.timeline import Timelines
from foliot.features.invites.usecases import Invites
from foliot.features.jobs.usecases import Jobs
from foliot.features.ledger.usecases import LedgerVerifier
from foliot.features.live.usecases import ChangeMarkers
from foliot.features.monitors.attention import silent_monitors
from foliot.features.monitors.expected import monitor_lanes, monitor_plans
from foliot.features.monitors.usecases import Monitors, Pings
from foliot.features.mutes.usecases import Mutes
from foliot.features.pipelines.usecases.pipelines import Pipelines
from foliot.features.plans.usecases.plans import Plans
from foliot.features.presets.model import PresetDefinition
from foliot.features.presets.usecases import Presets
from foliot.features.queues.usecases import Queues
from foliot.features.reextractions.reader import StoredPageReader
from foliot.features.reextractions.usecases import Reextractions
from foliot.features.runs.usecases.logs import Logs
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.usecases.batch import ScheduleBatches
from foliot.features.schedules.usecases.calendars import CalendarTurns
from foliot.features.schedules.usecases.chains import Chains
from foliot.features.schedules.usecases.declared import Declarations
from foliot.features.schedules.usecases.draft import ScheduleDrafts
from foliot.features.schedules.usecases.health import Rankings, ScheduleHealthReader
from foliot.features.schedules.usecases.instants import Instants
from foliot.features.schedules.usecases.preview import Previews
from foliot.features.schedules.usecases.realign import Realignment
from foliot.features.schedules.usecases.revert import Reverts
from foliot.features.schedules.usecases.schedules import Schedules
from foliot.features.schedules.usecases.skip_next import Skips
from foliot.features.schedules.usecases.trial import Trials
from foliot.features.schedules.usecases.versions import Versions
from foliot.features.search.usecases import ReferenceResolver, Suggester
from foliot.features.secrets.usecases import Secrets
from foliot.features.sessions.usecases import Members, Sessions, Tickets
from foliot.features.stored_pages.attention import FullQuotas
from foliot.features.stored_pages.keeper import PageKeeper
from foliot.features.stored_pages.usecases import StoredPages
from foliot.features.tasks.model.task import TaskCatalogue
from foliot.features.tasks.usecases import Tasks
from foliot.features.tenants.usecases import CheckAllow, Tenants
from foliot.features.views.usecases import SavedViews
from foliot.features.watches.usecases.history import PageHistory
from foliot.features.watches.usecases.plots import WatchPlots
from foliot.features.watches.usecases.preview import WatchPreviews
from foliot.features.watches.usecases.watches import Watches
from foliot.features.watches.visitor import PageVisitor
from foliot.features.workers.usecases import Workers
from foliot.wakeups.feed import Feed, FeedReach


def use_cases(  # noqa: PLR0913 -- as many as there are things to wire
    store: Database,
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
    reach: Callable[[], FeedReach] | None = None,
    tasks: TaskCatalogue | None = None,
    presets: Mapping[str, PresetDefinition] | None = None,
    crawlers: Callable[[], Awaitable[Sequence[ScrapydProbe]]] | None = None,
    site: Site | None = None,
    signs_by_setting: bool = False,
    knowledge: KnownStandstills | None = None,
    keys_live_longer: timedelta = LONGER,
    channels: ChannelSender | None = None,
    manners: Politeness | None = None,
    keeper: PageKeeper | None = None,
    visitor: PageVisitor | None = None,
    rereader: StoredPageReader | None = None,
) -> UseCases:
    """The use cases, by their type."""
    catalogue = TaskCatalogue() if tasks is None else tasks
    knowledge = knowledge or KnownStandstills(store=store)
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
    batches = ScheduleBatches(schedules=schedules)
    calendars = NamedCalendars(
        store=store,
        clock=clock,
        feed=feed,
        new_id=new_id,
        turn=CalendarTurns().turn,
        default_zone=default_zone,
    )
    watches = Watches(
        store=store,
        clock=clock,
        feed=feed,
        limiter=limiter,
        schedules=schedules,
        visitor=visitor,
        vault=vault,
        new_id=new_id,
    )
    runs = Runs(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id)
    dead_letters = DeadLetters(
        store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id, check_for=schedules.check_for
    )
    backfills = Backfills(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id)
    searching = Search(store=store, clock=clock, actions=actions)
    keys = ApiKeys(store=store, clock=clock, feed=feed, new_id=new_id, pepper=pepper, longer=keys_live_longer)
    return UseCases(
        feed,
        [
            schedules,
            batches,
            calendars,
            Plans(schedules=schedules, batches=batches, calendars=calendars, watches=watches),
            Instants(store=store, clock=clock),
            Chains(store=store, clock=clock),
            Versions(store=store, clock=clock),
            Previews(store=store, clock=clock, feed=feed, default_zone=default_zone),
            ScheduleHealthReader(store=store),
            Rankings(store=store, clock=clock),
            ChangeMarkers(store=store, clock=clock),
            Attention(
                store=store,
                clock=clock,
                knowledge=knowledge,
                sources=(failing_channels, silent_monitors, FullQuotas(clock)),
            ),
            Timelines(store=store, clock=clock, sources=(monitor_lanes,)),
            Calendars(store=store, clock=clock, default_zone=default_zone, sources=(monitor_plans,)),
            runs,
            searching,
            Suggester(store=store, clock=clock, actions=actions),
            ReferenceResolver(store=store),
            Logs(store=store),
            Bulks(
                store=store, clock=clock, feed=feed, searching=searching, new_id=new_id, check_for=schedules.check_for
            ),
            BulkItemActions(
                runs=runs, dead_letters=dead_letters, schedules=schedules, fill=backfills.fill, limiter=limiter
            ),
            backfills,
            Skips(store=store, clock=clock, feed=feed),
            Realignment(store=store, clock=clock, feed=feed),
            Trials(store=store, clock=clock, feed=feed, limiter=limiter, schedules=schedules),
            Crawls(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                new_id=new_id,
                cached_for=crawls_cached_for,
            ),
            Articles(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                new_id=new_id,
                fresh=articles_fresh_for,
            ),
            Jobs(store=store, runs=runs, schedules=schedules),
            Tasks(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                schedules=schedules,
                known=catalogue,
                new_id=new_id,
            ),
            Presets(
                store=store,
                clock=clock,
                feed=feed,
                tasks=catalogue,
                declaring=Declarations(schedules=schedules),
                presets=presets or {},
            ),
            Pipelines(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id),
            Explanations(store=store, clock=clock, limiter=limiter, default_zone=default_zone),
            DataQuality(store=store, clock=clock, feed=feed, limiter=limiter, new_id=new_id),
            dead_letters,
            Mutes(store=store, clock=clock, feed=feed),
            Channels(store=store, clock=clock, feed=feed, vault=vault, new_id=new_id, sender=channels),
            AlertRules(
                store=store, clock=clock, feed=feed, searching=searching, new_id=new_id, default_zone=default_zone
            ),
            Alerts(store=store, clock=clock, feed=feed, vault=vault),
            SavedViews(store=store, clock=clock, feed=feed, searching=searching, new_id=new_id),
            Monitors(store=store, clock=clock, feed=feed, vault=vault, new_id=new_id, default_zone=default_zone),
            Pings(store=store, clock=clock, feed=feed, new_id=new_id),
            keys,
            Invites(store=store, clock=clock, feed=feed, pepper=pepper, keys=keys),
            Tickets(store=store, clock=clock, feed=feed, pepper=pepper),
            Sessions(store=store, clock=clock, feed=feed, pepper=pepper),
            Members(store=store, clock=clock),
            Demo(store=store, clock=clock, feed=feed, site=site),
            Secrets(store=store, clock=clock, feed=feed, vault=vault, require_hosts=require_hosts),
            Tenants(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                check_allow=check_allow,
                page_quota=None if keeper is None else keeper.quota,
            ),
            limiter,
            AuditLog(store=store),
            Reverts(store=store, clock=clock, feed=feed, schedules=schedules),
            ScheduleDrafts(schedules=schedules),
            Queues(store=store, clock=clock, feed=feed),
            StoredPages(store=store, clock=clock, keeper=keeper),
            Reextractions(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                new_id=new_id,
                keeper=keeper,
                reader=rereader,
            ),
            watches,
            WatchPreviews(store=store, limiter=limiter, visitor=visitor),
            WatchPlots(store=store),
            PageHistory(store=store, clock=clock, apart=None if visitor is None else visitor.apart),
            Hosts(store=store, clock=clock, feed=feed, use=HOST_USE, manners=manners or Politeness()),
            HostSessions(store=store, clock=clock, feed=feed, vault=vault),
            Endpoints(
                store=store,
                clock=clock,
                feed=feed,
                limiter=limiter,
                new_id=new_id,
                signs_by_setting=signs_by_setting,
            ),
            Workers(store=store, clock=clock, feed=feed),
            ChainVerifier(store=store, clock=clock),
            LedgerVerifier(store=store),
            HealthChecks(
                store=store,
                clock=clock,
                knowledge=knowledge,
                disk=disk,
                remarks=remarks,
                reach=reach,
                crawlers=crawlers,
                alerting=alert_numbers,
            ),
        ],
    )
