"""The documents that the API takes and answers.

Written by `make reference` from the API's description. Do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Time: TypeAlias = str | datetime
"""RFC 3339 with an offset, or a datetime with a time zone."""

ActionConfig: TypeAlias = dict[str, Any]
"""The action of a schedule. `kind` chooses it; the other fields are its configuration."""

AlertEvent: TypeAlias = Literal["failed", "dead_letter", "late", "missed", "slow", "degraded", "changed", "recovered", "finished", "queue_stuck", "worker_lost", "node_silent"]
"""What can open an alert."""

AlertSeverity: TypeAlias = Literal["warning", "critical"]
"""How urgent an alert is."""

AlertState: TypeAlias = Literal["open", "acknowledged", "resolved"]
"""open → acknowledged → resolved; an acknowledged alert sends no reminders."""

ArticleJobStatus: TypeAlias = Literal["PENDING", "IN_PROGRESS", "COMPLETED", "FAILED", "CANCELLED"]
"""The status of a batch of articles, as the article API names it."""

AttentionKind: TypeAlias = Literal["failing", "late", "missed", "dead_letters", "stalled_queue", "lost_worker", "damaged", "no_worker", "ahead", "standstill", "channel", "monitor", "pages"]
"""The kind of problem."""

BackoffStrategy: TypeAlias = Literal["exponential", "linear", "fixed"]
"""How the delay grows from one retry to the next."""

BatchOutcome: TypeAlias = Literal["created", "refused"]
"""What became of one schedule of a batch."""

BulkOperation: TypeAlias = Literal["cancel", "retry", "replay", "discard", "pause", "resume", "run", "tag", "delete", "backfill", "reextract"]
"""The operation: the first four act on runs, the next five on schedules, then on instants of one, and on pages."""

BulkOrder: TypeAlias = Literal["oldest", "newest"]
"""Which things come first."""

BulkState: TypeAlias = Literal["running", "paused", "stopped", "finished"]
"""The state of a bulk action."""

CatchupMode: TypeAlias = Literal["none", "latest", "all"]
"""The policy for instants that passed while no scheduler was running."""

ChangeKind: TypeAlias = Literal["new", "changed", "removed"]
"""What happened to a page."""

ChannelKind: TypeAlias = Literal["webhook", "email", "slack", "discord", "teams", "telegram", "pagerduty", "opsgenie", "ntfy", "gotify", "apprise"]
"""The services that a notification can be sent to."""

Crossing: TypeAlias = Literal["crossing", "every_visit"]
"""When a condition counts: as it becomes true, or at every visit at which it is."""

DeclarationOutcome: TypeAlias = Literal["created", "updated", "unchanged", "kept", "deleted"]
"""What became of a declared schedule."""

DeliveryEvent: TypeAlias = Literal["opened", "reminded", "resolved", "test"]
"""What a message reports."""

DeliveryState: TypeAlias = Literal["pending", "sent", "dead", "skipped"]
"""pending → sent, or dead after the last attempt; skipped when there is nothing left to report."""

EventType: TypeAlias = Literal["state", "log", "progress"]
"""The types of events."""

FactCode: TypeAlias = Literal["fired", "requested", "followed", "repeated", "caught_up", "jittered", "planned", "running", "retrying", "worker_lost", "ended", "skipped_overlap", "superseded", "buffered", "buffer_full", "missed_window", "pruned", "paused", "skipped_by_person", "excluded_by_calendar", "clock_gap", "clock_fold", "clock_ahead", "other_timezone", "edited", "waiting_cap", "waiting_queue_paused", "waiting_no_worker", "waiting_host", "waiting_predecessor", "waiting_turn", "parent_not_successful", "not_due", "not_created", "damaged", "completed", "deleted", "unaccounted"]
"""What a fact says, for programs."""

FollowOutcome: TypeAlias = Literal["success", "failed", "partial", "degraded", "changed", "any"]
"""How a run of a parent must have ended."""

Granularity: TypeAlias = Literal["hour", "day"]
"""The length of a cell."""

HistoryRange: TypeAlias = Literal["24h", "7d"]
"""How far the history goes back."""

InstantSelection: TypeAlias = Literal["missing", "all"]
"""Which instants of the period get a run."""

JobStatus: TypeAlias = Literal["pending", "running", "finished", "error", "cancelled"]
"""The status of a job, as the crawl API names it."""

MonitorStatus: TypeAlias = Literal["new", "up", "late", "down", "paused"]
"""new until the first ping; late after the grace time, down after twice that time or a failure."""

MonitorType: TypeAlias = Literal["cron", "interval"]
"""How it is said when pings are expected."""

NodeRequest: TypeAlias = Literal["drain", "restart"]
"""An operator's request to a process: take no new runs, and, to restart, exit when idle and come back."""

NodeState: TypeAlias = Literal["live", "stale", "draining"]
"""The state of a process, from its reports."""

Origin: TypeAlias = Literal["instant", "manual", "retry", "replay", "after"]
"""Where a run comes from."""

Overlap: TypeAlias = Literal["skip", "buffer_one", "buffer_all", "cancel_other", "terminate_other", "allow_all"]
"""What happens when an instant comes due while an earlier run is still open."""

PageExtractor: TypeAlias = Literal["article", "price"]
"""What reads a page without selectors."""

PageResource: TypeAlias = Literal["image", "font", "media"]
"""What a page loads beside its text; left out unless it is asked for."""

PageState: TypeAlias = Literal["new", "same", "changed", "removed", "error", "blocked"]
"""State of a page after its last visit."""

PingKind: TypeAlias = Literal["success", "start", "fail", "log"]
"""What a ping reports."""

PlanAct: TypeAlias = Literal["create", "change", "delete", "none", "drift"]
"""What a plan does with one thing."""

QuarantineState: TypeAlias = Literal["held", "released", "dropped"]
"""What becomes of the data of a degraded run."""

RankingPeriod: TypeAlias = Literal["24h", "7d"]
"""How far back the ranking looks."""

ReferenceKind: TypeAlias = Literal["schedule", "run", "job", "dead_letter", "bulk", "key", "view", "monitor", "watch", "calendar", "channel", "alert_rule", "alert"]
"""The kind of thing that a name or a prefix of an id refers to."""

Render: TypeAlias = Literal["never", "auto", "always"]
"""Whether a browser renders a page before it is read."""

ReplayVersion: TypeAlias = Literal["now", "then"]
"""Which settings of its schedule a replayed run follows."""

RequestTiming: TypeAlias = dict[str, Any]
"""How long each phase of a request took; null for one that did not take place, as on a kept connection."""

Robots: TypeAlias = Literal["respect", "ignore"]
"""Whether robots.txt decides what is fetched."""

Role: TypeAlias = Literal["viewer", "operator", "admin", "system"]
"""Roles, least privileged first. `system` spans all tenants; local mode has it."""

RunError: TypeAlias = dict[str, Any]
"""Why an attempt or a run did not succeed."""

RunState: TypeAlias = Literal["queued", "running", "retrying", "success", "partial", "degraded", "failed", "dead_letter", "cancelled"]
"""The states of a run."""

ScheduleStatus: TypeAlias = Literal["active", "paused", "completed", "deleted"]
"""Whether a schedule fires."""

SentRequest: TypeAlias = dict[str, Any]
"""The HTTP request of an attempt."""

Severity: TypeAlias = Literal["failed", "dead", "attention"]
"""Severities, worst first."""

Shift: TypeAlias = Literal["none", "next_business_day", "previous_business_day"]
"""What becomes of an instant that falls on a weekend or an excluded day."""

StandstillReason: TypeAlias = Literal["store", "clock", "broker", "no_worker", "host", "slots", "scheduler", "unknown"]
"""The causes that a process can see, the deepest first."""

StepKind: TypeAlias = Literal["click", "fill", "press", "wait_for"]
"""What a step does."""

SubjectKind: TypeAlias = Literal["schedule", "run", "monitor", "queue", "worker", "installation"]
"""What alerts are about."""

SuggestField: TypeAlias = Literal["schedule", "tag", "queue", "kind", "state", "zone", "worker", "pipeline", "any"]
"""The kind of value that is completed."""

TimelineGrouping: TypeAlias = Literal["schedule", "tag", "queue"]
"""What a row of a timeline stands for."""

TriggerType: TypeAlias = Literal["cron", "interval", "oneoff", "after"]
"""The kinds of trigger, as the API names them."""

Urgency: TypeAlias = Literal["failing", "missed", "late", "running", "soon", "idle"]
"""Why a schedule stands where it does in the order `urgency`, most urgent first."""

ViewedList: TypeAlias = Literal["runs", "schedules"]
"""The lists that have saved views."""


class AfterThreshold(TypedDict):
    """`{'in_a_row': 3}`, or `{'count': 5, 'within': '1h'}`."""

    in_a_row: NotRequired[int | None]
    count: NotRequired[int | None]
    within: NotRequired[str | None]


class AheadHealth(TypedDict):
    """A schedule whose next instant was moved into the future by a wrong clock."""

    tenant_id: str
    schedule_id: str


class AlertCounts(TypedDict):
    """Alerts that are not resolved."""

    open: int
    acknowledged: int


class AlertDelivery(TypedDict):
    """A message for one channel, and what became of it."""

    id: str
    channel_id: str
    alert_id: str | None
    event: DeliveryEvent
    state: DeliveryState
    attempts: int
    created_at: str
    next_attempt_at: str | None
    sent_at: str | None
    error: str | None
    grouped: int
    instead_of: str | None


class AlertDetail(TypedDict):
    """An alert, and the messages about it."""

    id: str
    rule_id: str
    event: AlertEvent
    severity: AlertSeverity
    state: AlertState
    subject: SubjectOfAlert
    count: int
    first_at: str
    opened_at: str
    last_at: str
    acknowledged_by: str | None
    acknowledged_at: str | None
    snoozed_until: str | None
    resolved_at: str | None
    resolved_by: str | None
    summary: str
    reason: str
    run_id: str | None
    deliveries: list[AlertDelivery]


class AlertPage(TypedDict):
    """A page of alerts, newest first."""

    items: list[AlertDetail]
    next_cursor: str | None


class AlertRule(TypedDict):
    """An alert rule."""

    id: str
    name: str
    on: list[AlertEvent]
    filter: str
    after: dict[str, Any]
    late_after: str
    slow_after: str | None
    remind_every: str | None
    quiet: dict[str, str] | None
    severity: AlertSeverity
    to: list[str]
    enabled: bool
    schedule_id: str | None
    created_by: str
    created_at: str
    updated_at: str


class AlertRuleChange(TypedDict):
    """Fields of a rule to change."""

    name: NotRequired[str | None]
    on: NotRequired[Sequence[AlertEvent] | None]
    filter: NotRequired[str | None]
    after: NotRequired[AfterThreshold | int | None]
    late_after: NotRequired[str | None]
    slow_after: NotRequired[str | None]
    remind_every: NotRequired[str | None]
    quiet: NotRequired[QuietTimes | None]
    severity: NotRequired[AlertSeverity | None]
    to: NotRequired[Sequence[str] | None]
    enabled: NotRequired[bool | None]


class AlertRulePage(TypedDict):
    """The alert rules of the tenant, by name."""

    items: list[AlertRule]
    next_cursor: str | None


class AlertRulePreview(TypedDict):
    """What the rule would have reported, newest first."""

    items: list[PreviewItem]
    total: int
    whole: bool
    unknown: list[AlertEvent]


class AlertRulePreviewRequest(TypedDict):
    """A rule, and how far to look back."""

    name: NotRequired[str]
    on: Sequence[AlertEvent]
    filter: NotRequired[str]
    after: NotRequired[AfterThreshold | int]
    late_after: NotRequired[str]
    slow_after: NotRequired[str | None]
    remind_every: NotRequired[str | None]
    quiet: NotRequired[QuietTimes | None]
    severity: NotRequired[AlertSeverity]
    to: NotRequired[Sequence[str]]
    enabled: NotRequired[bool]
    over: NotRequired[str]


class AlertRuleRequest(TypedDict):
    """What opens an alert, for which schedules, after how many failures, and whom to notify."""

    name: str
    on: Sequence[AlertEvent]
    filter: NotRequired[str]
    after: NotRequired[AfterThreshold | int]
    late_after: NotRequired[str]
    slow_after: NotRequired[str | None]
    remind_every: NotRequired[str | None]
    quiet: NotRequired[QuietTimes | None]
    severity: NotRequired[AlertSeverity]
    to: NotRequired[Sequence[str]]
    enabled: NotRequired[bool]


class ApiKey(TypedDict):
    """An API key, without its secret text."""

    id: str
    name: str
    role: Role
    scopes: list[str] | None
    hint: str
    created_by: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    revoked_by: str | None


class ApiKeyPage(TypedDict):
    """A page of API keys."""

    items: list[ApiKey]
    next_cursor: str | None


class ApiKeyRequest(TypedDict):
    """The API key to create."""

    name: str
    role: Role
    scopes: NotRequired[Sequence[str] | None]
    expires_at: NotRequired[Time | None]


class ApplyRequest(TypedDict):
    """The same, and the plan that was shown."""

    file: str
    documents: PlanDocuments
    prune: NotRequired[bool | None]
    overwrite: NotRequired[bool | None]
    spread: NotRequired[bool | None]
    offsets: NotRequired[Mapping[str, str] | None]
    simulate: NotRequired[bool | None]
    digest: str


class ArticleDetail(TypedDict):
    """A page that was read, and what it said before."""

    article_id: str
    url: str
    source: str
    category: str
    title: str | None
    content: str | None
    author: str | None
    published_at: str | None
    language: str | None
    canonical_url: str | None
    image: str | None
    rendered: bool
    scraped_at: str | None
    cached: bool
    reference_count: int
    retry_count: int
    previous_scraped_at: str | None
    previous: PreviousVersion | None


class ArticleJob(TypedDict):
    """A job that was accepted."""

    job_id: str
    status: str
    total_articles: int
    new_articles: int
    cached_articles: int
    message: str


class ArticleJobRequest(TypedDict):
    """A job of articles."""

    articles: Sequence[ArticleRequest]
    ignore_cache: NotRequired[bool]
    max_age_seconds: NotRequired[int | None]
    expect: NotRequired[Mapping[str, Any] | None]
    render: NotRequired[Render | None]
    robots: NotRequired[Robots | None]
    keep_pages: NotRequired[str | None]
    session: NotRequired[str | None]
    browser: NotRequired[BrowserActions | None]


class ArticleRequest(TypedDict):
    """One page."""

    url: str
    source: NotRequired[str]
    category: NotRequired[str]
    priority: NotRequired[int]


class ArticleResult(TypedDict):
    """A page that was read."""

    article_id: str
    url: str
    source: str
    category: str
    title: str | None
    content: str | None
    author: str | None
    published_at: str | None
    language: str | None
    canonical_url: str | None
    image: str | None
    rendered: bool
    scraped_at: str | None
    cached: bool
    reference_count: int
    retry_count: int
    previous_scraped_at: str | None


class ArticleResults(TypedDict):
    """What came of a job's articles so far."""

    job_id: str
    status: str
    total_articles: int
    successful: int
    failed: int
    cancelled: int
    results: list[ArticleResult]
    failed_articles: list[FailedArticle]


class AttentionItem(TypedDict):
    """One problem that needs a person."""

    id: str
    kind: AttentionKind
    severity: Severity
    title: str
    reason: str
    since: str | None
    count: int
    schedule_id: str | None
    run_id: str | None
    queue: str | None
    worker: str | None
    q: str | None
    actions: list[ProposedRequest]


class AttentionReport(TypedDict):
    """Worst first. Empty: there is nothing to do."""

    checked_at: str
    items: list[AttentionItem]


class AuditLogEntry(TypedDict):
    """One change: who, what, when, and how the thing was before and after."""

    id: str
    at: str
    user_id: str
    key_id: str | None
    door: str
    verb: str
    thing: str
    thing_id: str
    thing_name: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    seq: int | None
    digest: str | None


class AuditPage(TypedDict):
    """A page of the audit log."""

    items: list[AuditLogEntry]
    next_cursor: str | None


class BackfillDryRun(TypedDict):
    """What a backfill would do."""

    dry_run: bool
    count: int
    named: int
    left_out: dict[str, int]
    first: str | None
    last: str | None
    sample: list[ScheduleInstant]
    hosts: list[str]
    warnings: list[str]


class BaselineBand(TypedDict):
    """The median of the newest good runs, and their range."""

    median: float
    low: float
    high: float


class BrokerHealth(TypedDict):
    """The broker that carries runs to workers, as the schedulers see it; without it runs wait."""

    url: str
    publishing: bool
    error: str | None


class BrowserActions(TypedDict):
    """What a browser does with a page before it is read."""

    wait_for: NotRequired[int | str | None]
    scroll: NotRequired[int]
    steps: NotRequired[Sequence[BrowserStep]]
    load: NotRequired[Sequence[PageResource]]


class BrowserStep(TypedDict):
    """One step on the page."""

    do: StepKind
    selector: NotRequired[str]
    value: NotRequired[str]
    key: NotRequired[str]


class BulkAction(TypedDict):
    """A bulk action with its progress. What it acts on was fixed when it was created."""

    id: str
    action: BulkOperation
    filter: str | None
    ids_given: int
    rate: int
    stop_after: int | None
    order: BulkOrder
    state: BulkState
    total: int
    done: int
    ok: int
    failed: int
    pending: int
    failures: list[BulkFailure]
    outcomes: dict[str, int]
    user_id: str
    created_at: str
    updated_at: str
    finished_at: str | None
    reason: str
    details: dict[str, Any] | None


class BulkActionPage(TypedDict):
    """A page of bulk actions."""

    items: list[BulkAction]
    next_cursor: str | None


class BulkDryRun(TypedDict):
    """What a bulk action would do."""

    dry_run: bool
    count: int
    sample: list[BulkSample]
    hosts: list[str]
    warnings: list[str]
    rehearsal: ReplayDryRun | None


class BulkFailure(TypedDict):
    """An item on which it could not act, and why."""

    id: str
    message: str


class BulkRefusal(TypedDict):
    """One that would be refused, and why."""

    id: str
    message: str


class BulkSample(TypedDict):
    """One of the things that it would act on."""

    id: str
    kind: str
    name: str | None
    state: str
    message: str
    version: NotRequired[int | None]
    follows: NotRequired[int | None]
    replays: NotRequired[int | None]


class CachedCrawl(TypedDict):
    """The job of an equal earlier request."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[True]
    cached_at: str


class Calendar(TypedDict):
    """Every hour or day of the range, in order."""

    timezone: str
    granularity: Granularity
    exact: bool
    items: list[CalendarCell]


class CalendarCell(TypedDict):
    """One hour or day."""

    at: str
    local: str
    counts: dict[str, int]
    total: int
    planned: int
    missed: int
    skipped: int


class CalendarDay(TypedDict):
    """A day, or a stretch of time, that a calendar stands for."""

    date: str
    name: str
    start_at: NotRequired[str | None]
    end_at: NotRequired[str | None]


class CallingSchedule(TypedDict):
    """A schedule that called it."""

    id: str
    name: str


class CancelledJob(TypedDict):
    """A job that was cancelled."""

    job_id: str
    status: Literal["CANCELLED"]
    message: str


class CatchupSettingsInput(TypedDict):
    """What happens to instants that passed while no scheduler was running."""

    mode: NotRequired[CatchupMode]
    window_seconds: NotRequired[int]
    max_runs: NotRequired[int]
    grace_seconds: NotRequired[int]


class CatchupSettings(TypedDict):
    """What happens to instants that passed while no scheduler was running."""

    mode: CatchupMode
    window_seconds: int
    max_runs: int
    grace_seconds: int


class ChainedSchedule(TypedDict):
    """A schedule of a chain."""

    id: str
    name: str
    type: TriggerType
    status: ScheduleStatus
    summary: str
    state: str | None
    run_id: str | None


class ChangeDetail(TypedDict):
    """A change of a page."""

    id: str
    seq: int
    watch_id: str
    watch: str
    page_id: str
    url: str
    at: str
    kind: ChangeKind
    matched: bool
    fields: dict[str, dict[str, Any]]
    diff: str
    run_id: str | None
    version_id: str | None
    before_id: str | None


class ChangeList(TypedDict):
    """Changes of all watches."""

    items: list[ChangeDetail]
    next_cursor: str | None
    last_seq: int | None


class ChannelChange(TypedDict):
    """Fields to change; a credential that is `***` stays as it was."""

    name: NotRequired[str | None]
    config: NotRequired[Mapping[str, Any] | None]


class ChannelPage(TypedDict):
    """The channels of the tenant, by name."""

    items: list[NotificationChannel]
    next_cursor: str | None


class ChannelRequest(TypedDict):
    """A channel: its kind, and the settings of that kind."""

    name: str
    kind: ChannelKind
    config: Mapping[str, Any]


class CircuitBreaker(TypedDict):
    """An open circuit breaker: the target did not answer, and gets only a trial call now and then."""

    target: str
    state: Literal["open", "half_open"]
    since: str
    failures: int
    why: str
    next_trial_at: str | None


class ConditionTrialAnswer(TypedDict):
    """What a condition would have said of the newest changes of a watch, newest first."""

    items: list[TriedChangeDetail]
    matched: int


class ConditionTrialRequest(TypedDict):
    """Another condition for a watch."""

    when: str
    at: NotRequired[Crossing | None]


class CookieRequest(TypedDict):
    """A cookie as browsers export it."""

    name: str
    value: str
    domain: NotRequired[str | None]
    path: NotRequired[str]
    expires: NotRequired[float | None]
    secure: NotRequired[bool]


class CoverageOfField(TypedDict):
    """The share of pages on which a field has a value."""

    before: float | None
    after: float


class CrowdedSecondAnswer(TypedDict):
    """A second in which many runs start."""

    at: str
    starts: int


class DamagedSchedule(TypedDict):
    """A schedule whose row was damaged."""

    schedule_id: str
    fault: str


class DataFactsAnswer(TypedDict):
    """What is known about the data of one run."""

    items: int
    errors: int
    seconds: float | None
    duplicates: int | None
    coverage: dict[str, float]
    newest: str | None


class DatabaseHealth(TypedDict):
    """The one dependency that is always needed."""

    status: Literal["ok", "refuses", "down"]
    latency_ms: float | None
    error: str | None
    disk: dict[str, Any] | None


class DeadLetterAge(TypedDict):
    """Dead letters that are older than those of the bar before, and not older than this."""

    up_to_hours: int | None
    count: int


class DeadLetterFilter(TypedDict):
    """Which dead letters."""

    kind: NotRequired[str | None]
    schedule_id: NotRequired[str | None]
    code: NotRequired[str | None]


class DeadLettersByError(TypedDict):
    """Dead letters with the same error."""

    code: str
    message: str
    kind: str
    count: int
    first_at: str
    last_at: str
    ids: list[str]


class DeadLettersByErrorPage(TypedDict):
    """A page of groups."""

    items: list[DeadLettersByError]
    next_cursor: str | None


class DemoRemoved(TypedDict):
    """What was removed."""

    schedules: int
    runs: int


class DemoState(TypedDict):
    """Whether the demo is on."""

    on: bool
    schedules: int


class DemoSummary(TypedDict):
    """The demo's data."""

    on: bool
    schedules: int
    runs: int


class DiffPart(TypedDict):
    """A text that both versions have, that only the old one has, or only the new one."""

    sign: Literal["=", "-", "+"]
    text: str


class EffectiveLimits(TypedDict):
    """The effective limits; null is no limit."""

    requests_per_minute: int | None
    schedules: int | None
    concurrent_runs: int | None
    run_now_per_minute: int | None
    streams: int | None
    stored_bytes: int | None
    catchup_rate: int | None


class EndpointHealth(TypedDict):
    """A webhook target, by its address without query."""

    url: str
    calls: int
    succeeded: int
    failed: int
    success_ratio: float
    p50_ms: float
    p95_ms: float
    codes: dict[str, int]
    failing_since: str | None
    failing_from: str | None
    last_at: str
    last_run_id: str
    last_error: str | None
    schedules: list[CallingSchedule]
    schedule_count: int
    breaker: CircuitBreaker | None
    secrets: list[EndpointSecret] | None


class EndpointPage(TypedDict):
    """Targets that were called within a day; failing ones first."""

    items: list[EndpointHealth]
    next_cursor: str | None
    total: int
    since: str
    whole: bool
    breakers: list[CircuitBreaker]


class EndpointSecret(TypedDict):
    """A secret that is sent in its calls, or signs them; never its value."""

    name: str
    since: str | None
    version: int | None


class EndpointTestRequest(TypedDict):
    """The target to test."""

    url: str
    schedule_id: NotRequired[str | None]


class EventPage(TypedDict):
    """A page of events; `next_cursor` is what to give as `after`, null at the end."""

    items: list[RunEvent]
    next_cursor: str | None


ExcludedHours = TypedDict(
    "ExcludedHours",
    {
        "from": "NotRequired[str | None]",
        "to": "NotRequired[str | None]",
        "days": "NotRequired[list[Literal[\"mon\", \"tue\", \"wed\", \"thu\", \"fri\", \"sat\", \"sun\"]] | None]",
    },
)
"""Times of day, every day or on some weekdays; without times, whole weekdays."""


class ExcludedTimes(TypedDict):
    """Instants in a row that make no run."""

    first: str
    last: str
    first_local: str
    last_local: str
    count: int
    reason: str


class ExpectationVerdict(TypedDict):
    """One expectation, and what came."""

    expectation: str
    wanted: str
    got: str
    baseline: str | None
    met: bool | None
    note: NotRequired[str]


class ExpectedPing(TypedDict):
    """A time at which a ping was or is expected."""

    at: str
    outcome: Literal["answered", "late", "failed", "missed", "planned"]
    ping_id: str | None


class ExpectedPingPage(TypedDict):
    """Expected times, oldest first."""

    items: list[ExpectedPing]
    next_cursor: str | None


class ExplainedFact(TypedDict):
    """One fact about a run or a scheduled time."""

    at: str | None
    code: FactCode
    words: str
    proof: dict[str, Any]


class ExplanationAnswer(TypedDict):
    """Why a run happened, waits or failed, or why a time has no run."""

    summary: str
    facts: list[ExplainedFact]


class FailedArticle(TypedDict):
    """A page that could not be read, and why."""

    article_id: str
    url: str
    error: str
    code: str | None
    attempted_at: str | None
    reference_count: int
    retry_count: int


class FailureGroup(TypedDict):
    """Unresolved dead letters with the same failure fingerprint."""

    fingerprint: str
    kind: str
    code: str
    message: str
    host: str | None
    count: int
    first_at: str
    last_at: str
    schedules: list[ScheduleName]
    sample_id: str
    sample: Run
    arrivals: list[HourlyCount]
    mute: MutedGroup | None


class FailureGroupPage(TypedDict):
    """A page of groups, those with the newest dead letter first; `total` counts all of them."""

    items: list[FailureGroup]
    total: int
    letters: int
    oldest_at: str | None
    ages: list[DeadLetterAge]
    next_cursor: str | None


class FeedHealth(TypedDict):
    """How wake-ups of this process reach the others; without it they see changes up to a second late."""

    kind: Literal["memory", "postgresql", "redis"]
    connected: bool
    error: str | None


class FieldError(TypedDict):
    """One broken rule."""

    field: str
    message: str
    got: NotRequired[Any]
    position: NotRequired[list[Any] | None]
    suggestion: NotRequired[str | None]


class FilterSuggestion(TypedDict):
    """One completion: `value` is to be used, `label` to be shown, `hint` distinguishes it from others."""

    field: str
    value: str
    label: str
    hint: str


class FollowedSchedules(TypedDict):
    """The schedules whose runs it follows, by id and by name."""

    schedule: list[str]
    outcome: FollowOutcome
    all: bool
    names: list[str]


class Following(TypedDict):
    """Which schedules it follows: their runs that end so make its runs."""

    schedule: str | Sequence[str]
    outcome: NotRequired[FollowOutcome]
    all: NotRequired[bool]


class FreshCrawl(TypedDict):
    """A new crawl."""

    job_id: str
    scheduled: Literal[False]
    cached: Literal[False]
    logs_url: str
    status_url: str


class HealthReport(TypedDict):
    """Every dependency, and what is wrong."""

    status: Literal["ok", "degraded", "down"]
    version: str
    problems: list[str]
    database: DatabaseHealth
    feed: FeedHealth | None
    broker: BrokerHealth | None
    scrapyd: list[ScrapydHealth]
    nodes: list[NodeHealth]
    queues: list[QueueHealth]
    parked: ParkedHealth | None
    standstills: list[StandstillHealth]
    ahead: list[AheadHealth]
    damaged: list[DamagedSchedule]


class HolidayCountries(TypedDict):
    """All of them."""

    items: list[HolidayCountry]


class HolidayCountry(TypedDict):
    """A country whose public holidays are known."""

    code: str
    subdivisions: list[str]


class HostHealth(TypedDict):
    """A host that holds slots, and the runs that hold them."""

    host: str
    tenant_id: str
    slots: int


class HostPage(TypedDict):
    """Hosts by name."""

    items: list[HostStatus]
    next_cursor: str | None


class HostRequest(TypedDict):
    """The settings of a host; what is left out has its default. A tenant that is not the operator may give `rate` alone, and only a slower one, for itself."""

    rate: NotRequired[float | None]
    concurrency: NotRequired[int | None]
    robots: NotRequired[Robots | None]
    render: NotRequired[Render | None]
    headers: NotRequired[Mapping[str, str] | None]
    proxy: NotRequired[str | None]


class HostSessionPage(TypedDict):
    """Sessions by host and name."""

    items: list[HostSessionStatus]
    next_cursor: str | None


class HostSessionRequest(TypedDict):
    """How a session gets its cookies: a sign-in, cookies that are given, or both."""

    login: NotRequired[SignInRequest | None]
    cookies: NotRequired[Sequence[CookieRequest] | None]


class HostSessionStatus(TypedDict):
    """A session, without its cookies."""

    host: str
    name: str
    login: dict[str, Any] | None
    cookies: int
    signed_in_at: str | None
    problem: str | None
    updated_at: str


class HostStatus(TypedDict):
    """A host: its limits, when it may be requested next, and what waits for it."""

    host: str
    rate: float | None
    concurrency: int
    crawl_delay: float | None
    interval: float
    slowed: bool
    robots: str
    render: str | None
    headers: dict[str, str]
    proxy: str | None
    own_rate: float | None
    next_at: str | None
    paused_until: str | None
    reason: str | None
    waiting: int
    waiting_by: list[HostWaiting]


class HostWaiting(TypedDict):
    """Requests of one tenant that wait for a turn at the host."""

    tenant_id: str
    requests: int


class HourlyCount(TypedDict):
    """Arrivals in the hour that begins at `at`."""

    at: str
    count: int


class InstantPage(TypedDict):
    """A page of instants."""

    items: list[ScheduleInstant]
    next_cursor: str | None


class Interval(TypedDict):
    """An interval in parts, added up."""

    days: NotRequired[int]
    hours: NotRequired[int]
    minutes: NotRequired[int]
    seconds: NotRequired[int]


class Invite(TypedDict):
    """An invitation; its link is shown only once."""

    key_id: str
    name: str
    role: Role
    url: str
    link_expires_at: str
    expires_at: str | None


class InviteRequest(TypedDict):
    """The person to invite."""

    name: str
    role: Role
    expires_at: NotRequired[Time | None]
    link_hours: NotRequired[int]


class JobDetail(TypedDict):
    """A job with the ids of its articles, in the order of the request; null for a job of another kind."""

    job_id: str
    kind: str
    status: JobStatus | ArticleJobStatus
    state: RunState | None
    run_id: str | None
    created_at: str | None
    updated_at: str | None
    started_at: str | None
    finished_at: str | None
    completed_at: str | None
    spider_job_id: str | None
    scrapyd_job_id: str | None
    next_run: str | None
    total_articles: int | None
    completed: int | None
    cached: int | None
    failed: int | None
    pending: int | None
    cancelled: int | None
    progress: dict[str, Any] | None
    about: JobTopic | None
    error: RunError | None
    article_ids: list[str] | None


class JobPage(TypedDict):
    """A page of jobs, newest first, and how many there are."""

    jobs: list[JobReport]
    total: int


class JobReport(TypedDict):
    """The status of a job. Fields of other kinds of jobs are null."""

    job_id: str
    kind: str
    status: JobStatus | ArticleJobStatus
    state: RunState | None
    run_id: str | None
    created_at: str | None
    updated_at: str | None
    started_at: str | None
    finished_at: str | None
    completed_at: str | None
    spider_job_id: str | None
    scrapyd_job_id: str | None
    next_run: str | None
    total_articles: int | None
    completed: int | None
    cached: int | None
    failed: int | None
    pending: int | None
    cancelled: int | None
    progress: dict[str, Any] | None
    about: JobTopic | None
    error: RunError | None


class JobResults(TypedDict):
    """A page of the items of a crawl."""

    job_id: str
    status: JobStatus | ArticleJobStatus
    total: int
    not_kept: int
    items: list[Any]


class JobTopic(TypedDict):
    """What a job is about."""

    host: str | None
    count: int
    spider: str | None
    project: str | None
    source: str | None


class LimitUsage(TypedDict):
    """Your tenant's limits and present usage."""

    limits: EffectiveLimits
    used: LimitsUsed
    pages: PageStorage


class LimitsUsed(TypedDict):
    """Present usage."""

    schedules: int
    concurrent_runs: int
    streams: int
    stored_bytes: int


class Liveness(TypedDict):
    """This process answers."""

    status: Literal["ok"]
    version: str


class LoadPeakAnswer(TypedDict):
    """The most runs that are open at once, and when first."""

    count: int
    at: str | None


class LogCount(TypedDict):
    """How many lines match. Each other number is what a filter for it would match."""

    count: int
    by_level: dict[str, int]
    by_category: dict[str, int]
    by_attempt: dict[str, int]


class LogLine(TypedDict):
    """One log line; its number is its sequence number among the run's events."""

    seq: int
    at: str
    level: str
    message: str
    category: str | None
    attempt: int | None


class LoginLink(TypedDict):
    """A URL that signs you in once."""

    url: str
    expires_at: str


class MemberInfo(TypedDict):
    """A user or API key that was active in the tenant."""

    user_id: str
    roles: list[Role]
    keys: int
    last_seen_at: str | None
    last_action: str | None


class MemberPage(TypedDict):
    """The active users and API keys of the tenant, latest first."""

    items: list[MemberInfo]
    next_cursor: str | None


class MonitorChange(TypedDict):
    """Fields to change; those that are absent stay."""

    name: NotRequired[str | None]
    type: NotRequired[MonitorType | None]
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    timezone: NotRequired[str | None]
    grace_seconds: NotRequired[int | None]
    tags: NotRequired[Sequence[str] | None]


class MonitorDetail(TypedDict):
    """A monitor."""

    id: str
    name: str
    type: MonitorType
    cron_expr: str | None
    interval_seconds: int | None
    timezone: str
    summary: str
    grace_seconds: int
    tags: list[str]
    status: MonitorStatus
    ping_url: str | None
    last_ping_at: str | None
    last_duration_ms: int | None
    started_at: str | None
    next_expected_at: str | None
    pings: int
    created_by: str
    created_at: str
    updated_at: str


class MonitorPage(TypedDict):
    """A list of monitors."""

    items: list[MonitorDetail]
    next_cursor: str | None


class MonitorPing(TypedDict):
    """One ping."""

    id: str
    kind: PingKind
    at: str
    method: str
    exit_code: int | None
    duration_ms: int | None
    rid: str | None
    user_agent: str
    body: str
    body_bytes: int


class MonitorPingPage(TypedDict):
    """A list of pings, newest first."""

    items: list[MonitorPing]
    next_cursor: str | None


class MonitorRequest(TypedDict):
    """When pings are expected: by `cron_expr` in a time zone, or every `interval_seconds`."""

    name: str
    type: MonitorType
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    timezone: NotRequired[str | None]
    grace_seconds: NotRequired[int | None]
    tags: NotRequired[Sequence[str] | None]


class MuteRequest(TypedDict):
    """For how long, and why."""

    hours: NotRequired[int]
    reason: NotRequired[str]


class MutedGroup(TypedDict):
    """A group of dead letters that is muted for a while; the mute ends by itself."""

    fingerprint: str
    user_id: str
    at: str
    until: str
    reason: str


class NamedCalendar(TypedDict):
    """A calendar with its next days."""

    id: str
    name: str
    description: str
    holidays: str | None
    subdivision: str | None
    dates: list[str | NamedDate]
    ics: str | None
    revision: int
    days: int
    schedules: int
    resolved_until: str
    upcoming: list[CalendarDay]
    created_by: str
    created_at: str
    updated_at: str


class NamedCalendarPage(TypedDict):
    """A page of calendars."""

    items: list[NamedCalendar]
    next_cursor: str | None


class NamedCalendarRequest(TypedDict):
    """A calendar. Schedules name it as `calendar:NAME` in `exclude` and `only`."""

    name: str
    description: NotRequired[str | None]
    holidays: NotRequired[str | None]
    subdivision: NotRequired[str | None]
    dates: NotRequired[Sequence[str | NamedDateInput] | None]
    ics: NotRequired[str | None]


class NamedDateInput(TypedDict):
    """A day or a range of days, with a name."""

    date: str
    name: NotRequired[str]


class NamedDate(TypedDict):
    """A day or a range of days, with a name."""

    date: str
    name: str


class NewApiKey(TypedDict):
    """A new API key, with its secret text, which is shown only once."""

    id: str
    name: str
    role: Role
    scopes: list[str] | None
    hint: str
    created_by: str
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    revoked_at: str | None
    revoked_by: str | None
    key: str


NewBackfill = TypedDict(
    "NewBackfill",
    {
        "from": "Time",
        "to": "NotRequired[Time | None]",
        "which": "NotRequired[InstantSelection]",
        "rate": "NotRequired[int]",
        "limit": "NotRequired[int]",
        "stop_after": "NotRequired[int | None]",
        "order": "NotRequired[BulkOrder]",
        "dry_run": "NotRequired[bool]",
        "expect": "NotRequired[int | None]",
    },
)
"""A request for a backfill: which instants, and at what rate."""


class NewBulkAction(TypedDict):
    """One action on many: cancel, retry, replay and discard act on runs, the others on schedules."""

    action: BulkOperation
    filter: NotRequired[str | None]
    ids: NotRequired[Sequence[str] | None]
    rate: NotRequired[int]
    stop_after: NotRequired[int | None]
    order: NotRequired[BulkOrder]
    dry_run: NotRequired[bool]
    expect: NotRequired[int | None]
    add_tags: NotRequired[Sequence[str]]
    remove_tags: NotRequired[Sequence[str]]
    as_of: NotRequired[ReplayVersion]
    patch: NotRequired[Mapping[str, Any] | None]
    canary: NotRequired[int]


class NewCrawl(TypedDict):
    """A crawl: now, once at a given time, or repeatedly."""

    user_id: NotRequired[str | None]
    spider: str
    start_urls: NotRequired[Sequence[str] | None]
    depth: NotRequired[int | None]
    schedule_at: NotRequired[Time | None]
    interval: NotRequired[str | int | Mapping[str, int] | None]
    timezone: NotRequired[str | None]
    ignore_cache: NotRequired[bool | None]
    params: NotRequired[Mapping[str, Any] | None]
    priority: NotRequired[int | None]
    project: NotRequired[str | None]
    min_items: NotRequired[int | None]
    max_errors: NotRequired[int | None]


class NewSavedView(TypedDict):
    """A filter, and an order if it has one, under a name."""

    list: ViewedList
    name: str
    q: NotRequired[str]
    sort: NotRequired[str | None]
    shared: NotRequired[bool]


class NodeHealth(TypedDict):
    """A process that reported in the last 30 s."""

    id: str
    role: str
    started_at: str
    seen_at: str
    lateness_p99_seconds: float | None
    report: dict[str, Any]


class NotificationChannel(TypedDict):
    """A channel. Credentials are masked."""

    id: str
    name: str
    kind: ChannelKind
    config: dict[str, Any]
    created_by: str
    created_at: str
    updated_at: str
    failing: bool
    last_error: str | None
    last_delivery: AlertDelivery | None


class NotifyingRule(TypedDict):
    """A rule that is about a schedule, and the channels that it notifies, by name."""

    id: str
    name: str
    on: list[AlertEvent]
    after: dict[str, Any]
    severity: AlertSeverity
    filter: str
    channels: list[str]
    declared: bool


class NotifyingRulePage(TypedDict):
    """The enabled rules that are about a schedule, by name. Empty: it notifies no channel."""

    items: list[NotifyingRule]


class PageDiffDetail(TypedDict):
    """What differs between two versions of a page."""

    before: PageVersionDetail
    after: PageVersionDetail
    fields: dict[str, dict[str, Any]]
    parts: list[DiffPart]
    cut: bool


class PagePlotDetail(TypedDict):
    """A field of one page over time, oldest first."""

    page_id: str
    url: str
    points: list[PlotPointDetail]
    until: str | None


class PageStorage(TypedDict):
    """Stored pages, compressed."""

    bytes: int
    quota: int | None


class PageVersionDetail(TypedDict):
    """What a page said from a time on."""

    id: str
    at: str
    fields: dict[str, Any]
    has_text: bool
    text: str | None


class PageVersionList(TypedDict):
    """Versions of a page, newest first."""

    items: list[PageVersionDetail]
    next_cursor: str | None


class ParkedHealth(TypedDict):
    """Parked runs, whose work goes on elsewhere, and when the next check of one is, or was, due."""

    count: int
    oldest: str | None


class PauseRequest(TypedDict):
    """Why the schedule is paused."""

    reason: NotRequired[str | None]


class PipelineDetail(TypedDict):
    """With its YAML and its newest runs."""

    name: str
    state: Literal["loaded", "broken"]
    error: PipelineFault | None
    schedule: PipelineTrigger | None
    schedule_id: str | None
    status: ScheduleStatus | None
    summary: str | None
    next_run_at: str | None
    revision: str | None
    file: str
    on_error: Literal["skip", "fail"] | None
    steps: list[PipelineStep]
    last_run: PipelineLastRun | None
    updated_at: str
    yaml: str
    runs: list[PipelineRun]


class PipelineFault(TypedDict):
    """An error in the file, and its place."""

    file: str
    line: int | None
    column: int | None
    message: str
    suggestion: str | None


class PipelineLastRun(TypedDict):
    """Its newest run."""

    id: str
    state: RunState
    finished_at: str | None


class PipelinePage(TypedDict):
    """Every pipeline of the tenant, in the order of its file."""

    items: list[PipelineSummary]
    next_cursor: str | None
    faults: list[PipelineFault]


class PipelineRun(TypedDict):
    """One of its runs."""

    id: str
    state: RunState
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_ms: float | None
    steps: list[PipelineStepProgress]


class PipelineRunRequest(TypedDict):
    """Empty: a pipeline runs as its file defines it."""


PipelineStep = TypedDict(
    "PipelineStep",
    {
        "class": "str",
        "name": "str",
        "kwargs": "dict[str, Any]",
        "on_error": "Literal[\"skip\", \"fail\"]",
        "line": "int | None",
    },
)
"""One step of its chain."""


PipelineStepProgress = TypedDict(
    "PipelineStepProgress",
    {
        "in": "int",
        "name": "str",
        "state": "str",
        "out": "int",
        "failed": "int",
        "seconds": "float",
    },
)
"""Progress of a step."""


class PipelineSummary(TypedDict):
    """The current state of a pipeline."""

    name: str
    state: Literal["loaded", "broken"]
    error: PipelineFault | None
    schedule: PipelineTrigger | None
    schedule_id: str | None
    status: ScheduleStatus | None
    summary: str | None
    next_run_at: str | None
    revision: str | None
    file: str
    on_error: Literal["skip", "fail"] | None
    steps: list[PipelineStep]
    last_run: PipelineLastRun | None
    updated_at: str


class PipelineTrigger(TypedDict):
    """When it runs, as in the file."""

    type: str
    cron_expr: str | None
    interval_seconds: int | None
    timezone: str


class PlanAnswer(TypedDict):
    """The changes, and the digest that applies them."""

    file: str
    digest: str
    counts: dict[str, int]
    changes: list[PlanChange]
    offsets: dict[str, str]
    simulation: SimulationAnswer | None


class PlanChange(TypedDict):
    """What is done with one thing."""

    thing: str
    name: str
    act: PlanAct
    id: str | None
    place: int | None
    fields: list[PlanField]


class PlanDocuments(TypedDict):
    """The wanted state, by kind of thing; names are the keys."""

    schedules: NotRequired[Sequence[ScheduleRequest] | None]
    calendars: NotRequired[Sequence[NamedCalendarRequest] | None]
    watches: NotRequired[Sequence[WatchRequest] | None]


class PlanField(TypedDict):
    """One field that differs. Credentials are masked."""

    field: str
    was: Any
    becomes: Any
    by_hand: bool


class PlanRequest(TypedDict):
    """Documents, compared with what is stored."""

    file: str
    documents: PlanDocuments
    prune: NotRequired[bool | None]
    overwrite: NotRequired[bool | None]
    spread: NotRequired[bool | None]
    offsets: NotRequired[Mapping[str, str] | None]
    simulate: NotRequired[bool | None]


class PlannedCrawl(TypedDict):
    """A schedule; `cached` and `cached_at` are present when an equal earlier request created it."""

    job_id: str
    scheduled: Literal[True]
    next_run: str | None
    cached: NotRequired[Literal[True]]
    cached_at: NotRequired[str | None]


class PlotPointDetail(TypedDict):
    """A number that a field had from this time on; null where it had none."""

    at: str
    value: float | None


class PresetContents(TypedDict):
    """A set of schedules that are created together."""

    name: str
    title: str
    description: str
    settings: dict[str, str]
    schedules: list[PresetSchedule]


class PresetLoadRequest(TypedDict):
    """The preset's settings; one that is left out keeps its present value."""

    settings: NotRequired[Mapping[str, Any] | None]


class PresetPage(TypedDict):
    """Every preset."""

    items: list[PresetContents]
    next_cursor: str | None


class PresetResult(TypedDict):
    """The result of a load or an unload."""

    preset: str
    items: list[PresetScheduleResult]


class PresetSchedule(TypedDict):
    """A schedule that a preset creates."""

    name: str
    schedule: dict[str, Any]


class PresetScheduleResult(TypedDict):
    """The result for one schedule of a preset."""

    name: str
    outcome: DeclarationOutcome
    schedule_id: str
    schedule: str
    status: str
    next_run_at: str | None


class PresetUnloadRequest(TypedDict):
    """Whether edited schedules are deleted as well."""

    edited: NotRequired[bool | None]


class PreviewInstant(TypedDict):
    """An instant, in UTC and in local time of the zone."""

    at: str
    local: str


class PreviewItem(TypedDict):
    """One message that the rule would have sent."""

    at: str
    event: AlertEvent
    subject: SubjectOfAlert
    would_say: str


class PreviewPage(TypedDict):
    """What one visit of a page found."""

    url: str
    state: PageState
    fields: dict[str, Any]
    around: dict[str, str | None]
    text: str | None
    missing: list[str]
    hints: dict[str, str]
    problem: dict[str, Any] | None
    selectors: list[dict[str, Any]]


class PreviewRequest(TypedDict):
    """A trigger, or `words` that describe one; `start_at` is the first moment considered."""

    type: NotRequired[TriggerType | None]
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    interval: NotRequired[Interval | None]
    run_at: NotRequired[Time | None]
    after: NotRequired[Following | None]
    timezone: NotRequired[str | None]
    start_at: NotRequired[Time | None]
    end_at: NotRequired[Time | None]
    exclude: NotRequired[Sequence[str | ExcludedHours] | None]
    only: NotRequired[Sequence[str | ExcludedHours] | None]
    shift: NotRequired[Shift | None]
    words: NotRequired[str | None]
    count: NotRequired[int]


class PreviousVersion(TypedDict):
    """What a page said before it changed."""

    title: str | None
    content: str | None
    scraped_at: str


class Problem(TypedDict):
    """RFC 9457. `code` is for programs, `detail` for people."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    cause: NotRequired[Literal["disk_full", "read_only", "disk_error", "busy", "away"] | None]
    errors: NotRequired[list[FieldError]]


class ProposedRequest(TypedDict):
    """A suggested request, ready to be sent."""

    label: str
    method: str
    path: str
    body: Any


class QualityRun(TypedDict):
    """The data of one run."""

    run_id: str
    state: RunState
    at: str
    facts: DataFactsAnswer | None
    verdict: list[ExpectationVerdict] | None


class QuarantineAnswer(TypedDict):
    """The data of a degraded run, and what was decided about them."""

    run_id: str
    state: QuarantineState
    items: int
    decided_at: str | None
    decided_by: str | None
    release_id: str | None


class QueueForecastAnswer(TypedDict):
    """The load of a queue or host over the next seven days, before and after the plan."""

    peak_before: LoadPeakAnswer
    peak_after: LoadPeakAnswer
    slots: int | None
    bars_before: list[int]
    bars_after: list[int]


class QueueHealth(TypedDict):
    """Runs that wait in a queue."""

    queue: str
    depth: int
    oldest: str | None


class QueueHistory(TypedDict):
    """Queues and slots over time, sampled once per minute."""

    range: HistoryRange
    step_seconds: int
    at: list[str]
    slots: list[int | None]
    busy: list[int | None]
    queues: list[QueueSeries]


class QueuePage(TypedDict):
    """The built-in queues, and every other one that has runs or was paused."""

    items: list[QueueStatus]
    next_cursor: str | None


class QueueSeries(TypedDict):
    """One queue, a value per step; null where nothing was sampled, because no scheduler was running."""

    name: str
    waiting: list[int | None]
    oldest_ms: list[int | None]
    running: list[int | None]
    ended: list[int | None]


class QueueStatus(TypedDict):
    """One queue. The role system sees all tenants' runs; others see their own, and null for what only operators see."""

    name: str
    depth: int
    oldest: str | None
    in_flight: int
    per_minute: int | None
    paused_at: str | None
    paused_by: str | None
    reason: str | None
    workers: list[str] | None


QuietTimes = TypedDict(
    "QuietTimes",
    {
        "from": "str",
        "to": "str",
        "timezone": "NotRequired[str]",
    },
)


class RankedSchedule(TypedDict):
    """A schedule with the record of its runs."""

    schedule_id: str
    name: str
    runs: int
    failed: int
    failure_ratio: float
    p95_ms: int | None
    q: RankingFilters


class RankingFilters(TypedDict):
    """Filters of runs that show where the numbers come from."""

    runs: str
    failed: str
    slow: str | None


class RealignResult(TypedDict):
    """The schedules that were realigned."""

    items: list[RealignedSchedule]


class RealignedSchedule(TypedDict):
    """A schedule that was ahead, and when it fires next."""

    id: str
    name: str
    next_run_at: str | None


class ReextractDryRun(TypedDict):
    """What a new reading would find."""

    dry_run: bool
    count: int
    looked_at: int
    failed: int
    coverage: dict[str, CoverageOfField]
    sample: list[ReextractSample]


class ReextractRequest(TypedDict):
    """Which stored pages are read again, and how: by `select`, `extractor` or `pipeline`, one of the three."""

    filter: NotRequired[str]
    select: NotRequired[Mapping[str, Any] | None]
    extractor: NotRequired[PageExtractor | None]
    pipeline: NotRequired[str | None]
    keep: NotRequired[str]
    rate: NotRequired[int]
    stop_after: NotRequired[int | None]
    order: NotRequired[BulkOrder]
    dry_run: NotRequired[bool]
    sample: NotRequired[int]
    expect: NotRequired[int | None]


class ReextractSample(TypedDict):
    """One page of the trial."""

    page_id: str
    url: str
    before: list[dict[str, Any]] | None
    after: list[dict[str, Any]]
    problem: str | None


class ReferenceMatch(TypedDict):
    """One thing that a reference matches; `name` is empty where it has none."""

    kind: str
    id: str
    name: str
    hint: str


class ReferenceResolution(TypedDict):
    """One match: that is meant. Several: it is ambiguous. None: `suggestions` has names that are alike."""

    matches: list[ReferenceMatch]
    more: bool
    suggestions: list[str]


class RegisteredTask(TypedDict):
    """A registered function."""

    name: str
    description: str
    module: str
    built_in: bool
    tenants: list[str] | None
    cpu: bool
    queue: str | None
    retries: int | None
    timeout_seconds: int | None
    schedule: dict[str, Any] | None
    parameters: dict[str, Any]


class ReplayDryRun(TypedDict):
    """What a replay would do, judged by the first 500."""

    looked_at: int
    duplicates: int
    changed: int
    stay: int
    edited: int
    refused: int
    refusals: list[BulkRefusal]
    replays_most: int
    replays_cap: int


class ReplayRequest(TypedDict):
    """Ids, or a filter; `{}` as filter means all."""

    ids: NotRequired[Sequence[str] | None]
    filter: NotRequired[DeadLetterFilter | None]
    as_of: NotRequired[ReplayVersion]
    patch: NotRequired[Mapping[str, Any] | None]


class ReplayResult(TypedDict):
    """The new runs; `more` says that the filter matches dead letters beyond the limit of one request."""

    items: list[Run]
    more: bool


class RetrySettingsInput(TypedDict):
    """Delay before retry n: exponential delay·2^(n-1), linear delay·n, fixed delay."""

    strategy: NotRequired[BackoffStrategy]
    max_retries: NotRequired[int]
    delay_seconds: NotRequired[float]
    max_delay_seconds: NotRequired[float]
    jitter: NotRequired[float]
    dead_letter: NotRequired[bool]


class RetrySettings(TypedDict):
    """Delay before retry n: exponential delay·2^(n-1), linear delay·n, fixed delay."""

    strategy: BackoffStrategy
    max_retries: int
    delay_seconds: float
    max_delay_seconds: float
    jitter: float
    dead_letter: bool


class Run(TypedDict):
    """A run, with its ended attempts."""

    id: str
    tenant_id: str
    user_id: str
    schedule_id: str | None
    schedule_name: str | None
    schedule_version: int | None
    kind: str
    origin: Origin
    state: RunState
    buffered: bool
    catchup: bool
    parked: bool
    cancel_requested: bool
    scheduled_for: str | None
    fills: str | None
    ready_at: str
    waiting: WaitReason | None
    queue: str
    priority: int
    attempt: int
    max_attempts: int
    worker: str | None
    created_at: str
    started_at: str | None
    finished_at: str | None
    duration_ms: float | None
    lateness_ms: float | None
    result: Any
    error: RunError | None
    verdict: list[ExpectationVerdict] | None
    fingerprint: str | None
    parent_id: str | None
    resolved_by: str | None
    action: dict[str, Any] | None
    attempts: list[RunAttempt]
    links: dict[str, str | None]


class RunAttempt(TypedDict):
    """An attempt that has ended."""

    number: int
    epoch: int
    worker: str | None
    outcome: str
    started_at: str
    ended_at: str
    duration_ms: float
    error: RunError | None
    response: dict[str, Any] | None
    retry_at: str | None
    request: SentRequest | None
    timing: RequestTiming | None


class RunCount(TypedDict):
    """How many runs match; exact. States without any are left out."""

    count: int
    by_state: dict[str, int]


class RunEvent(TypedDict):
    """One numbered event of a run, with the fields of its type: a state has no level, a log line no state."""

    seq: int
    at: str
    type: EventType
    state: NotRequired[RunState]
    attempt: NotRequired[int]
    level: NotRequired[str]
    data: NotRequired[dict[str, Any]]
    message: str


class RunLog(TypedDict):
    """A page of a run's log, oldest line first."""

    items: list[LogLine]
    total: int
    matches: int | None
    first_seq: int | None
    last_seq: int | None
    before: int | None
    after: int | None
    pruned: bool


class RunNeighbours(TypedDict):
    """The previous and the next run of the same schedule, by their ids."""

    before: str | None
    after: str | None


class RunNowRequest(TypedDict):
    """Overrides for this run only."""

    payload: NotRequired[Mapping[str, Any] | None]


class RunOutcome(TypedDict):
    """The outcome of one ended run."""

    run_id: str
    state: RunState
    duration_ms: float | None
    at: str


class RunPage(TypedDict):
    """A page of runs."""

    items: list[Run]
    next_cursor: str | None


RunPoints = TypedDict(
    "RunPoints",
    {
        "from": "str",
        "to": "str",
        "counts": "dict[str, int]",
        "shown": "dict[str, int]",
        "not_begun": "int",
        "states": "list[RunState]",
        "id": "list[str]",
        "at_ms": "list[int]",
        "took_ms": "list[int]",
        "state": "list[int]",
    },
)
"""Single runs over time, column by column. Those that have not begun are only counted."""


RunSeries = TypedDict(
    "RunSeries",
    {
        "from": "str",
        "to": "str",
        "bucket_seconds": "int",
        "timed": "float",
        "items": "list[RunSeriesBucket]",
    },
)
"""Runs over time, by creation; empty buckets are included."""


class RunSeriesBucket(TypedDict):
    """The runs created in one bucket, which begins at `at`."""

    at: str
    counts: dict[str, int]
    total: int
    p50_ms: int | None
    p95_ms: int | None
    late: int


class SavedView(TypedDict):
    """A filter of a list, with its order, under a name."""

    id: str
    list: ViewedList
    name: str
    q: str
    sort: str | None
    shared: bool
    user_id: str
    mine: bool
    created_at: str
    updated_at: str


class SavedViewChange(TypedDict):
    """Fields to change; those that are absent stay."""

    name: NotRequired[str | None]
    q: NotRequired[str | None]
    sort: NotRequired[str | None]
    shared: NotRequired[bool | None]


class SavedViewPage(TypedDict):
    """A page of views."""

    items: list[SavedView]
    next_cursor: str | None


class Schedule(TypedDict):
    """A schedule with its present status."""

    id: str
    tenant_id: str
    user_id: str
    name: str
    description: str
    tags: list[str]
    type: TriggerType
    cron_expr: str | None
    interval_seconds: int | None
    run_at: str | None
    after: FollowedSchedules | None
    timezone: str
    action: ActionConfig
    retry_policy: RetrySettings
    overlap: Overlap
    catchup: CatchupSettings
    queue: str
    priority: int
    timeout_seconds: int | None
    jitter_seconds: int
    start_at: str | None
    end_at: str | None
    max_runs: int | None
    alert: ScheduleAlert | None
    exclude: list[str | ExcludedHours]
    only: list[str | ExcludedHours]
    shift: Shift
    status: ScheduleStatus
    paused_reason: str
    paused_at: str | None
    paused_by: str | None
    skips: SkippedInstant | None
    fault: str | None
    managed_by: str
    summary: str
    next_run_at: str | None
    last_run_at: str | None
    version: int
    created_at: str
    updated_at: str
    links: dict[str, str]


class ScheduleAlertInput(TypedDict):
    """The short form of an alert rule: notifies channels of failures in a row, and of the recovery."""

    after: NotRequired[int]
    to: Sequence[str]


class ScheduleAlert(TypedDict):
    """The short form of an alert rule: notifies channels of failures in a row, and of the recovery."""

    after: int
    to: list[str]


class ScheduleBatchItem(TypedDict):
    """What became of one schedule of a batch, in the order of the request."""

    name: str | None
    outcome: BatchOutcome
    id: str | None
    errors: list[FieldError]


class ScheduleBatchRequest(TypedDict):
    """Many schedules at once."""

    schedules: Sequence[ScheduleRequest]
    atomic: NotRequired[bool]


class ScheduleBatchResult(TypedDict):
    """The answers to the schedules of a batch."""

    items: list[ScheduleBatchItem]


class ScheduleChain(TypedDict):
    """The schedules that one follows, directly or not, and those that follow it; itself among them."""

    schedules: list[ChainedSchedule]
    links: list[ScheduleLink]


class ScheduleCount(TypedDict):
    """How many schedules match; exact."""

    count: int


class ScheduleHealth(TypedDict):
    """The health of one schedule."""

    schedule_id: str
    outcomes: list[RunOutcome]
    success_ratio: float | None
    avg_duration_ms: float | None
    failing_since: str | None
    streak: int


class ScheduleHealthList(TypedDict):
    """The schedules that exist, in the order asked for."""

    items: list[ScheduleHealth]


class ScheduleInstant(TypedDict):
    """One instant of a schedule, and its outcome."""

    at: str
    outcome: Literal["ran", "queued", "skipped", "missed", "pruned", "planned"]
    reason: str
    run_id: str | None


class ScheduleLink(TypedDict):
    """One schedule that follows another."""

    parent: str
    child: str
    outcome: FollowOutcome
    all: bool


class ScheduleName(TypedDict):
    """A schedule and its name."""

    id: str
    name: str


class SchedulePage(TypedDict):
    """A page of schedules."""

    items: list[Schedule]
    next_cursor: str | None


class SchedulePreview(TypedDict):
    """The next instants of a trigger, and its fields: a request may have described it in `words`."""

    summary: str
    type: TriggerType
    cron_expr: str | None
    interval_seconds: int | None
    run_at: str | None
    after: FollowedSchedules | None
    start_at: str | None
    timezone: str
    next: list[PreviewInstant]
    excluded: list[ExcludedTimes]
    notes: list[str]


class ScheduleQualityAnswer(TypedDict):
    """The data of a schedule's newest runs."""

    items: list[QualityRun]
    baseline: BaselineBand | None
    bands: dict[str, BaselineBand]
    good_runs: int
    suggestions: list[SuggestedExpectation]


class ScheduleRanking(TypedDict):
    """The slowest and the flakiest schedules, worst first."""

    over: RankingPeriod
    since: str
    runs: int
    whole: bool
    slowest: list[RankedSchedule]
    flakiest: list[RankedSchedule]


class ScheduleRequest(TypedDict):
    """A request to create or replace a schedule."""

    name: str
    description: NotRequired[str | None]
    tags: NotRequired[Sequence[str] | None]
    type: TriggerType
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    interval: NotRequired[Interval | None]
    run_at: NotRequired[Time | None]
    after: NotRequired[Following | None]
    timezone: NotRequired[str | None]
    start_at: NotRequired[Time | None]
    end_at: NotRequired[Time | None]
    action: NotRequired[ActionConfig | None]
    payload: NotRequired[WebhookPayload | None]
    retry_policy: NotRequired[RetrySettingsInput | None]
    exclude: NotRequired[Sequence[str | ExcludedHours] | None]
    only: NotRequired[Sequence[str | ExcludedHours] | None]
    shift: NotRequired[Shift | None]
    overlap: NotRequired[Overlap | None]
    catchup: NotRequired[CatchupSettingsInput | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    timeout_seconds: NotRequired[int | None]
    jitter_seconds: NotRequired[int | None]
    max_runs: NotRequired[int | None]
    alert: NotRequired[ScheduleAlertInput | None]
    paused: NotRequired[bool | None]
    paused_reason: NotRequired[str | None]


class ScheduleVersion(TypedDict):
    """What an edit, a pause or a resume of a schedule left in force."""

    version: int
    at: str
    status: Literal["active", "paused"]
    reason: str
    user_id: str | None
    change: str | None
    settings: dict[str, Any] | None


class ScheduleVersionPage(TypedDict):
    """A page of versions."""

    items: list[ScheduleVersion]
    next_cursor: str | None


class ScrapydHealth(TypedDict):
    """A Scrapyd that runs crawls, checked just now; without it crawls go to the others, or wait."""

    url: str
    name: str
    status: Literal["ok", "down"]
    pending: int | None
    running: int | None
    latency_ms: float | None
    error: str | None


class SecretInfo(TypedDict):
    """A secret, without its value."""

    name: str
    version: int
    created_at: str
    created_by: str
    hosts: list[str]
    previous_until: str | None


class SecretPage(TypedDict):
    """All secrets."""

    items: list[SecretInfo]
    next_cursor: str | None


class SecretRequest(TypedDict):
    """The new value of a secret."""

    value: str
    hosts: NotRequired[Sequence[str] | None]


class ServerFeatures(TypedDict):
    """Optional features of this server."""

    pipelines: bool
    scrapyd: bool
    echo: bool


class SessionInfo(TypedDict):
    """Who you are here. Without a session it has `mode`, `signed_in` and `version` only."""

    mode: Literal["local", "secured"]
    signed_in: bool
    version: str
    user_id: NotRequired[str | None]
    tenant_id: NotRequired[str | None]
    role: NotRequired[Role | None]
    may: NotRequired[list[str] | None]
    expires_at: NotRequired[str | None]
    timezone: NotRequired[str | None]
    csrf: NotRequired[str | None]
    demo: NotRequired[DemoState | None]
    features: NotRequired[ServerFeatures | None]


class SessionRequest(TypedDict):
    """The credential to sign in with: one of the two."""

    token: NotRequired[str | None]
    code: NotRequired[str | None]


class SessionsEnded(TypedDict):
    """How many sessions were ended."""

    ended: int


class SignInRequest(TypedDict):
    """The page of the sign-in, and what a browser does there."""

    url: str
    every: NotRequired[str | None]
    wait_for: NotRequired[int | str | None]
    scroll: NotRequired[int | None]
    steps: NotRequired[Sequence[BrowserStep] | None]
    load: NotRequired[Sequence[PageResource] | None]


SimulationAnswer = TypedDict(
    "SimulationAnswer",
    {
        "from": "str",
        "to": "str",
        "queues": "dict[str, QueueForecastAnswer]",
        "hosts": "dict[str, QueueForecastAnswer]",
        "skipped": "list[SkippedForecastAnswer]",
        "crowded": "list[CrowdedSecondAnswer]",
        "notes": "list[str]",
    },
)


class SkipRequest(TypedDict):
    """Which instant is meant: any other than the next is refused (409)."""

    at: NotRequired[Time | None]


class SkippedForecastAnswer(TypedDict):
    """A schedule whose overlap policy will skip instants."""

    name: str
    instants: int
    skipped: int


class SkippedInstant(TypedDict):
    """An instant that will make no run, and who asked for that."""

    at: str
    by: str | None


SnoozeRequest = TypedDict(
    "SnoozeRequest",
    {
        "for": "str",
    },
)
"""How long no reminder is sent."""


class SpiderAnswer(TypedDict):
    """What a host answered to a spider, where it says something about the host."""

    status: int
    retry_after: NotRequired[str | None]
    path: NotRequired[str]
    robots: NotRequired[str | None]


class StandstillHealth(TypedDict):
    """Why due work does not begin, as far as a process can see."""

    reason: StandstillReason
    told: str
    seconds: float
    hosts: list[HostHealth]
    detail: str
    node: str | None


class StoredPageInfo(TypedDict):
    """A page as it was fetched; its body is at `/api/pages/{id}/body`."""

    id: str
    url: str
    fetched_at: str
    status: int
    content_type: str
    headers: dict[str, str]
    bytes: int
    stored_bytes: int
    rendered: bool
    article_id: str | None
    watch_id: str | None
    run_id: str | None
    expires_at: str


class StoredPageList(TypedDict):
    """Stored pages, newest first."""

    items: list[StoredPageInfo]
    next_cursor: str | None


class StoredPageVersionInfo(TypedDict):
    """What one reading found on a stored page."""

    id: str
    page_id: str
    url: str
    bulk_id: str
    at: str
    reading: dict[str, Any]
    items: list[dict[str, Any]]
    expires_at: str


class StoredPageVersionList(TypedDict):
    """Versions of stored pages, newest first."""

    items: list[StoredPageVersionInfo]
    next_cursor: str | None


class StreamTicket(TypedDict):
    """A ticket, which is shown only once."""

    ticket: str
    expires_at: str


class SubjectOfAlert(TypedDict):
    """What an alert is about."""

    kind: SubjectKind
    id: str
    name: str


class SuggestedExpectation(TypedDict):
    """An expectation that earlier runs would have met."""

    expectation: str
    value: Any
    why: str


class SuggestionList(TypedDict):
    """Best first."""

    items: list[FilterSuggestion]


class TaskPage(TypedDict):
    """Every task that this server has loaded."""

    items: list[RegisteredTask]
    next_cursor: str | None
    faults: list[str] | None


class TaskRunRequest(TypedDict):
    """The parameters of the run."""

    parameters: NotRequired[Mapping[str, Any] | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    timeout_seconds: NotRequired[int | None]


class TenantLimitsRequest(TypedDict):
    """A limit that is left out has the default of the settings; null lifts it."""

    requests_per_minute: NotRequired[int | None]
    schedules: NotRequired[int | None]
    concurrent_runs: NotRequired[int | None]
    run_now_per_minute: NotRequired[int | None]
    streams: NotRequired[int | None]
    stored_bytes: NotRequired[int | None]
    catchup_rate: NotRequired[int | None]


class TenantPage(TypedDict):
    """Tenants with settings of their own."""

    items: list[TenantSettings]
    next_cursor: str | None


class TenantRequest(TypedDict):
    """The whole document of a tenant."""

    limits: NotRequired[TenantLimitsRequest | None]
    egress_allow: NotRequired[Sequence[str] | None]


class TenantSettings(TypedDict):
    """A tenant's own settings, and the effective ones."""

    tenant_id: str
    limits: dict[str, int | None]
    effective: EffectiveLimits
    egress_allow: list[str] | None
    updated_by: str | None
    updated_at: str | None


Timeline = TypedDict(
    "Timeline",
    {
        "from": "str",
        "to": "str",
        "now": "str",
        "bucket_seconds": "int",
        "groups": "list[TimelineRow]",
        "rest": "list[TimelineFold]",
        "collisions": "list[TimelineCollision]",
        "links": "list[TimelineLink]",
        "marks": "int",
        "dropped_groups": "int",
        "complete": "bool",
        "sampled": "bool",
    },
)
"""Past runs and planned instants, at most 2,000 marks in total."""


class TimelineCollision(TypedDict):
    """A minute at which several schedules begin; very frequent schedules are not counted."""

    at: str
    count: int


class TimelineFold(TypedDict):
    """A density row: the schedules without a row of their own, by their first tag, else by their kind."""

    key: str
    name: str
    q: str | None
    schedules: int
    runs: int
    planned: int
    marks: list[TimelineMark]


class TimelineLink(TypedDict):
    """A run that follows another: their ids, the keys of their rows, when the one ended and the other began."""

    parent: str
    child: str
    parent_key: str
    child_key: str
    ended_at: str
    began_at: str


class TimelineMark(TypedDict):
    """A run, planned instants, or instants that made no run; where folded, `count` of the same."""

    at: str
    until: str | None
    state: RunState | Literal["planned", "missed", "skipped"]
    count: int
    run_id: str | None


class TimelineRow(TypedDict):
    """One row of a timeline."""

    key: str
    name: str
    kind: str | None
    schedule_id: str | None
    summary: str | None
    timezone: str | None
    runs: int
    planned: int
    folded: bool
    urgency: Urgency | None
    marks: list[TimelineMark]


class TriedChangeDetail(TypedDict):
    """What the condition would have said of a change."""

    change_id: str
    page_id: str
    url: str
    at: str
    kind: ChangeKind
    fields: dict[str, dict[str, Any]]
    diff: str
    holds: bool
    matched: bool


class TurnBlock(TypedDict):
    """Turns of a spider at a host; times are seconds from the answer on, so that clocks need not agree."""

    starts: list[float]
    late: float | None
    retry_in: float
    robots_due: bool
    took: float


class TurnsRequest(TypedDict):
    """Turns that a spider asks for, and what it has learnt since it last asked."""

    holder: str
    wanted: int
    in_flight: NotRequired[int]
    answers: NotRequired[Sequence[SpiderAnswer] | None]


class UnmutedGroup(TypedDict):
    """A group of dead letters that is no longer muted."""

    fingerprint: str
    mute: NotRequired[None]


class WaitReason(TypedDict):
    """Why a run that was ready was not started; that counts as no attempt."""

    code: str
    message: str


class WatchDetail(TypedDict):
    """A watch. Beside these fields it has those that it was created with."""

    id: str
    name: str
    urls: list[str] | None
    sitemap: str | None
    feed: str | None
    links: dict[str, str] | None
    select: str | None
    text: str
    fields: dict[str, Any]
    ignore: list[Any]
    when: str | None
    at: Crossing
    schedule: dict[str, Any] | None
    revisit: dict[str, Any] | None
    render: str | None
    robots: str | None
    keep_pages: str
    session: str | None
    browser: dict[str, Any] | None
    history: str
    expect: dict[str, Any] | None
    tags: list[str]
    fed_by: str | None
    schedule_id: str
    status: ScheduleStatus
    summary: str
    pages: int
    states: dict[str, int]
    line: WatchLine | None
    changes: int
    last_visit_at: str | None
    last_change_at: str | None
    next_visit_at: str | None
    problem: dict[str, Any] | None
    feed_url: str | None
    created_by: str
    created_at: str
    updated_at: str


class WatchLine(TypedDict):
    """The newest values of a numeric field, oldest first; null where a version had none."""

    field: str
    values: list[float | None]


class WatchPage(TypedDict):
    """A list of watches, newest first."""

    items: list[WatchDetail]
    next_cursor: str | None


class WatchPlotDetail(TypedDict):
    """A numeric field of the pages of a watch that changed last."""

    field: str | None
    unit: str | None
    pages: list[PagePlotDetail]


class WatchPreviewAnswer(TypedDict):
    """What a watch would find now; nothing is stored."""

    pages: list[PreviewPage]
    when: bool | None
    listed: int | None
    problems: list[str]


class WatchRequest(TypedDict):
    """Pages, how they are read, when they are visited, and which changes count."""

    name: str
    urls: NotRequired[Sequence[str]]
    sitemap: NotRequired[str | None]
    feed: NotRequired[str | None]
    links: NotRequired[Mapping[str, str]]
    select: NotRequired[str | None]
    text: NotRequired[str | None]
    fields: NotRequired[Mapping[str, Any] | None]
    ignore: NotRequired[Sequence[Any]]
    when: NotRequired[str | None]
    at: NotRequired[Crossing | None]
    schedule: NotRequired[Mapping[str, Any] | None]
    revisit: NotRequired[Mapping[str, Any] | None]
    render: NotRequired[Render | None | None]
    robots: NotRequired[Robots | None | None]
    keep_pages: NotRequired[str | None]
    session: NotRequired[str | None]
    browser: NotRequired[BrowserActions | None]
    history: NotRequired[str | None]
    expect: NotRequired[Mapping[str, Any] | None]
    tags: NotRequired[Sequence[str] | None]


class WatchedPageDetail(TypedDict):
    """A page of a watch."""

    id: str
    url: str
    state: PageState
    fields: dict[str, Any]
    problem: dict[str, Any] | None
    visits: int
    changes: int
    first_at: str
    last_visit_at: str | None
    last_change_at: str | None
    next_visit_at: str | None
    why_then: str
    version_id: str | None


class WatchedPageList(TypedDict):
    """Pages of a watch, in the order in which they were added."""

    items: list[WatchedPageDetail]
    next_cursor: str | None


class WebhookPayload(TypedDict):
    """The request that a webhook sends."""

    url: str
    method: NotRequired[Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]]
    headers: NotRequired[Mapping[str, str]]
    body: NotRequired[Any]


class WorkerPage(TypedDict):
    """Every process that reported within the last day."""

    items: list[WorkerStatus]
    next_cursor: str | None


class WorkerStatus(TypedDict):
    """One process, by its last report."""

    id: str
    role: str
    host: str
    pid: int | None
    started_at: str
    seen_at: str
    state: NodeState
    wish: NodeRequest | None
    slots: int
    free: int
    in_flight: int
    queues: list[str] | None


class NewBackfillFields(TypedDict):
    """A request for a backfill: which instants, and at what rate. Keyword arguments."""

    from_: Time
    to: NotRequired[Time | None]
    which: NotRequired[InstantSelection]
    rate: NotRequired[int]
    limit: NotRequired[int]
    stop_after: NotRequired[int | None]
    order: NotRequired[BulkOrder]
    expect: NotRequired[int | None]


class NewBulkActionFields(TypedDict):
    """One action on many: cancel, retry, replay and discard act on runs, the others on schedules. Keyword arguments."""

    action: BulkOperation
    filter: NotRequired[str | None]
    ids: NotRequired[Sequence[str] | None]
    rate: NotRequired[int]
    stop_after: NotRequired[int | None]
    order: NotRequired[BulkOrder]
    expect: NotRequired[int | None]
    add_tags: NotRequired[Sequence[str]]
    remove_tags: NotRequired[Sequence[str]]
    as_of: NotRequired[ReplayVersion]
    patch: NotRequired[Mapping[str, Any] | None]
    canary: NotRequired[int]


class ReextractRequestFields(TypedDict):
    """Which stored pages are read again, and how: by `select`, `extractor` or `pipeline`, one of the three. Keyword arguments."""

    filter: NotRequired[str]
    select: NotRequired[Mapping[str, Any] | None]
    extractor: NotRequired[PageExtractor | None]
    pipeline: NotRequired[str | None]
    keep: NotRequired[str]
    rate: NotRequired[int]
    stop_after: NotRequired[int | None]
    order: NotRequired[BulkOrder]
    sample: NotRequired[int]
    expect: NotRequired[int | None]


class SchedulePatchFields(TypedDict):
    """Any of a schedule's fields; a null resets one to its default. Keyword arguments."""

    name: NotRequired[str]
    description: NotRequired[str | None]
    tags: NotRequired[Sequence[str] | None]
    type: NotRequired[TriggerType]
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    interval: NotRequired[Interval | None]
    run_at: NotRequired[Time | None]
    after: NotRequired[Following | None]
    timezone: NotRequired[str | None]
    start_at: NotRequired[Time | None]
    end_at: NotRequired[Time | None]
    action: NotRequired[ActionConfig | None]
    payload: NotRequired[WebhookPayload | None]
    retry_policy: NotRequired[RetrySettingsInput | None]
    exclude: NotRequired[Sequence[str | ExcludedHours] | None]
    only: NotRequired[Sequence[str | ExcludedHours] | None]
    shift: NotRequired[Shift | None]
    overlap: NotRequired[Overlap | None]
    catchup: NotRequired[CatchupSettingsInput | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    timeout_seconds: NotRequired[int | None]
    jitter_seconds: NotRequired[int | None]
    max_runs: NotRequired[int | None]
    alert: NotRequired[ScheduleAlertInput | None]
    paused: NotRequired[bool | None]
    paused_reason: NotRequired[str | None]
    cron: NotRequired[str]
    every: NotRequired[int | timedelta]
    at: NotRequired[Time]
    webhook: NotRequired[str | Mapping[str, Any]]


class ScheduleRequestFields(TypedDict):
    """A request to create or replace a schedule. Keyword arguments."""

    name: str
    description: NotRequired[str | None]
    tags: NotRequired[Sequence[str] | None]
    type: NotRequired[TriggerType]
    cron_expr: NotRequired[str | None]
    interval_seconds: NotRequired[int | None]
    interval: NotRequired[Interval | None]
    run_at: NotRequired[Time | None]
    after: NotRequired[Following | None]
    timezone: NotRequired[str | None]
    start_at: NotRequired[Time | None]
    end_at: NotRequired[Time | None]
    action: NotRequired[ActionConfig | None]
    payload: NotRequired[WebhookPayload | None]
    retry_policy: NotRequired[RetrySettingsInput | None]
    exclude: NotRequired[Sequence[str | ExcludedHours] | None]
    only: NotRequired[Sequence[str | ExcludedHours] | None]
    shift: NotRequired[Shift | None]
    overlap: NotRequired[Overlap | None]
    catchup: NotRequired[CatchupSettingsInput | None]
    queue: NotRequired[str | None]
    priority: NotRequired[int | None]
    timeout_seconds: NotRequired[int | None]
    jitter_seconds: NotRequired[int | None]
    max_runs: NotRequired[int | None]
    alert: NotRequired[ScheduleAlertInput | None]
    paused: NotRequired[bool | None]
    paused_reason: NotRequired[str | None]
    cron: NotRequired[str]
    every: NotRequired[int | timedelta]
    at: NotRequired[Time]
    webhook: NotRequired[str | Mapping[str, Any]]


class SnoozeRequestFields(TypedDict):
    """How long no reminder is sent. Keyword arguments."""

    for_: str


class WatchChangeFields(TypedDict):
    """Fields to change, as in creating a watch; those that are absent stay, and null takes one away. Keyword arguments."""

    name: NotRequired[str]
    urls: NotRequired[Sequence[str]]
    sitemap: NotRequired[str | None]
    feed: NotRequired[str | None]
    links: NotRequired[Mapping[str, str]]
    select: NotRequired[str | None]
    text: NotRequired[str | None]
    fields: NotRequired[Mapping[str, Any] | None]
    ignore: NotRequired[Sequence[Any]]
    when: NotRequired[str | None]
    at: NotRequired[Crossing | None]
    schedule: NotRequired[Mapping[str, Any] | None]
    revisit: NotRequired[Mapping[str, Any] | None]
    render: NotRequired[Render | None | None]
    robots: NotRequired[Robots | None | None]
    keep_pages: NotRequired[str | None]
    session: NotRequired[str | None]
    browser: NotRequired[BrowserActions | None]
    history: NotRequired[str | None]
    expect: NotRequired[Mapping[str, Any] | None]
    tags: NotRequired[Sequence[str] | None]


class WatchPreviewRequestFields(TypedDict):
    """A watch, whose name and time may be missing; `find` is a text on the page that selectors are wanted for. Keyword arguments."""

    name: NotRequired[str]
    urls: NotRequired[Sequence[str]]
    sitemap: NotRequired[str | None]
    feed: NotRequired[str | None]
    links: NotRequired[Mapping[str, str]]
    select: NotRequired[str | None]
    text: NotRequired[str | None]
    fields: NotRequired[Mapping[str, Any] | None]
    ignore: NotRequired[Sequence[Any]]
    when: NotRequired[str | None]
    at: NotRequired[Crossing | None]
    schedule: NotRequired[Mapping[str, Any] | None]
    revisit: NotRequired[Mapping[str, Any] | None]
    render: NotRequired[Render | None | None]
    robots: NotRequired[Robots | None | None]
    keep_pages: NotRequired[str | None]
    session: NotRequired[str | None]
    browser: NotRequired[BrowserActions | None]
    history: NotRequired[str | None]
    expect: NotRequired[Mapping[str, Any] | None]
    tags: NotRequired[Sequence[str] | None]
    find: NotRequired[str]
