"""A method for each operation, to be awaited.

Written by `make reference` from the API's description. Do not edit.
"""

from __future__ import annotations

import builtins
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from foliot.client.async_session import AsyncItems, AsyncResource, AsyncSession
from foliot.client.core import fields_of
from foliot.client.short_forms import schedule_document

if TYPE_CHECKING:
    from foliot.client import types as t


class AlertRulesAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.AlertRuleRequest]) -> t.AlertRule:
        """Create an alert rule."""
        return await self._json("alert_rules.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, rule_id: str, /) -> None:
        """Delete an alert rule."""
        await self._json("alert_rules.delete", {"rule_id": rule_id})

    async def get(self, rule_id: str, /) -> t.AlertRule:
        """One alert rule."""
        return await self._json("alert_rules.get", {"rule_id": rule_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.AlertRule]:
        """List alert rules."""
        return self._items("alert_rules.list", {}, {"limit": limit})

    async def of_schedule(self, schedule_id: str, /) -> t.NotifyingRulePage:
        """List the alert rules about a schedule."""
        return await self._json("alert_rules.of_schedule", {"schedule_id": schedule_id})

    async def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.AlertRulePreviewRequest]) -> t.AlertRulePreview:
        """Preview what a rule would have reported."""
        return await self._json("alert_rules.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def update(self, rule_id: str, /, **body: Unpack[t.AlertRuleChange]) -> t.AlertRule:
        """Change an alert rule."""
        return await self._json("alert_rules.change", {"rule_id": rule_id}, {}, fields_of(body))


class AlertsAsyncResource(AsyncResource):
    __slots__ = ()

    async def acknowledge(self, alert_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDetail:
        """Acknowledge an alert."""
        return await self._json("alerts.acknowledge", {"alert_id": alert_id}, idempotency_key=idempotency_key)

    async def counts(self) -> t.AlertCounts:
        """How many alerts are not resolved."""
        return await self._json("alerts.counts", {})

    async def get(self, alert_id: str, /) -> t.AlertDetail:
        """One alert."""
        return await self._json("alerts.get", {"alert_id": alert_id})

    def list(self, *, state: t.AlertState | None = None, schedule_id: str | None = None, sort: str | None = None, limit: int | None = None) -> AsyncItems[t.AlertDetail]:
        """List alerts, newest first or in another order."""
        return self._items("alerts.list", {}, {"state": state, "schedule_id": schedule_id, "sort": sort, "limit": limit})

    async def resolve(self, alert_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDetail:
        """Resolve an alert."""
        return await self._json("alerts.resolve", {"alert_id": alert_id}, idempotency_key=idempotency_key)

    async def snooze(self, alert_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.SnoozeRequestFields]) -> t.AlertDetail:
        """Snooze an alert."""
        return await self._json("alerts.snooze", {"alert_id": alert_id}, {}, fields_of(body), idempotency_key=idempotency_key)


class ApiKeysAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ApiKeyRequest]) -> t.NewApiKey:
        """Create an API key."""
        return await self._json("api_keys.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, key_id: str, /) -> None:
        """Revoke an API key."""
        await self._json("api_keys.revoke", {"key_id": key_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.ApiKey]:
        """List API keys, newest first."""
        return self._items("api_keys.list", {}, {"limit": limit})


class ArticlesAsyncResource(AsyncResource):
    __slots__ = ()

    def results(self, job_id: str, /, *, limit: int | None = None) -> AsyncItems[t.ArticleResult]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> AsyncIterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    async def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return await self._json("jobs.status", {"job_id": job_id})

    async def submit(self, *, idempotency_key: str | None = None, **body: Unpack[t.ArticleJobRequest]) -> t.ArticleJob:
        """Fetch articles."""
        return await self._json("articles.submit", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class AttentionAsyncResource(AsyncResource):
    __slots__ = ()

    async def list(self) -> t.AttentionReport:
        """List what needs attention."""
        return await self._json("attention.list", {})


class AuditLogAsyncResource(AsyncResource):
    __slots__ = ()

    def list(self, *, limit: int | None = None, from_: t.Time | None = None, to: t.Time | None = None, user: str | None = None, thing: str | None = None, thing_id: str | None = None, verb: str | None = None) -> AsyncItems[t.AuditLogEntry]:
        """List audit entries, newest first."""
        return self._items("audit_log.list", {}, {"limit": limit, "from": from_, "to": to, "user": user, "thing": thing, "thing_id": thing_id, "verb": verb})

    async def revert(self, entry_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Revert an edit of a schedule."""
        return await self._json("audit_log.revert", {"entry_id": entry_id}, idempotency_key=idempotency_key)


class BulkAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewBulkActionFields]) -> t.BulkAction:
        """Act on everything that matches."""
        return await self._json("bulk.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def create_dry_run(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewBulkActionFields]) -> t.BulkDryRun:
        """Act on everything that matches: what it would do."""
        return await self._json("bulk.create", {}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    async def get(self, bulk_id: str, /) -> t.BulkAction:
        """One bulk action."""
        return await self._json("bulk.get", {"bulk_id": bulk_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.BulkAction]:
        """List bulk actions, newest first."""
        return self._items("bulk.list", {}, {"limit": limit})

    async def pause(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Pause."""
        return await self._json("bulk.pause", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)

    async def resume(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Resume."""
        return await self._json("bulk.resume", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)

    async def stop(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Stop for good."""
        return await self._json("bulk.stop", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)


class CalendarAsyncResource(AsyncResource):
    __slots__ = ()

    async def show(self, *, granularity: t.Granularity | None = None, timezone: str | None = None, schedule_id: str | None = None, from_: t.Time | None = None, to: t.Time | None = None) -> t.Calendar:
        """Count past and planned runs by hour or day."""
        return await self._json("calendar.show", {}, {"granularity": granularity, "timezone": timezone, "schedule_id": schedule_id, "from": from_, "to": to})


class CalendarsAsyncResource(AsyncResource):
    __slots__ = ()

    async def countries(self) -> t.HolidayCountries:
        """List countries with public holidays."""
        return await self._json("calendars.countries", {})

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Create a calendar."""
        return await self._json("calendars.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, calendar_id: str, /) -> None:
        """Delete a calendar."""
        await self._json("calendars.delete", {"calendar_id": calendar_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.NamedCalendar]:
        """List calendars."""
        return self._items("calendars.list", {}, {"limit": limit})

    async def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Preview a calendar."""
        return await self._json("calendars.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def replace(self, calendar_id: str, /, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Replace a calendar."""
        return await self._json("calendars.replace", {"calendar_id": calendar_id}, {}, fields_of(body))

    async def show(self, calendar_id: str, /) -> t.NamedCalendar:
        """Show a calendar."""
        return await self._json("calendars.show", {"calendar_id": calendar_id})


class ChangesAsyncResource(AsyncResource):
    __slots__ = ()

    def export(self, *, q: str | None = None, format: Literal["ndjson", "csv"] | None = None) -> AsyncIterator[bytes]:
        """Download all changes that match a filter."""
        return self._bytes("changes.export", {}, {"q": q, "format": format})

    async def get(self, change_id: str, /) -> t.ChangeDetail:
        """One change."""
        return await self._json("changes.get", {"change_id": change_id})

    def list(self, *, q: str | None = None, after: int | None = None, limit: int | None = None) -> AsyncItems[t.ChangeDetail]:
        """List changes of all watches."""
        return self._items("changes.list", {}, {"q": q, "after": after, "limit": limit})


class ChannelsAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ChannelRequest]) -> t.NotificationChannel:
        """Create a channel."""
        return await self._json("channels.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, channel_id: str, /) -> None:
        """Delete a channel."""
        await self._json("channels.delete", {"channel_id": channel_id})

    async def get(self, channel_id: str, /) -> t.NotificationChannel:
        """One channel."""
        return await self._json("channels.get", {"channel_id": channel_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.NotificationChannel]:
        """List channels."""
        return self._items("channels.list", {}, {"limit": limit})

    async def test(self, channel_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDelivery:
        """Send a test."""
        return await self._json("channels.test", {"channel_id": channel_id}, idempotency_key=idempotency_key)

    async def update(self, channel_id: str, /, **body: Unpack[t.ChannelChange]) -> t.NotificationChannel:
        """Change a channel."""
        return await self._json("channels.change", {"channel_id": channel_id}, {}, fields_of(body))


class CrawlsAsyncResource(AsyncResource):
    __slots__ = ()

    def follow(self, job_id: str, /, *, last_id: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """The lines of the log as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("jobs.logs", {"job_id": job_id}, last_id)

    def results(self, job_id: str, /, *, limit: int | None = None) -> AsyncItems[Any]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> AsyncIterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    async def start(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewCrawl]) -> t.FreshCrawl | t.CachedCrawl | t.PlannedCrawl:
        """Crawl."""
        return await self._json("crawls.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return await self._json("jobs.status", {"job_id": job_id})


class DeadLettersAsyncResource(AsyncResource):
    __slots__ = ()

    def groups(self, *, q: str | None = None, sort: str | None = None, limit: int | None = None) -> AsyncItems[t.FailureGroup]:
        """Group dead letters by error."""
        return self._items("dead_letters.groups", {}, {"q": q, "sort": sort, "limit": limit})

    def list(self, *, kind: str | None = None, schedule_id: str | None = None, code: str | None = None, sort: str | None = None, limit: int | None = None) -> AsyncItems[t.DeadLettersByError]:
        """Dead letters, grouped by error."""
        return self._items("dead_letters.by_error", {}, {"kind": kind, "schedule_id": schedule_id, "code": code, "sort": sort, "limit": limit})

    async def mute(self, fingerprint: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.MuteRequest]) -> t.MutedGroup:
        """Mute a group."""
        return await self._json("dead_letters.mute", {"fingerprint": fingerprint}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    async def replay(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReplayRequest]) -> t.ReplayResult:
        """Replay."""
        return await self._json("dead_letters.replay", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def unmute(self, fingerprint: str, /, *, idempotency_key: str | None = None) -> t.UnmutedGroup:
        """Unmute a group."""
        return await self._json("dead_letters.unmute", {"fingerprint": fingerprint}, idempotency_key=idempotency_key)


class DeliveriesAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, delivery_id: str, /) -> t.AlertDelivery:
        """One delivery."""
        return await self._json("deliveries.get", {"delivery_id": delivery_id})


class DemoAsyncResource(AsyncResource):
    __slots__ = ()

    async def remove(self) -> t.DemoRemoved:
        """Remove the demo."""
        return await self._json("demo.remove", {})

    async def show(self) -> t.DemoSummary:
        """Whether the demo is on."""
        return await self._json("demo.show", {})


class EndpointsAsyncResource(AsyncResource):
    __slots__ = ()

    def list(self, *, sort: str | None = None, limit: int | None = None) -> AsyncItems[t.EndpointHealth]:
        """Show the health of webhook targets."""
        return self._items("endpoints.list", {}, {"sort": sort, "limit": limit})

    async def send_test(self, *, idempotency_key: str | None = None, **body: Unpack[t.EndpointTestRequest]) -> t.Run:
        """Send a test."""
        return await self._json("endpoints.send_test", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class FiltersAsyncResource(AsyncResource):
    __slots__ = ()

    async def suggest(self, *, field: t.SuggestField | None = None, prefix: str | None = None, limit: int | None = None) -> t.SuggestionList:
        """Suggest values for a filter."""
        return await self._json("filters.suggest", {}, {"field": field, "prefix": prefix, "limit": limit})


class HealthAsyncResource(AsyncResource):
    __slots__ = ()

    async def detailed(self) -> t.HealthReport:
        """Every dependency, with its latency."""
        return await self._json("health.detailed", {})

    async def live(self) -> t.Liveness:
        """Whether this process answers."""
        return await self._json("health.live", {})

    async def metrics(self) -> str:
        """Prometheus metrics."""
        return await self._text("health.metrics", {}, {})


class HostSessionsAsyncResource(AsyncResource):
    __slots__ = ()

    async def delete(self, host: str, name: str, /) -> None:
        """Delete a session of a host."""
        await self._json("host_sessions.delete", {"host": host, "name": name})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.HostSessionStatus]:
        """List sessions of hosts."""
        return self._items("host_sessions.list", {}, {"limit": limit})

    async def put(self, host: str, name: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.HostSessionRequest]) -> t.HostSessionStatus:
        """Set a session of a host."""
        return await self._json("host_sessions.put", {"host": host, "name": name}, {}, fields_of(body), idempotency_key=idempotency_key)


class HostsAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, host: str, /) -> t.HostStatus:
        """One host."""
        return await self._json("hosts.get", {"host": host})

    def list(self, *, q: str | None = None, limit: int | None = None) -> AsyncItems[t.HostStatus]:
        """List hosts."""
        return self._items("hosts.list", {}, {"q": q, "limit": limit})

    async def put(self, host: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.HostRequest]) -> t.HostStatus:
        """Set the limits of a host."""
        return await self._json("hosts.put", {"host": host}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def reset(self, host: str, /, *, idempotency_key: str | None = None) -> t.HostStatus:
        """Reset a host to its defaults."""
        return await self._json("hosts.reset", {"host": host}, idempotency_key=idempotency_key)

    async def turns(self, host: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.TurnsRequest]) -> t.TurnBlock:
        """Turns for a spider."""
        return await self._json("hosts.turns", {"host": host}, {}, fields_of(body), idempotency_key=idempotency_key)


class InvitesAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.InviteRequest]) -> t.Invite:
        """Invite a person."""
        return await self._json("invites.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class JobsAsyncResource(AsyncResource):
    __slots__ = ()

    async def article(self, job_id: str, article_id: str, /) -> t.ArticleDetail:
        """Get an article and its previous versions."""
        return await self._json("jobs.article", {"job_id": job_id, "article_id": article_id})

    async def cancel(self, job_id: str, /) -> t.CancelledJob:
        """Cancel a job."""
        return await self._json("jobs.cancel", {"job_id": job_id})

    def list(self, *, status_filter: str | None = None, kind: Literal["crawl", "articles"] | None = None, limit: int | None = None, sort: str | None = None) -> AsyncItems[t.JobReport]:
        """List jobs."""
        return self._items("jobs.list", {}, {"status_filter": status_filter, "kind": kind, "limit": limit, "sort": sort})

    def follow(self, job_id: str, /, *, last_id: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """The lines of the log as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("jobs.logs", {"job_id": job_id}, last_id)

    async def log_text(self, job_id: str, /) -> str:
        """Get the log of a crawl so far."""
        return await self._text("jobs.logs", {"job_id": job_id}, {"format": "text"})

    def results(self, job_id: str, /, *, limit: int | None = None) -> AsyncItems[Any]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> AsyncIterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    async def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return await self._json("jobs.status", {"job_id": job_id})


class LimitsAsyncResource(AsyncResource):
    __slots__ = ()

    async def show(self) -> t.LimitUsage:
        """Get your tenant's limits, and how much of them is used."""
        return await self._json("limits.show", {})


class LoginLinksAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None) -> t.LoginLink:
        """Create a sign-in link."""
        return await self._json("login_links.create", {}, idempotency_key=idempotency_key)


class MembersAsyncResource(AsyncResource):
    __slots__ = ()

    def list(self, *, limit: int | None = None) -> AsyncItems[t.MemberInfo]:
        """List members of the tenant."""
        return self._items("members.list", {}, {"limit": limit})


class MonitorsAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.MonitorRequest]) -> t.MonitorDetail:
        """Create a monitor."""
        return await self._json("monitors.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, monitor_id: str, /) -> None:
        """Delete a monitor."""
        await self._json("monitors.delete", {"monitor_id": monitor_id})

    async def get(self, monitor_id: str, /) -> t.MonitorDetail:
        """One monitor."""
        return await self._json("monitors.get", {"monitor_id": monitor_id})

    async def instants(self, monitor_id: str, /, *, limit: int | None = None) -> t.ExpectedPingPage:
        """List the times at which pings were or are expected."""
        return await self._json("monitors.instants", {"monitor_id": monitor_id}, {"limit": limit})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.MonitorDetail]:
        """List monitors."""
        return self._items("monitors.list", {}, {"limit": limit})

    async def pause(self, monitor_id: str, /, *, idempotency_key: str | None = None) -> t.MonitorDetail:
        """Pause a monitor."""
        return await self._json("monitors.pause", {"monitor_id": monitor_id}, idempotency_key=idempotency_key)

    async def ping(self, monitor_id: str, ping_id: str, /) -> t.MonitorPing:
        """One ping, with its log."""
        return await self._json("monitors.ping", {"monitor_id": monitor_id, "ping_id": ping_id})

    def pings(self, monitor_id: str, /, *, limit: int | None = None) -> AsyncItems[t.MonitorPing]:
        """List a monitor's pings, newest first."""
        return self._items("monitors.pings", {"monitor_id": monitor_id}, {"limit": limit})

    async def resume(self, monitor_id: str, /, *, idempotency_key: str | None = None) -> t.MonitorDetail:
        """Resume a monitor."""
        return await self._json("monitors.resume", {"monitor_id": monitor_id}, idempotency_key=idempotency_key)

    async def update(self, monitor_id: str, /, **body: Unpack[t.MonitorChange]) -> t.MonitorDetail:
        """Change a monitor."""
        return await self._json("monitors.change", {"monitor_id": monitor_id}, {}, fields_of(body))


class PagesAsyncResource(AsyncResource):
    __slots__ = ()

    def body(self, page_id: str, /, *, rendered: bool | None = None) -> AsyncIterator[bytes]:
        """The body of a stored page."""
        return self._bytes("pages.body", {"page_id": page_id}, {"rendered": rendered})

    def export(self, *, q: str | None = None) -> AsyncIterator[bytes]:
        """Download stored pages as WARC."""
        return self._bytes("pages.export", {}, {"q": q})

    async def get(self, page_id: str, /) -> t.StoredPageInfo:
        """One stored page."""
        return await self._json("pages.get", {"page_id": page_id})

    def list(self, *, q: str | None = None, limit: int | None = None) -> AsyncItems[t.StoredPageInfo]:
        """List stored pages."""
        return self._items("pages.list", {}, {"q": q, "limit": limit})

    async def reextract(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReextractRequestFields]) -> t.BulkAction:
        """Read stored pages again."""
        return await self._json("pages.reextract", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def reextract_dry_run(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReextractRequestFields]) -> t.ReextractDryRun:
        """Read stored pages again: what it would do."""
        return await self._json("pages.reextract", {}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    def versions(self, *, page_id: str | None = None, bulk_id: str | None = None, limit: int | None = None) -> AsyncItems[t.StoredPageVersionInfo]:
        """List versions of stored pages."""
        return self._items("pages.versions", {}, {"page_id": page_id, "bulk_id": bulk_id, "limit": limit})


class PipelinesAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, pipeline: str, /) -> t.PipelineDetail:
        """One pipeline."""
        return await self._json("pipelines.get", {"pipeline": pipeline})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.PipelineSummary]:
        """List pipelines."""
        return self._items("pipelines.list", {}, {"limit": limit})

    async def run(self, pipeline: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PipelineRunRequest]) -> t.Run:
        """Run a pipeline now."""
        return await self._json("pipelines.run", {"pipeline": pipeline}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class PlansAsyncResource(AsyncResource):
    __slots__ = ()

    async def apply(self, *, idempotency_key: str | None = None, **body: Unpack[t.ApplyRequest]) -> t.PlanAnswer:
        """Apply a plan."""
        return await self._json("plans.apply", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def plan(self, *, idempotency_key: str | None = None, **body: Unpack[t.PlanRequest]) -> t.PlanAnswer:
        """Compare documents with what is stored."""
        return await self._json("plans.plan", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class PresetsAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, preset: str, /) -> t.PresetContents:
        """One preset."""
        return await self._json("presets.get", {"preset": preset})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.PresetContents]:
        """List presets."""
        return self._items("presets.list", {}, {"limit": limit})

    async def load(self, preset: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PresetLoadRequest]) -> t.PresetResult:
        """Load a preset."""
        return await self._json("presets.load", {"preset": preset}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    async def unload(self, preset: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PresetUnloadRequest]) -> t.PresetResult:
        """Unload a preset."""
        return await self._json("presets.unload", {"preset": preset}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class QueuesAsyncResource(AsyncResource):
    __slots__ = ()

    async def history(self, *, range: t.HistoryRange | None = None, queue: str | None = None) -> t.QueueHistory:
        """Show the history of queues."""
        return await self._json("queues.history", {}, {"range": range, "queue": queue})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.QueueStatus]:
        """List queues."""
        return self._items("queues.list", {}, {"limit": limit})

    async def pause(self, queue: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PauseRequest]) -> t.QueueStatus:
        """Pause a queue."""
        return await self._json("queues.pause", {"queue": queue}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    async def resume(self, queue: str, /, *, idempotency_key: str | None = None) -> t.QueueStatus:
        """Resume a queue."""
        return await self._json("queues.resume", {"queue": queue}, idempotency_key=idempotency_key)


class ReferencesAsyncResource(AsyncResource):
    __slots__ = ()

    async def resolve(self, *, kind: t.ReferenceKind, ref: str) -> t.ReferenceResolution:
        """Resolve a name or an id prefix."""
        return await self._json("references.resolve", {}, {"kind": kind, "ref": ref})


class RunsAsyncResource(AsyncResource):
    __slots__ = ()

    async def cancel(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Cancel."""
        return await self._json("runs.cancel", {"run_id": run_id}, idempotency_key=idempotency_key)

    def children(self, run_id: str, /, *, limit: int | None = None) -> AsyncItems[t.Run]:
        """List the runs that follow a run, newest first."""
        return self._items("runs.children", {"run_id": run_id}, {"limit": limit})

    async def count(self, *, q: str | None = None) -> t.RunCount:
        """How many runs match a filter."""
        return await self._json("runs.count", {}, {"q": q})

    def events(self, run_id: str, /, *, limit: int | None = None, after: int | None = None) -> AsyncItems[t.RunEvent]:
        """List a run's events; as a stream with `Accept: text/event-stream`."""
        return self._items("runs.events", {"run_id": run_id}, {"limit": limit, "after": after})

    def follow(self, run_id: str, /, *, after: int = 0) -> AsyncIterator[t.RunEvent]:
        """The run's events as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("runs.events", {"run_id": run_id}, str(after) if after else None)

    async def explain(self, run_id: str, /) -> t.ExplanationAnswer:
        """Explain a run."""
        return await self._json("runs.explain", {"run_id": run_id})

    def export(self, *, q: str | None = None, format: Literal["ndjson", "csv"] | None = None) -> AsyncIterator[bytes]:
        """Download all runs that match a filter."""
        return self._bytes("runs.export", {}, {"q": q, "format": format})

    async def get(self, run_id: str, /) -> t.Run:
        """Get a run and its attempts."""
        return await self._json("runs.get", {"run_id": run_id})

    def list(self, *, sort: str | None = None, limit: int | None = None, schedule_id: str | None = None, kind: str | None = None, queue: str | None = None, q: str | None = None, state: str | None = None) -> AsyncItems[t.Run]:
        """List runs, newest first or in another order."""
        return self._items("runs.list", {}, {"sort": sort, "limit": limit, "schedule_id": schedule_id, "kind": kind, "queue": queue, "q": q, "state": state})

    async def log(self, run_id: str, /, *, after: int | None = None, before: int | None = None, around: int | None = None, limit: int | None = None, grep: str | None = None, level: Literal["debug", "info", "warning", "error", "critical"] | None = None, attempt: int | None = None, category: str | None = None) -> t.RunLog:
        """Read or search a run's log."""
        return await self._json("runs.log", {"run_id": run_id}, {"after": after, "before": before, "around": around, "limit": limit, "grep": grep, "level": level, "attempt": attempt, "category": category})

    async def log_count(self, run_id: str, /, *, grep: str | None = None, level: Literal["debug", "info", "warning", "error", "critical"] | None = None, attempt: int | None = None, category: str | None = None) -> t.LogCount:
        """Count a run's log lines by level, category and attempt."""
        return await self._json("runs.log_count", {"run_id": run_id}, {"grep": grep, "level": level, "attempt": attempt, "category": category})

    async def log_text(self, run_id: str, /) -> str:
        """Download a run's log as text."""
        return await self._text("runs.log_text", {"run_id": run_id}, {})

    async def neighbours(self, run_id: str, /) -> t.RunNeighbours:
        """Get the previous and next run of the same schedule."""
        return await self._json("runs.neighbours", {"run_id": run_id})

    async def parents(self, run_id: str, /) -> t.RunPage:
        """List the runs that a run follows, oldest first."""
        return await self._json("runs.parents", {"run_id": run_id})

    async def points(self, *, q: str | None = None, from_: t.Time | None = None, to: t.Time | None = None, limit: int | None = None) -> t.RunPoints:
        """Get single runs over time with their durations."""
        return await self._json("runs.points", {}, {"q": q, "from": from_, "to": to, "limit": limit})

    async def quarantine(self, run_id: str, /) -> t.QuarantineAnswer:
        """Show what became of the data of a degraded run."""
        return await self._json("runs.quarantine", {"run_id": run_id})

    async def quarantine_drop(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.QuarantineAnswer:
        """Drop the data of a degraded run."""
        return await self._json("runs.quarantine_drop", {"run_id": run_id}, idempotency_key=idempotency_key)

    async def quarantine_release(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.QuarantineAnswer:
        """Release the data of a degraded run."""
        return await self._json("runs.quarantine_release", {"run_id": run_id}, idempotency_key=idempotency_key)

    async def retry(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Run again."""
        return await self._json("runs.retry", {"run_id": run_id}, idempotency_key=idempotency_key)

    async def series(self, *, q: str | None = None, from_: t.Time | None = None, to: t.Time | None = None, bucket_seconds: int | None = None) -> t.RunSeries:
        """Runs over time."""
        return await self._json("runs.series", {}, {"q": q, "from": from_, "to": to, "bucket_seconds": bucket_seconds})


class SchedulesAsyncResource(AsyncResource):
    __slots__ = ()

    async def backfill(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.NewBackfillFields]) -> t.BulkAction:
        """Backfill scheduled times."""
        return await self._json("schedules.backfill", {"schedule_id": schedule_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def backfill_dry_run(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.NewBackfillFields]) -> t.BackfillDryRun:
        """Backfill scheduled times: what it would do."""
        return await self._json("schedules.backfill", {"schedule_id": schedule_id}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    async def chain(self, schedule_id: str, /) -> t.ScheduleChain:
        """Get the chain around a schedule."""
        return await self._json("schedules.chain", {"schedule_id": schedule_id})

    async def count(self, *, q: str | None = None) -> t.ScheduleCount:
        """How many schedules match a filter."""
        return await self._json("schedules.count", {}, {"q": q})

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Schedule:
        """Create a schedule."""
        return await self._json("schedules.create", {}, {}, schedule_document(fields_of(body)), idempotency_key=idempotency_key)

    async def create_batch(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleBatchRequest]) -> t.ScheduleBatchResult:
        """Create many schedules."""
        return await self._json("schedules.create_batch", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, schedule_id: str, /, *, if_match: int | None = None) -> None:
        """Delete a schedule."""
        await self._json("schedules.delete", {"schedule_id": schedule_id}, if_match=if_match)

    async def explain(self, schedule_id: str, /, *, at: t.Time | None = None) -> t.ExplanationAnswer:
        """Explain a time of a schedule."""
        return await self._json("schedules.explain", {"schedule_id": schedule_id}, {"at": at})

    async def export(self, *, q: str | None = None, ids: str | Sequence[str] | None = None) -> builtins.list[dict[str, Any]]:
        """Download all schedules that match a filter."""
        return await self._json("schedules.export", {}, {"q": q, "ids": ids, "format": "json"})

    def download_export(self, *, q: str | None = None, ids: str | Sequence[str] | None = None, format: Literal["yaml", "json"] | None = None) -> AsyncIterator[bytes]:
        """Download all schedules that match a filter, as a file."""
        return self._bytes("schedules.export", {}, {"q": q, "ids": ids, "format": format})

    async def get(self, schedule_id: str, /) -> t.Schedule:
        """One schedule."""
        return await self._json("schedules.get", {"schedule_id": schedule_id})

    async def health(self, *, ids: str | Sequence[str]) -> t.ScheduleHealthList:
        """Get the health of schedules."""
        return await self._json("schedules.health", {}, {"ids": ids})

    def instants(self, schedule_id: str, /, *, from_: t.Time | None = None, to: t.Time | None = None, limit: int | None = None) -> AsyncItems[t.ScheduleInstant]:
        """List a schedule's scheduled times."""
        return self._items("schedules.instants", {"schedule_id": schedule_id}, {"from": from_, "to": to, "limit": limit})

    def list(self, *, sort: str | None = None, limit: int | None = None, status: t.ScheduleStatus | None = None, type: t.TriggerType | None = None, kind: str | None = None, tag: str | None = None, q: str | None = None) -> AsyncItems[t.Schedule]:
        """List schedules."""
        return self._items("schedules.list", {}, {"sort": sort, "limit": limit, "status": status, "type": type, "kind": kind, "tag": tag, "q": q})

    async def pause(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PauseRequest]) -> t.Schedule:
        """Pause."""
        return await self._json("schedules.pause", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    async def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.PreviewRequest]) -> t.SchedulePreview:
        """Preview a trigger."""
        return await self._json("schedules.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def quality(self, schedule_id: str, /) -> t.ScheduleQualityAnswer:
        """Show the data of a schedule's newest runs."""
        return await self._json("schedules.quality", {"schedule_id": schedule_id})

    async def ranking(self, *, over: t.RankingPeriod | None = None, limit: int | None = None) -> t.ScheduleRanking:
        """List the slowest and the flakiest schedules."""
        return await self._json("schedules.ranking", {}, {"over": over, "limit": limit})

    async def realign(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Realign a schedule that is ahead."""
        return await self._json("schedules.realign", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    async def realign_all(self, *, idempotency_key: str | None = None) -> t.RealignResult:
        """Realign all schedules that are ahead."""
        return await self._json("schedules.realign_all", {}, idempotency_key=idempotency_key)

    async def replace(self, schedule_id: str, /, *, if_match: int | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Schedule:
        """Replace a schedule."""
        return await self._json("schedules.replace", {"schedule_id": schedule_id}, {}, schedule_document(fields_of(body)), if_match=if_match)

    async def resume(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Resume."""
        return await self._json("schedules.resume", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    async def run_now(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.RunNowRequest]) -> t.Run:
        """Run now."""
        return await self._json("schedules.run_now", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def runs(self, schedule_id: str, /, *, limit: int | None = None, state: str | None = None) -> AsyncItems[t.Run]:
        """List a schedule's runs, newest first."""
        return self._items("schedules.runs", {"schedule_id": schedule_id}, {"limit": limit, "state": state})

    async def skip_next(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.SkipRequest]) -> t.Schedule:
        """Skip the next scheduled time."""
        return await self._json("schedules.skip_next", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    async def take_over(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Take a schedule over from its file."""
        return await self._json("schedules.take_over", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    async def trial(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Run:
        """Try a schedule without saving it."""
        return await self._json("schedules.trial", {}, {}, schedule_document(fields_of(body)), idempotency_key=idempotency_key)

    async def unskip(self, schedule_id: str, /) -> t.Schedule:
        """Undo the skip."""
        return await self._json("schedules.unskip", {"schedule_id": schedule_id})

    async def update(self, schedule_id: str, /, *, if_match: int | None = None, **body: Unpack[t.SchedulePatchFields]) -> t.Schedule:
        """Change a schedule."""
        return await self._json("schedules.patch", {"schedule_id": schedule_id}, {}, schedule_document(fields_of(body)), if_match=if_match)

    def versions(self, schedule_id: str, /, *, limit: int | None = None) -> AsyncItems[t.ScheduleVersion]:
        """List a schedule's versions."""
        return self._items("schedules.versions", {"schedule_id": schedule_id}, {"limit": limit})


class SecretsAsyncResource(AsyncResource):
    __slots__ = ()

    async def delete(self, name: str, /) -> None:
        """Delete a secret."""
        await self._json("secrets.delete", {"name": name})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.SecretInfo]:
        """List secrets."""
        return self._items("secrets.list", {}, {"limit": limit})

    async def put(self, name: str, /, **body: Unpack[t.SecretRequest]) -> None:
        """Set a secret."""
        await self._json("secrets.put", {"name": name}, {}, fields_of(body))


class SessionsAsyncResource(AsyncResource):
    __slots__ = ()

    async def begin(self, *, idempotency_key: str | None = None, **body: Unpack[t.SessionRequest]) -> None:
        """Sign in with a browser."""
        await self._json("sessions.begin", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def end(self) -> None:
        """Sign out with a browser."""
        await self._json("sessions.end", {})

    async def end_all(self) -> t.SessionsEnded:
        """Sign out everywhere."""
        return await self._json("sessions.end_all", {})

    async def show(self) -> t.SessionInfo:
        """Get the current session."""
        return await self._json("sessions.show", {})


class StreamTicketsAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None) -> t.StreamTicket:
        """Create a ticket for a stream."""
        return await self._json("stream_tickets.create", {}, idempotency_key=idempotency_key)


class TasksAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, task: str, /) -> t.RegisteredTask:
        """One task."""
        return await self._json("tasks.get", {"task": task})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.RegisteredTask]:
        """List tasks."""
        return self._items("tasks.list", {}, {"limit": limit})

    async def run(self, task: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.TaskRunRequest]) -> t.Run:
        """Run a task now."""
        return await self._json("tasks.run", {"task": task}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class TenantsAsyncResource(AsyncResource):
    __slots__ = ()

    async def get(self, tenant_id: str, /) -> t.TenantSettings:
        """Get the limits of a tenant."""
        return await self._json("tenants.get", {"tenant_id": tenant_id})

    def list(self, *, limit: int | None = None) -> AsyncItems[t.TenantSettings]:
        """List tenants with settings of their own."""
        return self._items("tenants.list", {}, {"limit": limit})

    async def put(self, tenant_id: str, /, **body: Unpack[t.TenantRequest]) -> t.TenantSettings:
        """Set the limits of a tenant."""
        return await self._json("tenants.put", {"tenant_id": tenant_id}, {}, fields_of(body))


class TimelineAsyncResource(AsyncResource):
    __slots__ = ()

    async def show(self, *, group_by: t.TimelineGrouping | None = None, q: str | None = None, rows: int | None = None, from_: t.Time | None = None, to: t.Time | None = None) -> t.Timeline:
        """Get past and planned runs as marks on a timeline."""
        return await self._json("timeline.show", {}, {"group_by": group_by, "q": q, "rows": rows, "from": from_, "to": to})


class ViewsAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewSavedView]) -> t.SavedView:
        """Save a view."""
        return await self._json("views.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, view_id: str, /) -> None:
        """Delete a saved view."""
        await self._json("views.delete", {"view_id": view_id})

    def list(self, *, list: t.ViewedList | None = None, limit: int | None = None) -> AsyncItems[t.SavedView]:
        """List saved views."""
        return self._items("views.list", {}, {"list": list, "limit": limit})

    async def update(self, view_id: str, /, **body: Unpack[t.SavedViewChange]) -> t.SavedView:
        """Change a saved view."""
        return await self._json("views.change", {"view_id": view_id}, {}, fields_of(body))


class WatchesAsyncResource(AsyncResource):
    __slots__ = ()

    async def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.WatchRequest]) -> t.WatchDetail:
        """Create a watch."""
        return await self._json("watches.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def delete(self, watch_id: str, /) -> None:
        """Delete a watch."""
        await self._json("watches.delete", {"watch_id": watch_id})

    async def diff(self, watch_id: str, page_id: str, /, *, from_: t.Time | None = None, to: t.Time | None = None, as_: Literal["fields", "lines", "words"] | None = None) -> t.PageDiffDetail:
        """What differs between two versions of a page."""
        return await self._json("watches.diff", {"watch_id": watch_id, "page_id": page_id}, {"from": from_, "to": to, "as": as_})

    async def get(self, watch_id: str, /) -> t.WatchDetail:
        """One watch."""
        return await self._json("watches.get", {"watch_id": watch_id})

    def list(self, *, q: str | None = None, limit: int | None = None) -> AsyncItems[t.WatchDetail]:
        """List watches."""
        return self._items("watches.list", {}, {"q": q, "limit": limit})

    async def page(self, watch_id: str, page_id: str, /) -> t.WatchedPageDetail:
        """One page of a watch."""
        return await self._json("watches.page", {"watch_id": watch_id, "page_id": page_id})

    def pages(self, watch_id: str, /, *, state: t.PageState | None = None, q: str | None = None, limit: int | None = None) -> AsyncItems[t.WatchedPageDetail]:
        """List the pages of a watch."""
        return self._items("watches.pages", {"watch_id": watch_id}, {"state": state, "q": q, "limit": limit})

    async def pause(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.WatchDetail:
        """Pause a watch."""
        return await self._json("watches.pause", {"watch_id": watch_id}, idempotency_key=idempotency_key)

    async def plot(self, watch_id: str, /, *, field: str | None = None, pages: int | None = None, page: str | None = None) -> t.WatchPlotDetail:
        """A numeric field of a watch over time."""
        return await self._json("watches.plot", {"watch_id": watch_id}, {"field": field, "pages": pages, "page": page})

    async def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.WatchPreviewRequestFields]) -> t.WatchPreviewAnswer:
        """Try a watch before it is saved."""
        return await self._json("watches.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def resume(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.WatchDetail:
        """Resume a watch."""
        return await self._json("watches.resume", {"watch_id": watch_id}, idempotency_key=idempotency_key)

    async def try_condition(self, watch_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.ConditionTrialRequest]) -> t.ConditionTrialAnswer:
        """Try a condition over stored versions."""
        return await self._json("watches.try_condition", {"watch_id": watch_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def update(self, watch_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.WatchChangeFields]) -> t.WatchDetail:
        """Change a watch."""
        return await self._json("watches.change", {"watch_id": watch_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    async def version(self, watch_id: str, page_id: str, version_id: str, /) -> t.PageVersionDetail:
        """One version of a page, with its text."""
        return await self._json("watches.version", {"watch_id": watch_id, "page_id": page_id, "version_id": version_id})

    def versions(self, watch_id: str, page_id: str, /, *, limit: int | None = None) -> AsyncItems[t.PageVersionDetail]:
        """List the versions of a page."""
        return self._items("watches.versions", {"watch_id": watch_id, "page_id": page_id}, {"limit": limit})

    async def visit(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Visit all pages now."""
        return await self._json("watches.visit", {"watch_id": watch_id}, idempotency_key=idempotency_key)


class WorkersAsyncResource(AsyncResource):
    __slots__ = ()

    async def drain(self, node_id: str, /, *, idempotency_key: str | None = None) -> t.WorkerStatus:
        """Drain a worker."""
        return await self._json("workers.drain", {"node_id": node_id}, idempotency_key=idempotency_key)

    def list(self, *, limit: int | None = None) -> AsyncItems[t.WorkerStatus]:
        """List workers."""
        return self._items("workers.list", {}, {"limit": limit})

    async def ping(self, *, idempotency_key: str | None = None) -> t.WorkerPage:
        """Ping workers."""
        return await self._json("workers.ping", {}, idempotency_key=idempotency_key)

    async def restart(self, node_id: str, /, *, idempotency_key: str | None = None) -> t.WorkerStatus:
        """Restart a worker."""
        return await self._json("workers.restart", {"node_id": node_id}, idempotency_key=idempotency_key)



class AsyncResources:
    """The groups of operations."""

    def __init__(self, session: AsyncSession) -> None:
        self.alert_rules = AlertRulesAsyncResource(session)
        self.alerts = AlertsAsyncResource(session)
        self.api_keys = ApiKeysAsyncResource(session)
        self.articles = ArticlesAsyncResource(session)
        self.attention = AttentionAsyncResource(session)
        self.audit_log = AuditLogAsyncResource(session)
        self.bulk = BulkAsyncResource(session)
        self.calendar = CalendarAsyncResource(session)
        self.calendars = CalendarsAsyncResource(session)
        self.changes = ChangesAsyncResource(session)
        self.channels = ChannelsAsyncResource(session)
        self.crawls = CrawlsAsyncResource(session)
        self.dead_letters = DeadLettersAsyncResource(session)
        self.deliveries = DeliveriesAsyncResource(session)
        self.demo = DemoAsyncResource(session)
        self.endpoints = EndpointsAsyncResource(session)
        self.filters = FiltersAsyncResource(session)
        self.health = HealthAsyncResource(session)
        self.host_sessions = HostSessionsAsyncResource(session)
        self.hosts = HostsAsyncResource(session)
        self.invites = InvitesAsyncResource(session)
        self.jobs = JobsAsyncResource(session)
        self.limits = LimitsAsyncResource(session)
        self.login_links = LoginLinksAsyncResource(session)
        self.members = MembersAsyncResource(session)
        self.monitors = MonitorsAsyncResource(session)
        self.pages = PagesAsyncResource(session)
        self.pipelines = PipelinesAsyncResource(session)
        self.plans = PlansAsyncResource(session)
        self.presets = PresetsAsyncResource(session)
        self.queues = QueuesAsyncResource(session)
        self.references = ReferencesAsyncResource(session)
        self.runs = RunsAsyncResource(session)
        self.schedules = SchedulesAsyncResource(session)
        self.secrets = SecretsAsyncResource(session)
        self.sessions = SessionsAsyncResource(session)
        self.stream_tickets = StreamTicketsAsyncResource(session)
        self.tasks = TasksAsyncResource(session)
        self.tenants = TenantsAsyncResource(session)
        self.timeline = TimelineAsyncResource(session)
        self.views = ViewsAsyncResource(session)
        self.watches = WatchesAsyncResource(session)
        self.workers = WorkersAsyncResource(session)
