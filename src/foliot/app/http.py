"""The HTTP application of Foliot: the routers of every feature, and what else features pass to the server."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from typing import Any

from foliot.auth.identity import Identity, Pepper
from foliot.commands.envelope import UseCases
from foliot.core.access import Caller
from foliot.core.errors import Unauthenticated
from foliot.features.alerts import rest as alerts
from foliot.features.api_keys import rest as api_keys
from foliot.features.articles import rest as articles
from foliot.features.audit_log import rest as audit_log
from foliot.features.bulk import rest as bulk
from foliot.features.calendars import rest as calendars
from foliot.features.crawls import rest as crawls
from foliot.features.dead_letters import rest as dead_letters
from foliot.features.demo import rest as demo
from foliot.features.endpoints import rest as endpoints
from foliot.features.expectations import rest as expectations
from foliot.features.explanations import rest as explanations
from foliot.features.fetching import rest as fetching
from foliot.features.filters import rest as filters
from foliot.features.health import metrics_rest
from foliot.features.health import rest as health
from foliot.features.health.metrics_rest import MetricsScrape
from foliot.features.host_sessions import rest as host_sessions
from foliot.features.insights.rest import attention, timeline
from foliot.features.invites import rest as invites
from foliot.features.jobs.rest import jobs
from foliot.features.jobs.rest import socket as job_sockets
from foliot.features.live.rest import socket as live
from foliot.features.mcp.rest import endpoint as mcp
from foliot.features.monitors import rest as monitors
from foliot.features.pipelines import rest as pipelines
from foliot.features.plans import rest as plans
from foliot.features.presets import rest as presets
from foliot.features.queues import rest as queues
from foliot.features.reextractions import rest as reextractions
from foliot.features.runs.rest import export as run_export
from foliot.features.runs.rest import log as run_log
from foliot.features.runs.rest import runs
from foliot.features.runs.usecases.runs import Runs
from foliot.features.schedules.rest import actions as schedule_actions
from foliot.features.schedules.rest import export as schedule_export
from foliot.features.schedules.rest import health as schedule_health
from foliot.features.schedules.rest import schedules
from foliot.features.search import rest as search
from foliot.features.secrets import rest as secrets
from foliot.features.sessions.rest import session, tickets
from foliot.features.sessions.usecases import Sessions, Tickets, session_caller
from foliot.features.stored_pages import rest as stored_pages
from foliot.features.tasks import rest as tasks
from foliot.features.tenants import rest as tenants
from foliot.features.views import rest as views
from foliot.features.watches.rest import changes, plots, watches
from foliot.features.webhooks import rest as webhooks
from foliot.features.workers import rest as workers
from foliot.servers.http.app import Handed, HttpApp, Routes, build_app, routes_of
from foliot.servers.http.openapi import describe
from foliot.servers.http.session_cookie import LOOPBACK

ROUTERS = tuple(
    module.router
    for module in (
        # Before the schedules and the runs: their paths would be matched as the id of one.
        schedule_health,
        schedule_export,
        filters,
        run_export,
        search,
        schedules,
        schedule_actions,
        runs,
        run_log,
        crawls,
        articles,
        jobs,
        job_sockets,
        live,
        tasks,
        plans,
        calendars,
        presets,
        pipelines,
        dead_letters,
        bulk,
        queues,
        fetching,
        host_sessions,
        # Before the stored pages: its paths would be matched as the id of one.
        reextractions,
        stored_pages,
        changes,
        watches,
        plots,
        endpoints,
        expectations,
        explanations,
        workers,
        alerts,
        monitors,
        views,
        mcp,
        api_keys,
        tickets,
        session,
        invites,
        webhooks,
        demo,
        secrets,
        tenants,
        audit_log,
        attention,
        timeline,
        health,
        metrics_rest,
    )
)

FIRST = frozenset(
    {
        "/crawl",
        "/api/schedules",
        "/api/schedules/{schedule_id}/run-now",
        "/api/schedules/{schedule_id}/pause",
        "/api/runs",
    }
)
"""The paths with the most requests; they are matched first. None of them matches what another route is for."""


@lru_cache(maxsize=1)
def _routes() -> Routes:
    return routes_of(ROUTERS, FIRST)


@lru_cache(maxsize=1)
def _described() -> dict[str, Any]:
    return describe(_routes())


def create_app(  # noqa: PLR0913 -- as many as there are things to choose
    cases: UseCases,
    *,
    identity: Identity | None = None,
    hosts: Collection[str] = LOOPBACK,
    metrics_token: str | None = None,
    cursor_pepper: Pepper | None = None,
    pages: Path | None = None,
    public_url: str | None = None,
) -> HttpApp:
    """The application with every feature; the options are those of `build_app`."""
    known = None if identity is None else cases[Sessions].over(identity)

    async def by_session(session: str) -> Caller:
        if known is None:
            raise Unauthenticated
        return await session_caller(known, cases[Sessions], session)

    async def by_ticket(ticket: str) -> Caller:
        return await cases[Tickets].take(ticket)

    app = build_app(
        cases,
        Handed(
            routes=_routes(),
            described=_described,
            event_reader=lambda: cases[Runs],
            session_caller=by_session,
            ticket_caller=by_ticket,
        ),
        identity=known,
        hosts=hosts,
        metrics_token=metrics_token,
        cursor_pepper=cursor_pepper,
        pages=pages,
        public_url=public_url,
    )
    app.state.scrape = MetricsScrape()
    app.state.tries = session.FailedGuesses()
    return app
