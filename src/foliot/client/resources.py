"""A method for each operation.

Written by `make reference` from the API's description. Do not edit.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack

from foliot.client.session import Items, Resource, Session
from foliot.client.core import fields_of
from foliot.client.short_forms import schedule_document

if TYPE_CHECKING:
    from foliot.client import types as t


class AlertRulesResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.AlertRuleRequest]) -> t.AlertRule:
        """Create an alert rule."""
        return self._json("alert_rules.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, rule_id: str, /) -> None:
        """Delete an alert rule."""
        self._json("alert_rules.delete", {"rule_id": rule_id})

    def get(self, rule_id: str, /) -> t.AlertRule:
        """One alert rule."""
        return self._json("alert_rules.get", {"rule_id": rule_id})

    def list(self, *, limit: int | None = None) -> Items[t.AlertRule]:
        """List alert rules."""
        return self._items("alert_rules.list", {}, {"limit": limit})

    def of_schedule(self, schedule_id: str, /) -> t.NotifyingRulePage:
        """List the alert rules about a schedule."""
        return self._json("alert_rules.of_schedule", {"schedule_id": schedule_id})

    def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.AlertRulePreviewRequest]) -> t.AlertRulePreview:
        """Preview what a rule would have reported."""
        return self._json("alert_rules.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def update(self, rule_id: str, /, **body: Unpack[t.AlertRuleChange]) -> t.AlertRule:
        """Change an alert rule."""
        return self._json("alert_rules.change", {"rule_id": rule_id}, {}, fields_of(body))


class AlertsResource(Resource):
    __slots__ = ()

    def acknowledge(self, alert_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDetail:
        """Acknowledge an alert."""
        return self._json("alerts.acknowledge", {"alert_id": alert_id}, idempotency_key=idempotency_key)

    def counts(self) -> t.AlertCounts:
        """How many alerts are not resolved."""
        return self._json("alerts.counts", {})

    def get(self, alert_id: str, /) -> t.AlertDetail:
        """One alert."""
        return self._json("alerts.get", {"alert_id": alert_id})

    def list(self, *, state: t.AlertState | None = None, schedule_id: str | None = None, sort: str | None = None, limit: int | None = None) -> Items[t.AlertDetail]:
        """List alerts, newest first or in another order."""
        return self._items("alerts.list", {}, {"state": state, "schedule_id": schedule_id, "sort": sort, "limit": limit})

    def resolve(self, alert_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDetail:
        """Resolve an alert."""
        return self._json("alerts.resolve", {"alert_id": alert_id}, idempotency_key=idempotency_key)

    def snooze(self, alert_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.SnoozeRequestFields]) -> t.AlertDetail:
        """Snooze an alert."""
        return self._json("alerts.snooze", {"alert_id": alert_id}, {}, fields_of(body), idempotency_key=idempotency_key)


class ApiKeysResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ApiKeyRequest]) -> t.NewApiKey:
        """Create an API key."""
        return self._json("api_keys.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, key_id: str, /) -> None:
        """Revoke an API key."""
        self._json("api_keys.revoke", {"key_id": key_id})

    def list(self, *, limit: int | None = None) -> Items[t.ApiKey]:
        """List API keys, newest first."""
        return self._items("api_keys.list", {}, {"limit": limit})


class ArticlesResource(Resource):
    __slots__ = ()

    def results(self, job_id: str, /, *, limit: int | None = None) -> Items[t.ArticleResult]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> Iterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return self._json("jobs.status", {"job_id": job_id})

    def submit(self, *, idempotency_key: str | None = None, **body: Unpack[t.ArticleJobRequest]) -> t.ArticleJob:
        """Fetch articles."""
        return self._json("articles.submit", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class AttentionResource(Resource):
    __slots__ = ()

    def list(self) -> t.AttentionReport:
        """List what needs attention."""
        return self._json("attention.list", {})


class AuditLogResource(Resource):
    __slots__ = ()

    def list(self, *, limit: int | None = None, from_: t.Time | None = None, to: t.Time | None = None, user: str | None = None, thing: str | None = None, thing_id: str | None = None, verb: str | None = None) -> Items[t.AuditLogEntry]:
        """List audit entries, newest first."""
        return self._items("audit_log.list", {}, {"limit": limit, "from": from_, "to": to, "user": user, "thing": thing, "thing_id": thing_id, "verb": verb})

    def revert(self, entry_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Revert an edit of a schedule."""
        return self._json("audit_log.revert", {"entry_id": entry_id}, idempotency_key=idempotency_key)


class BulkResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewBulkActionFields]) -> t.BulkAction:
        """Act on everything that matches."""
        return self._json("bulk.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def create_dry_run(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewBulkActionFields]) -> t.BulkDryRun:
        """Act on everything that matches: what it would do."""
        return self._json("bulk.create", {}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    def get(self, bulk_id: str, /) -> t.BulkAction:
        """One bulk action."""
        return self._json("bulk.get", {"bulk_id": bulk_id})

    def list(self, *, limit: int | None = None) -> Items[t.BulkAction]:
        """List bulk actions, newest first."""
        return self._items("bulk.list", {}, {"limit": limit})

    def pause(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Pause."""
        return self._json("bulk.pause", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)

    def resume(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Resume."""
        return self._json("bulk.resume", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)

    def stop(self, bulk_id: str, /, *, idempotency_key: str | None = None) -> t.BulkAction:
        """Stop for good."""
        return self._json("bulk.stop", {"bulk_id": bulk_id}, idempotency_key=idempotency_key)


class CalendarResource(Resource):
    __slots__ = ()

    def show(self, *, granularity: t.Granularity | None = None, timezone: str | None = None, schedule_id: str | None = None, from_: t.Time | None = None, to: t.Time | None = None) -> t.Calendar:
        """Count past and planned runs by hour or day."""
        return self._json("calendar.show", {}, {"granularity": granularity, "timezone": timezone, "schedule_id": schedule_id, "from": from_, "to": to})


class CalendarsResource(Resource):
    __slots__ = ()

    def countries(self) -> t.HolidayCountries:
        """List countries with public holidays."""
        return self._json("calendars.countries", {})

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Create a calendar."""
        return self._json("calendars.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, calendar_id: str, /) -> None:
        """Delete a calendar."""
        self._json("calendars.delete", {"calendar_id": calendar_id})

    def list(self, *, limit: int | None = None) -> Items[t.NamedCalendar]:
        """List calendars."""
        return self._items("calendars.list", {}, {"limit": limit})

    def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Preview a calendar."""
        return self._json("calendars.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def replace(self, calendar_id: str, /, **body: Unpack[t.NamedCalendarRequest]) -> t.NamedCalendar:
        """Replace a calendar."""
        return self._json("calendars.replace", {"calendar_id": calendar_id}, {}, fields_of(body))

    def show(self, calendar_id: str, /) -> t.NamedCalendar:
        """Show a calendar."""
        return self._json("calendars.show", {"calendar_id": calendar_id})


class ChangesResource(Resource):
    __slots__ = ()

    def export(self, *, q: str | None = None, format: Literal["ndjson", "csv"] | None = None) -> Iterator[bytes]:
        """Download all changes that match a filter."""
        return self._bytes("changes.export", {}, {"q": q, "format": format})

    def get(self, change_id: str, /) -> t.ChangeDetail:
        """One change."""
        return self._json("changes.get", {"change_id": change_id})

    def list(self, *, q: str | None = None, after: int | None = None, limit: int | None = None) -> Items[t.ChangeDetail]:
        """List changes of all watches."""
        return self._items("changes.list", {}, {"q": q, "after": after, "limit": limit})


class ChannelsResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ChannelRequest]) -> t.NotificationChannel:
        """Create a channel."""
        return self._json("channels.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, channel_id: str, /) -> None:
        """Delete a channel."""
        self._json("channels.delete", {"channel_id": channel_id})

    def get(self, channel_id: str, /) -> t.NotificationChannel:
        """One channel."""
        return self._json("channels.get", {"channel_id": channel_id})

    def list(self, *, limit: int | None = None) -> Items[t.NotificationChannel]:
        """List channels."""
        return self._items("channels.list", {}, {"limit": limit})

    def test(self, channel_id: str, /, *, idempotency_key: str | None = None) -> t.AlertDelivery:
        """Send a test."""
        return self._json("channels.test", {"channel_id": channel_id}, idempotency_key=idempotency_key)

    def update(self, channel_id: str, /, **body: Unpack[t.ChannelChange]) -> t.NotificationChannel:
        """Change a channel."""
        return self._json("channels.change", {"channel_id": channel_id}, {}, fields_of(body))


class CrawlsResource(Resource):
    __slots__ = ()

    def follow(self, job_id: str, /, *, last_id: str | None = None) -> Iterator[dict[str, Any]]:
        """The lines of the log as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("jobs.logs", {"job_id": job_id}, last_id)

    def results(self, job_id: str, /, *, limit: int | None = None) -> Items[Any]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> Iterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    def start(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewCrawl]) -> t.FreshCrawl | t.CachedCrawl | t.PlannedCrawl:
        """Crawl."""
        return self._json("crawls.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return self._json("jobs.status", {"job_id": job_id})


class DeadLettersResource(Resource):
    __slots__ = ()

    def groups(self, *, q: str | None = None, sort: str | None = None, limit: int | None = None) -> Items[t.FailureGroup]:
        """Group dead letters by error."""
        return self._items("dead_letters.groups", {}, {"q": q, "sort": sort, "limit": limit})

    def list(self, *, kind: str | None = None, schedule_id: str | None = None, code: str | None = None, sort: str | None = None, limit: int | None = None) -> Items[t.DeadLettersByError]:
        """Dead letters, grouped by error."""
        return self._items("dead_letters.by_error", {}, {"kind": kind, "schedule_id": schedule_id, "code": code, "sort": sort, "limit": limit})

    def mute(self, fingerprint: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.MuteRequest]) -> t.MutedGroup:
        """Mute a group."""
        return self._json("dead_letters.mute", {"fingerprint": fingerprint}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def replay(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReplayRequest]) -> t.ReplayResult:
        """Replay."""
        return self._json("dead_letters.replay", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def unmute(self, fingerprint: str, /, *, idempotency_key: str | None = None) -> t.UnmutedGroup:
        """Unmute a group."""
        return self._json("dead_letters.unmute", {"fingerprint": fingerprint}, idempotency_key=idempotency_key)


class DeliveriesResource(Resource):
    __slots__ = ()

    def get(self, delivery_id: str, /) -> t.AlertDelivery:
        """One delivery."""
        return self._json("deliveries.get", {"delivery_id": delivery_id})


class DemoResource(Resource):
    __slots__ = ()

    def remove(self) -> t.DemoRemoved:
        """Remove the demo."""
        return self._json("demo.remove", {})

    def show(self) -> t.DemoSummary:
        """Whether the demo is on."""
        return self._json("demo.show", {})


class EndpointsResource(Resource):
    __slots__ = ()

    def list(self, *, sort: str | None = None, limit: int | None = None) -> Items[t.EndpointHealth]:
        """Show the health of webhook targets."""
        return self._items("endpoints.list", {}, {"sort": sort, "limit": limit})

    def send_test(self, *, idempotency_key: str | None = None, **body: Unpack[t.EndpointTestRequest]) -> t.Run:
        """Send a test."""
        return self._json("endpoints.send_test", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class FiltersResource(Resource):
    __slots__ = ()

    def suggest(self, *, field: t.SuggestField | None = None, prefix: str | None = None, limit: int | None = None) -> t.SuggestionList:
        """Suggest values for a filter."""
        return self._json("filters.suggest", {}, {"field": field, "prefix": prefix, "limit": limit})


class HealthResource(Resource):
    __slots__ = ()

    def detailed(self) -> t.HealthReport:
        """Every dependency, with its latency."""
        return self._json("health.detailed", {})

    def live(self) -> t.Liveness:
        """Whether this process answers."""
        return self._json("health.live", {})

    def metrics(self) -> str:
        """Prometheus metrics."""
        return self._text("health.metrics", {}, {})


class HostSessionsResource(Resource):
    __slots__ = ()

    def delete(self, host: str, name: str, /) -> None:
        """Delete a session of a host."""
        self._json("host_sessions.delete", {"host": host, "name": name})

    def list(self, *, limit: int | None = None) -> Items[t.HostSessionStatus]:
        """List sessions of hosts."""
        return self._items("host_sessions.list", {}, {"limit": limit})

    def put(self, host: str, name: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.HostSessionRequest]) -> t.HostSessionStatus:
        """Set a session of a host."""
        return self._json("host_sessions.put", {"host": host, "name": name}, {}, fields_of(body), idempotency_key=idempotency_key)


class HostsResource(Resource):
    __slots__ = ()

    def get(self, host: str, /) -> t.HostStatus:
        """One host."""
        return self._json("hosts.get", {"host": host})

    def list(self, *, q: str | None = None, limit: int | None = None) -> Items[t.HostStatus]:
        """List hosts."""
        return self._items("hosts.list", {}, {"q": q, "limit": limit})

    def put(self, host: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.HostRequest]) -> t.HostStatus:
        """Set the limits of a host."""
        return self._json("hosts.put", {"host": host}, {}, fields_of(body), idempotency_key=idempotency_key)

    def reset(self, host: str, /, *, idempotency_key: str | None = None) -> t.HostStatus:
        """Reset a host to its defaults."""
        return self._json("hosts.reset", {"host": host}, idempotency_key=idempotency_key)

    def turns(self, host: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.TurnsRequest]) -> t.TurnBlock:
        """Turns for a spider."""
        return self._json("hosts.turns", {"host": host}, {}, fields_of(body), idempotency_key=idempotency_key)


class InvitesResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.InviteRequest]) -> t.Invite:
        """Invite a person."""
        return self._json("invites.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class JobsResource(Resource):
    __slots__ = ()

    def article(self, job_id: str, article_id: str, /) -> t.ArticleDetail:
        """Get an article and its previous versions."""
        return self._json("jobs.article", {"job_id": job_id, "article_id": article_id})

    def cancel(self, job_id: str, /) -> t.CancelledJob:
        """Cancel a job."""
        return self._json("jobs.cancel", {"job_id": job_id})

    def list(self, *, status_filter: str | None = None, kind: Literal["crawl", "articles"] | None = None, limit: int | None = None, sort: str | None = None) -> Items[t.JobReport]:
        """List jobs."""
        return self._items("jobs.list", {}, {"status_filter": status_filter, "kind": kind, "limit": limit, "sort": sort})

    def follow(self, job_id: str, /, *, last_id: str | None = None) -> Iterator[dict[str, Any]]:
        """The lines of the log as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("jobs.logs", {"job_id": job_id}, last_id)

    def log_text(self, job_id: str, /) -> str:
        """Get the log of a crawl so far."""
        return self._text("jobs.logs", {"job_id": job_id}, {"format": "text"})

    def results(self, job_id: str, /, *, limit: int | None = None) -> Items[Any]:
        """Get the items of a crawl."""
        return self._items("jobs.results", {"job_id": job_id}, {"limit": limit, "format": "json"})

    def download_results(self, job_id: str, /, *, format: Literal["json", "ndjson", "csv"] | None = None) -> Iterator[bytes]:
        """Get the items of a crawl, as a file."""
        return self._bytes("jobs.results", {"job_id": job_id}, {"format": format})

    def status(self, job_id: str, /) -> t.JobDetail:
        """Get the status of a job."""
        return self._json("jobs.status", {"job_id": job_id})


class LimitsResource(Resource):
    __slots__ = ()

    def show(self) -> t.LimitUsage:
        """Get your tenant's limits, and how much of them is used."""
        return self._json("limits.show", {})


class LoginLinksResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None) -> t.LoginLink:
        """Create a sign-in link."""
        return self._json("login_links.create", {}, idempotency_key=idempotency_key)


class MembersResource(Resource):
    __slots__ = ()

    def list(self, *, limit: int | None = None) -> Items[t.MemberInfo]:
        """List members of the tenant."""
        return self._items("members.list", {}, {"limit": limit})


class MonitorsResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.MonitorRequest]) -> t.MonitorDetail:
        """Create a monitor."""
        return self._json("monitors.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, monitor_id: str, /) -> None:
        """Delete a monitor."""
        self._json("monitors.delete", {"monitor_id": monitor_id})

    def get(self, monitor_id: str, /) -> t.MonitorDetail:
        """One monitor."""
        return self._json("monitors.get", {"monitor_id": monitor_id})

    def instants(self, monitor_id: str, /, *, limit: int | None = None) -> t.ExpectedPingPage:
        """List the times at which pings were or are expected."""
        return self._json("monitors.instants", {"monitor_id": monitor_id}, {"limit": limit})

    def list(self, *, limit: int | None = None) -> Items[t.MonitorDetail]:
        """List monitors."""
        return self._items("monitors.list", {}, {"limit": limit})

    def pause(self, monitor_id: str, /, *, idempotency_key: str | None = None) -> t.MonitorDetail:
        """Pause a monitor."""
        return self._json("monitors.pause", {"monitor_id": monitor_id}, idempotency_key=idempotency_key)

    def ping(self, monitor_id: str, ping_id: str, /) -> t.MonitorPing:
        """One ping, with its log."""
        return self._json("monitors.ping", {"monitor_id": monitor_id, "ping_id": ping_id})

    def pings(self, monitor_id: str, /, *, limit: int | None = None) -> Items[t.MonitorPing]:
        """List a monitor's pings, newest first."""
        return self._items("monitors.pings", {"monitor_id": monitor_id}, {"limit": limit})

    def resume(self, monitor_id: str, /, *, idempotency_key: str | None = None) -> t.MonitorDetail:
        """Resume a monitor."""
        return self._json("monitors.resume", {"monitor_id": monitor_id}, idempotency_key=idempotency_key)

    def update(self, monitor_id: str, /, **body: Unpack[t.MonitorChange]) -> t.MonitorDetail:
        """Change a monitor."""
        return self._json("monitors.change", {"monitor_id": monitor_id}, {}, fields_of(body))


class PagesResource(Resource):
    __slots__ = ()

    def body(self, page_id: str, /, *, rendered: bool | None = None) -> Iterator[bytes]:
        """The body of a stored page."""
        return self._bytes("pages.body", {"page_id": page_id}, {"rendered": rendered})

    def export(self, *, q: str | None = None) -> Iterator[bytes]:
        """Download stored pages as WARC."""
        return self._bytes("pages.export", {}, {"q": q})

    def get(self, page_id: str, /) -> t.StoredPageInfo:
        """One stored page."""
        return self._json("pages.get", {"page_id": page_id})

    def list(self, *, q: str | None = None, limit: int | None = None) -> Items[t.StoredPageInfo]:
        """List stored pages."""
        return self._items("pages.list", {}, {"q": q, "limit": limit})

    def reextract(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReextractRequestFields]) -> t.BulkAction:
        """Read stored pages again."""
        return self._json("pages.reextract", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def reextract_dry_run(self, *, idempotency_key: str | None = None, **body: Unpack[t.ReextractRequestFields]) -> t.ReextractDryRun:
        """Read stored pages again: what it would do."""
        return self._json("pages.reextract", {}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    def versions(self, *, page_id: str | None = None, bulk_id: str | None = None, limit: int | None = None) -> Items[t.StoredPageVersionInfo]:
        """List versions of stored pages."""
        return self._items("pages.versions", {}, {"page_id": page_id, "bulk_id": bulk_id, "limit": limit})


class PipelinesResource(Resource):
    __slots__ = ()

    def get(self, pipeline: str, /) -> t.PipelineDetail:
        """One pipeline."""
        return self._json("pipelines.get", {"pipeline": pipeline})

    def list(self, *, limit: int | None = None) -> Items[t.PipelineSummary]:
        """List pipelines."""
        return self._items("pipelines.list", {}, {"limit": limit})

    def run(self, pipeline: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PipelineRunRequest]) -> t.Run:
        """Run a pipeline now."""
        return self._json("pipelines.run", {"pipeline": pipeline}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class PlansResource(Resource):
    __slots__ = ()

    def apply(self, *, idempotency_key: str | None = None, **body: Unpack[t.ApplyRequest]) -> t.PlanAnswer:
        """Apply a plan."""
        return self._json("plans.apply", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def plan(self, *, idempotency_key: str | None = None, **body: Unpack[t.PlanRequest]) -> t.PlanAnswer:
        """Compare documents with what is stored."""
        return self._json("plans.plan", {}, {}, fields_of(body), idempotency_key=idempotency_key)


class PresetsResource(Resource):
    __slots__ = ()

    def get(self, preset: str, /) -> t.PresetContents:
        """One preset."""
        return self._json("presets.get", {"preset": preset})

    def list(self, *, limit: int | None = None) -> Items[t.PresetContents]:
        """List presets."""
        return self._items("presets.list", {}, {"limit": limit})

    def load(self, preset: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PresetLoadRequest]) -> t.PresetResult:
        """Load a preset."""
        return self._json("presets.load", {"preset": preset}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def unload(self, preset: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PresetUnloadRequest]) -> t.PresetResult:
        """Unload a preset."""
        return self._json("presets.unload", {"preset": preset}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class QueuesResource(Resource):
    __slots__ = ()

    def history(self, *, range: t.HistoryRange | None = None, queue: str | None = None) -> t.QueueHistory:
        """Show the history of queues."""
        return self._json("queues.history", {}, {"range": range, "queue": queue})

    def list(self, *, limit: int | None = None) -> Items[t.QueueStatus]:
        """List queues."""
        return self._items("queues.list", {}, {"limit": limit})

    def pause(self, queue: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PauseRequest]) -> t.QueueStatus:
        """Pause a queue."""
        return self._json("queues.pause", {"queue": queue}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def resume(self, queue: str, /, *, idempotency_key: str | None = None) -> t.QueueStatus:
        """Resume a queue."""
        return self._json("queues.resume", {"queue": queue}, idempotency_key=idempotency_key)


class ReferencesResource(Resource):
    __slots__ = ()

    def resolve(self, *, kind: t.ReferenceKind, ref: str) -> t.ReferenceResolution:
        """Resolve a name or an id prefix."""
        return self._json("references.resolve", {}, {"kind": kind, "ref": ref})


class RunsResource(Resource):
    __slots__ = ()

    def cancel(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Cancel."""
        return self._json("runs.cancel", {"run_id": run_id}, idempotency_key=idempotency_key)

    def children(self, run_id: str, /, *, limit: int | None = None) -> Items[t.Run]:
        """List the runs that follow a run, newest first."""
        return self._items("runs.children", {"run_id": run_id}, {"limit": limit})

    def count(self, *, q: str | None = None) -> t.RunCount:
        """How many runs match a filter."""
        return self._json("runs.count", {}, {"q": q})

    def events(self, run_id: str, /, *, limit: int | None = None, after: int | None = None) -> Items[t.RunEvent]:
        """List a run's events; as a stream with `Accept: text/event-stream`."""
        return self._items("runs.events", {"run_id": run_id}, {"limit": limit, "after": after})

    def follow(self, run_id: str, /, *, after: int = 0) -> Iterator[t.RunEvent]:
        """The run's events as they come, each once, until the end; resumes exactly after a cut."""
        return self._follow("runs.events", {"run_id": run_id}, str(after) if after else None)

    def explain(self, run_id: str, /) -> t.ExplanationAnswer:
        """Explain a run."""
        return self._json("runs.explain", {"run_id": run_id})

    def export(self, *, q: str | None = None, format: Literal["ndjson", "csv"] | None = None) -> Iterator[bytes]:
        """Download all runs that match a filter."""
        return self._bytes("runs.export", {}, {"q": q, "format": format})

    def get(self, run_id: str, /) -> t.Run:
        """Get a run and its attempts."""
        return self._json("runs.get", {"run_id": run_id})

    def list(self, *, sort: str | None = None, limit: int | None = None, schedule_id: str | None = None, kind: str | None = None, queue: str | None = None, q: str | None = None, state: str | None = None) -> Items[t.Run]:
        """List runs, newest first or in another order."""
        return self._items("runs.list", {}, {"sort": sort, "limit": limit, "schedule_id": schedule_id, "kind": kind, "queue": queue, "q": q, "state": state})

    def log(self, run_id: str, /, *, after: int | None = None, before: int | None = None, around: int | None = None, limit: int | None = None, grep: str | None = None, level: Literal["debug", "info", "warning", "error", "critical"] | None = None, attempt: int | None = None, category: str | None = None) -> t.RunLog:
        """Read or search a run's log."""
        return self._json("runs.log", {"run_id": run_id}, {"after": after, "before": before, "around": around, "limit": limit, "grep": grep, "level": level, "attempt": attempt, "category": category})

    def log_count(self, run_id: str, /, *, grep: str | None = None, level: Literal["debug", "info", "warning", "error", "critical"] | None = None, attempt: int | None = None, category: str | None = None) -> t.LogCount:
        """Count a run's log lines by level, category and attempt."""
        return self._json("runs.log_count", {"run_id": run_id}, {"grep": grep, "level": level, "attempt": attempt, "category": category})

    def log_text(self, run_id: str, /) -> str:
        """Download a run's log as text."""
        return self._text("runs.log_text", {"run_id": run_id}, {})

    def neighbours(self, run_id: str, /) -> t.RunNeighbours:
        """Get the previous and next run of the same schedule."""
        return self._json("runs.neighbours", {"run_id": run_id})

    def parents(self, run_id: str, /) -> t.RunPage:
        """List the runs that a run follows, oldest first."""
        return self._json("runs.parents", {"run_id": run_id})

    def points(self, *, q: str | None = None, from_: t.Time | None = None, to: t.Time | None = None, limit: int | None = None) -> t.RunPoints:
        """Get single runs over time with their durations."""
        return self._json("runs.points", {}, {"q": q, "from": from_, "to": to, "limit": limit})

    def quarantine(self, run_id: str, /) -> t.QuarantineAnswer:
        """Show what became of the data of a degraded run."""
        return self._json("runs.quarantine", {"run_id": run_id})

    def quarantine_drop(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.QuarantineAnswer:
        """Drop the data of a degraded run."""
        return self._json("runs.quarantine_drop", {"run_id": run_id}, idempotency_key=idempotency_key)

    def quarantine_release(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.QuarantineAnswer:
        """Release the data of a degraded run."""
        return self._json("runs.quarantine_release", {"run_id": run_id}, idempotency_key=idempotency_key)

    def retry(self, run_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Run again."""
        return self._json("runs.retry", {"run_id": run_id}, idempotency_key=idempotency_key)

    def series(self, *, q: str | None = None, from_: t.Time | None = None, to: t.Time | None = None, bucket_seconds: int | None = None) -> t.RunSeries:
        """Runs over time."""
        return self._json("runs.series", {}, {"q": q, "from": from_, "to": to, "bucket_seconds": bucket_seconds})


class SchedulesResource(Resource):
    __slots__ = ()

    def backfill(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.NewBackfillFields]) -> t.BulkAction:
        """Backfill scheduled times."""
        return self._json("schedules.backfill", {"schedule_id": schedule_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    def backfill_dry_run(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.NewBackfillFields]) -> t.BackfillDryRun:
        """Backfill scheduled times: what it would do."""
        return self._json("schedules.backfill", {"schedule_id": schedule_id}, {}, fields_of(body) | {"dry_run": True}, idempotency_key=idempotency_key)

    def chain(self, schedule_id: str, /) -> t.ScheduleChain:
        """Get the chain around a schedule."""
        return self._json("schedules.chain", {"schedule_id": schedule_id})

    def count(self, *, q: str | None = None) -> t.ScheduleCount:
        """How many schedules match a filter."""
        return self._json("schedules.count", {}, {"q": q})

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Schedule:
        """Create a schedule."""
        return self._json("schedules.create", {}, {}, schedule_document(fields_of(body)), idempotency_key=idempotency_key)

    def create_batch(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleBatchRequest]) -> t.ScheduleBatchResult:
        """Create many schedules."""
        return self._json("schedules.create_batch", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, schedule_id: str, /, *, if_match: int | None = None) -> None:
        """Delete a schedule."""
        self._json("schedules.delete", {"schedule_id": schedule_id}, if_match=if_match)

    def explain(self, schedule_id: str, /, *, at: t.Time | None = None) -> t.ExplanationAnswer:
        """Explain a time of a schedule."""
        return self._json("schedules.explain", {"schedule_id": schedule_id}, {"at": at})

    def export(self, *, q: str | None = None, ids: str | Sequence[str] | None = None) -> builtins.list[dict[str, Any]]:
        """Download all schedules that match a filter."""
        return self._json("schedules.export", {}, {"q": q, "ids": ids, "format": "json"})

    def download_export(self, *, q: str | None = None, ids: str | Sequence[str] | None = None, format: Literal["yaml", "json"] | None = None) -> Iterator[bytes]:
        """Download all schedules that match a filter, as a file."""
        return self._bytes("schedules.export", {}, {"q": q, "ids": ids, "format": format})

    def get(self, schedule_id: str, /) -> t.Schedule:
        """One schedule."""
        return self._json("schedules.get", {"schedule_id": schedule_id})

    def health(self, *, ids: str | Sequence[str]) -> t.ScheduleHealthList:
        """Get the health of schedules."""
        return self._json("schedules.health", {}, {"ids": ids})

    def instants(self, schedule_id: str, /, *, from_: t.Time | None = None, to: t.Time | None = None, limit: int | None = None) -> Items[t.ScheduleInstant]:
        """List a schedule's scheduled times."""
        return self._items("schedules.instants", {"schedule_id": schedule_id}, {"from": from_, "to": to, "limit": limit})

    def list(self, *, sort: str | None = None, limit: int | None = None, status: t.ScheduleStatus | None = None, type: t.TriggerType | None = None, kind: str | None = None, tag: str | None = None, q: str | None = None) -> Items[t.Schedule]:
        """List schedules."""
        return self._items("schedules.list", {}, {"sort": sort, "limit": limit, "status": status, "type": type, "kind": kind, "tag": tag, "q": q})

    def pause(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.PauseRequest]) -> t.Schedule:
        """Pause."""
        return self._json("schedules.pause", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.PreviewRequest]) -> t.SchedulePreview:
        """Preview a trigger."""
        return self._json("schedules.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def quality(self, schedule_id: str, /) -> t.ScheduleQualityAnswer:
        """Show the data of a schedule's newest runs."""
        return self._json("schedules.quality", {"schedule_id": schedule_id})

    def ranking(self, *, over: t.RankingPeriod | None = None, limit: int | None = None) -> t.ScheduleRanking:
        """List the slowest and the flakiest schedules."""
        return self._json("schedules.ranking", {}, {"over": over, "limit": limit})

    def realign(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Realign a schedule that is ahead."""
        return self._json("schedules.realign", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    def realign_all(self, *, idempotency_key: str | None = None) -> t.RealignResult:
        """Realign all schedules that are ahead."""
        return self._json("schedules.realign_all", {}, idempotency_key=idempotency_key)

    def replace(self, schedule_id: str, /, *, if_match: int | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Schedule:
        """Replace a schedule."""
        return self._json("schedules.replace", {"schedule_id": schedule_id}, {}, schedule_document(fields_of(body)), if_match=if_match)

    def resume(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Resume."""
        return self._json("schedules.resume", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    def run_now(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.RunNowRequest]) -> t.Run:
        """Run now."""
        return self._json("schedules.run_now", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def runs(self, schedule_id: str, /, *, limit: int | None = None, state: str | None = None) -> Items[t.Run]:
        """List a schedule's runs, newest first."""
        return self._items("schedules.runs", {"schedule_id": schedule_id}, {"limit": limit, "state": state})

    def skip_next(self, schedule_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.SkipRequest]) -> t.Schedule:
        """Skip the next scheduled time."""
        return self._json("schedules.skip_next", {"schedule_id": schedule_id}, {}, fields_of(body) or None, idempotency_key=idempotency_key)

    def take_over(self, schedule_id: str, /, *, idempotency_key: str | None = None) -> t.Schedule:
        """Take a schedule over from its file."""
        return self._json("schedules.take_over", {"schedule_id": schedule_id}, idempotency_key=idempotency_key)

    def trial(self, *, idempotency_key: str | None = None, **body: Unpack[t.ScheduleRequestFields]) -> t.Run:
        """Try a schedule without saving it."""
        return self._json("schedules.trial", {}, {}, schedule_document(fields_of(body)), idempotency_key=idempotency_key)

    def unskip(self, schedule_id: str, /) -> t.Schedule:
        """Undo the skip."""
        return self._json("schedules.unskip", {"schedule_id": schedule_id})

    def update(self, schedule_id: str, /, *, if_match: int | None = None, **body: Unpack[t.SchedulePatchFields]) -> t.Schedule:
        """Change a schedule."""
        return self._json("schedules.patch", {"schedule_id": schedule_id}, {}, schedule_document(fields_of(body)), if_match=if_match)

    def versions(self, schedule_id: str, /, *, limit: int | None = None) -> Items[t.ScheduleVersion]:
        """List a schedule's versions."""
        return self._items("schedules.versions", {"schedule_id": schedule_id}, {"limit": limit})


class SecretsResource(Resource):
    __slots__ = ()

    def delete(self, name: str, /) -> None:
        """Delete a secret."""
        self._json("secrets.delete", {"name": name})

    def list(self, *, limit: int | None = None) -> Items[t.SecretInfo]:
        """List secrets."""
        return self._items("secrets.list", {}, {"limit": limit})

    def put(self, name: str, /, **body: Unpack[t.SecretRequest]) -> None:
        """Set a secret."""
        self._json("secrets.put", {"name": name}, {}, fields_of(body))


class SessionsResource(Resource):
    __slots__ = ()

    def begin(self, *, idempotency_key: str | None = None, **body: Unpack[t.SessionRequest]) -> None:
        """Sign in with a browser."""
        self._json("sessions.begin", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def end(self) -> None:
        """Sign out with a browser."""
        self._json("sessions.end", {})

    def end_all(self) -> t.SessionsEnded:
        """Sign out everywhere."""
        return self._json("sessions.end_all", {})

    def show(self) -> t.SessionInfo:
        """Get the current session."""
        return self._json("sessions.show", {})


class StreamTicketsResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None) -> t.StreamTicket:
        """Create a ticket for a stream."""
        return self._json("stream_tickets.create", {}, idempotency_key=idempotency_key)


class TasksResource(Resource):
    __slots__ = ()

    def get(self, task: str, /) -> t.RegisteredTask:
        """One task."""
        return self._json("tasks.get", {"task": task})

    def list(self, *, limit: int | None = None) -> Items[t.RegisteredTask]:
        """List tasks."""
        return self._items("tasks.list", {}, {"limit": limit})

    def run(self, task: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.TaskRunRequest]) -> t.Run:
        """Run a task now."""
        return self._json("tasks.run", {"task": task}, {}, fields_of(body) or None, idempotency_key=idempotency_key)


class TenantsResource(Resource):
    __slots__ = ()

    def get(self, tenant_id: str, /) -> t.TenantSettings:
        """Get the limits of a tenant."""
        return self._json("tenants.get", {"tenant_id": tenant_id})

    def list(self, *, limit: int | None = None) -> Items[t.TenantSettings]:
        """List tenants with settings of their own."""
        return self._items("tenants.list", {}, {"limit": limit})

    def put(self, tenant_id: str, /, **body: Unpack[t.TenantRequest]) -> t.TenantSettings:
        """Set the limits of a tenant."""
        return self._json("tenants.put", {"tenant_id": tenant_id}, {}, fields_of(body))


class TimelineResource(Resource):
    __slots__ = ()

    def show(self, *, group_by: t.TimelineGrouping | None = None, q: str | None = None, rows: int | None = None, from_: t.Time | None = None, to: t.Time | None = None) -> t.Timeline:
        """Get past and planned runs as marks on a timeline."""
        return self._json("timeline.show", {}, {"group_by": group_by, "q": q, "rows": rows, "from": from_, "to": to})


class ViewsResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.NewSavedView]) -> t.SavedView:
        """Save a view."""
        return self._json("views.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, view_id: str, /) -> None:
        """Delete a saved view."""
        self._json("views.delete", {"view_id": view_id})

    def list(self, *, list: t.ViewedList | None = None, limit: int | None = None) -> Items[t.SavedView]:
        """List saved views."""
        return self._items("views.list", {}, {"list": list, "limit": limit})

    def update(self, view_id: str, /, **body: Unpack[t.SavedViewChange]) -> t.SavedView:
        """Change a saved view."""
        return self._json("views.change", {"view_id": view_id}, {}, fields_of(body))


class WatchesResource(Resource):
    __slots__ = ()

    def create(self, *, idempotency_key: str | None = None, **body: Unpack[t.WatchRequest]) -> t.WatchDetail:
        """Create a watch."""
        return self._json("watches.create", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def delete(self, watch_id: str, /) -> None:
        """Delete a watch."""
        self._json("watches.delete", {"watch_id": watch_id})

    def diff(self, watch_id: str, page_id: str, /, *, from_: t.Time | None = None, to: t.Time | None = None, as_: Literal["fields", "lines", "words"] | None = None) -> t.PageDiffDetail:
        """What differs between two versions of a page."""
        return self._json("watches.diff", {"watch_id": watch_id, "page_id": page_id}, {"from": from_, "to": to, "as": as_})

    def get(self, watch_id: str, /) -> t.WatchDetail:
        """One watch."""
        return self._json("watches.get", {"watch_id": watch_id})

    def list(self, *, q: str | None = None, limit: int | None = None) -> Items[t.WatchDetail]:
        """List watches."""
        return self._items("watches.list", {}, {"q": q, "limit": limit})

    def page(self, watch_id: str, page_id: str, /) -> t.WatchedPageDetail:
        """One page of a watch."""
        return self._json("watches.page", {"watch_id": watch_id, "page_id": page_id})

    def pages(self, watch_id: str, /, *, state: t.PageState | None = None, q: str | None = None, limit: int | None = None) -> Items[t.WatchedPageDetail]:
        """List the pages of a watch."""
        return self._items("watches.pages", {"watch_id": watch_id}, {"state": state, "q": q, "limit": limit})

    def pause(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.WatchDetail:
        """Pause a watch."""
        return self._json("watches.pause", {"watch_id": watch_id}, idempotency_key=idempotency_key)

    def plot(self, watch_id: str, /, *, field: str | None = None, pages: int | None = None, page: str | None = None) -> t.WatchPlotDetail:
        """A numeric field of a watch over time."""
        return self._json("watches.plot", {"watch_id": watch_id}, {"field": field, "pages": pages, "page": page})

    def preview(self, *, idempotency_key: str | None = None, **body: Unpack[t.WatchPreviewRequestFields]) -> t.WatchPreviewAnswer:
        """Try a watch before it is saved."""
        return self._json("watches.preview", {}, {}, fields_of(body), idempotency_key=idempotency_key)

    def resume(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.WatchDetail:
        """Resume a watch."""
        return self._json("watches.resume", {"watch_id": watch_id}, idempotency_key=idempotency_key)

    def try_condition(self, watch_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.ConditionTrialRequest]) -> t.ConditionTrialAnswer:
        """Try a condition over stored versions."""
        return self._json("watches.try_condition", {"watch_id": watch_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    def update(self, watch_id: str, /, *, idempotency_key: str | None = None, **body: Unpack[t.WatchChangeFields]) -> t.WatchDetail:
        """Change a watch."""
        return self._json("watches.change", {"watch_id": watch_id}, {}, fields_of(body), idempotency_key=idempotency_key)

    def version(self, watch_id: str, page_id: str, version_id: str, /) -> t.PageVersionDetail:
        """One version of a page, with its text."""
        return self._json("watches.version", {"watch_id": watch_id, "page_id": page_id, "version_id": version_id})

    def versions(self, watch_id: str, page_id: str, /, *, limit: int | None = None) -> Items[t.PageVersionDetail]:
        """List the versions of a page."""
        return self._items("watches.versions", {"watch_id": watch_id, "page_id": page_id}, {"limit": limit})

    def visit(self, watch_id: str, /, *, idempotency_key: str | None = None) -> t.Run:
        """Visit all pages now."""
        return self._json("watches.visit", {"watch_id": watch_id}, idempotency_key=idempotency_key)


class WorkersResource(Resource):
    __slots__ = ()

    def drain(self, node_id: str, /, *, idempotency_key: str | None = None) -> t.WorkerStatus:
        """Drain a worker."""
        return self._json("workers.drain", {"node_id": node_id}, idempotency_key=idempotency_key)

    def list(self, *, limit: int | None = None) -> Items[t.WorkerStatus]:
        """List workers."""
        return self._items("workers.list", {}, {"limit": limit})

    def ping(self, *, idempotency_key: str | None = None) -> t.WorkerPage:
        """Ping workers."""
        return self._json("workers.ping", {}, idempotency_key=idempotency_key)

    def restart(self, node_id: str, /, *, idempotency_key: str | None = None) -> t.WorkerStatus:
        """Restart a worker."""
        return self._json("workers.restart", {"node_id": node_id}, idempotency_key=idempotency_key)



class Resources:
    """The groups of operations."""

    def __init__(self, session: Session) -> None:
        self.alert_rules = AlertRulesResource(session)
        self.alerts = AlertsResource(session)
        self.api_keys = ApiKeysResource(session)
        self.articles = ArticlesResource(session)
        self.attention = AttentionResource(session)
        self.audit_log = AuditLogResource(session)
        self.bulk = BulkResource(session)
        self.calendar = CalendarResource(session)
        self.calendars = CalendarsResource(session)
        self.changes = ChangesResource(session)
        self.channels = ChannelsResource(session)
        self.crawls = CrawlsResource(session)
        self.dead_letters = DeadLettersResource(session)
        self.deliveries = DeliveriesResource(session)
        self.demo = DemoResource(session)
        self.endpoints = EndpointsResource(session)
        self.filters = FiltersResource(session)
        self.health = HealthResource(session)
        self.host_sessions = HostSessionsResource(session)
        self.hosts = HostsResource(session)
        self.invites = InvitesResource(session)
        self.jobs = JobsResource(session)
        self.limits = LimitsResource(session)
        self.login_links = LoginLinksResource(session)
        self.members = MembersResource(session)
        self.monitors = MonitorsResource(session)
        self.pages = PagesResource(session)
        self.pipelines = PipelinesResource(session)
        self.plans = PlansResource(session)
        self.presets = PresetsResource(session)
        self.queues = QueuesResource(session)
        self.references = ReferencesResource(session)
        self.runs = RunsResource(session)
        self.schedules = SchedulesResource(session)
        self.secrets = SecretsResource(session)
        self.sessions = SessionsResource(session)
        self.stream_tickets = StreamTicketsResource(session)
        self.tasks = TasksResource(session)
        self.tenants = TenantsResource(session)
        self.timeline = TimelineResource(session)
        self.views = ViewsResource(session)
        self.watches = WatchesResource(session)
        self.workers = WorkersResource(session)
