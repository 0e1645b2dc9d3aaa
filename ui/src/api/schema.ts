/* Written by `make reference` from the API's description. Do not edit. */

export interface ActionConfig {
  kind: string;
  [more: string]: unknown;
}

export interface AfterThreshold {
  in_a_row?: number | null;
  count?: number | null;
  within?: string | null;
}

export interface AheadHealth {
  tenant_id: string;
  schedule_id: string;
}

export interface AlertCounts {
  open: number;
  acknowledged: number;
}

export interface AlertDelivery {
  id: string;
  channel_id: string;
  alert_id: string | null;
  event: DeliveryEvent;
  state: DeliveryState;
  attempts: number;
  created_at: string;
  next_attempt_at: string | null;
  sent_at: string | null;
  error: string | null;
  grouped: number;
  instead_of: string | null;
}

export interface AlertDetail {
  id: string;
  rule_id: string;
  event: AlertEvent;
  severity: AlertSeverity;
  state: AlertState;
  subject: SubjectOfAlert;
  count: number;
  first_at: string;
  opened_at: string;
  last_at: string;
  acknowledged_by: string | null;
  acknowledged_at: string | null;
  snoozed_until: string | null;
  resolved_at: string | null;
  resolved_by: string | null;
  summary: string;
  reason: string;
  run_id: string | null;
  deliveries: (AlertDelivery)[];
}

export type AlertEvent = "failed" | "dead_letter" | "late" | "missed" | "slow" | "degraded" | "changed" | "recovered" | "finished" | "queue_stuck" | "worker_lost" | "node_silent";

export interface AlertPage {
  items: (AlertDetail)[];
  next_cursor: string | null;
}

export interface AlertRule {
  id: string;
  name: string;
  on: (AlertEvent)[];
  filter: string;
  after: Record<string, unknown>;
  late_after: string;
  slow_after: string | null;
  remind_every: string | null;
  quiet: Record<string, string> | null;
  severity: AlertSeverity;
  to: (string)[];
  enabled: boolean;
  schedule_id: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface AlertRuleChange {
  name?: string | null;
  on?: (AlertEvent)[] | null;
  filter?: string | null;
  after?: AfterThreshold | number | null;
  late_after?: string | null;
  slow_after?: string | null;
  remind_every?: string | null;
  quiet?: QuietTimes | null;
  severity?: AlertSeverity | null;
  to?: (string)[] | null;
  enabled?: boolean | null;
}

export interface AlertRulePage {
  items: (AlertRule)[];
  next_cursor: string | null;
}

export interface AlertRulePreview {
  items: (PreviewItem)[];
  total: number;
  whole: boolean;
  unknown: (AlertEvent)[];
}

export interface AlertRulePreviewRequest {
  name?: string;
  on: (AlertEvent)[];
  filter?: string;
  after?: AfterThreshold | number;
  late_after?: string;
  slow_after?: string | null;
  remind_every?: string | null;
  quiet?: QuietTimes | null;
  severity?: AlertSeverity;
  to?: (string)[];
  enabled?: boolean;
  over?: string;
}

export interface AlertRuleRequest {
  name: string;
  on: (AlertEvent)[];
  filter?: string;
  after?: AfterThreshold | number;
  late_after?: string;
  slow_after?: string | null;
  remind_every?: string | null;
  quiet?: QuietTimes | null;
  severity?: AlertSeverity;
  to?: (string)[];
  enabled?: boolean;
}

export type AlertSeverity = "warning" | "critical";

export type AlertState = "open" | "acknowledged" | "resolved";

export interface ApiKey {
  id: string;
  name: string;
  role: Role;
  scopes: (string)[] | null;
  hint: string;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
}

export interface ApiKeyPage {
  items: (ApiKey)[];
  next_cursor: string | null;
}

export interface ApiKeyRequest {
  name: string;
  role: Role;
  scopes?: (string)[] | null;
  expires_at?: string | null;
}

export interface ApplyRequest {
  file: string;
  documents: PlanDocuments;
  prune?: boolean | null;
  overwrite?: boolean | null;
  spread?: boolean | null;
  offsets?: Record<string, string> | null;
  simulate?: boolean | null;
  digest: string;
}

export interface ArticleDetail {
  article_id: string;
  url: string;
  source: string;
  category: string;
  title: string | null;
  content: string | null;
  author: string | null;
  published_at: string | null;
  language: string | null;
  canonical_url: string | null;
  image: string | null;
  rendered: boolean;
  scraped_at: string | null;
  cached: boolean;
  reference_count: number;
  retry_count: number;
  previous_scraped_at: string | null;
  previous: PreviousVersion | null;
}

export interface ArticleJob {
  job_id: string;
  status: string;
  total_articles: number;
  new_articles: number;
  cached_articles: number;
  message: string;
}

export interface ArticleJobRequest {
  articles: (ArticleRequest)[];
  ignore_cache?: boolean;
  max_age_seconds?: number | null;
  expect?: Record<string, unknown> | null;
  render?: Render | null;
  robots?: Robots | null;
  keep_pages?: string | null;
  session?: string | null;
  browser?: BrowserActions | null;
}

export type ArticleJobStatus = "PENDING" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED";

export interface ArticleRequest {
  url: string;
  source?: string;
  category?: string;
  priority?: number;
}

export interface ArticleResult {
  article_id: string;
  url: string;
  source: string;
  category: string;
  title: string | null;
  content: string | null;
  author: string | null;
  published_at: string | null;
  language: string | null;
  canonical_url: string | null;
  image: string | null;
  rendered: boolean;
  scraped_at: string | null;
  cached: boolean;
  reference_count: number;
  retry_count: number;
  previous_scraped_at: string | null;
}

export interface ArticleResults {
  job_id: string;
  status: string;
  total_articles: number;
  successful: number;
  failed: number;
  cancelled: number;
  results: (ArticleResult)[];
  failed_articles: (FailedArticle)[];
}

export interface AttentionItem {
  id: string;
  kind: AttentionKind;
  severity: Severity;
  title: string;
  reason: string;
  since: string | null;
  count: number;
  schedule_id: string | null;
  run_id: string | null;
  queue: string | null;
  worker: string | null;
  q: string | null;
  actions: (ProposedRequest)[];
}

export type AttentionKind = "failing" | "late" | "missed" | "dead_letters" | "stalled_queue" | "lost_worker" | "damaged" | "no_worker" | "ahead" | "standstill" | "channel" | "monitor" | "pages";

export interface AttentionReport {
  checked_at: string;
  items: (AttentionItem)[];
}

export interface AuditLogEntry {
  id: string;
  at: string;
  user_id: string;
  key_id: string | null;
  door: string;
  verb: string;
  thing: string;
  thing_id: string;
  thing_name: string | null;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  seq: number | null;
  digest: string | null;
}

export interface AuditPage {
  items: (AuditLogEntry)[];
  next_cursor: string | null;
}

export interface BackfillDryRun {
  dry_run: boolean;
  count: number;
  named: number;
  left_out: Record<string, number>;
  first: string | null;
  last: string | null;
  sample: (ScheduleInstant)[];
  hosts: (string)[];
  warnings: (string)[];
}

export type BackoffStrategy = "exponential" | "linear" | "fixed";

export interface BaselineBand {
  median: number;
  low: number;
  high: number;
}

export type BatchOutcome = "created" | "refused";

export interface BrokerHealth {
  url: string;
  publishing: boolean;
  error: string | null;
}

export interface BrowserActions {
  wait_for?: number | string | null;
  scroll?: number;
  steps?: (BrowserStep)[];
  load?: (PageResource)[];
}

export interface BrowserStep {
  do: StepKind;
  selector?: string;
  value?: string;
  key?: string;
}

export interface BulkAction {
  id: string;
  action: BulkOperation;
  filter: string | null;
  ids_given: number;
  rate: number;
  stop_after: number | null;
  order: BulkOrder;
  state: BulkState;
  total: number;
  done: number;
  ok: number;
  failed: number;
  pending: number;
  failures: (BulkFailure)[];
  outcomes: Partial<Record<RunState, number>>;
  user_id: string;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
  reason: string;
  details: Record<string, unknown> | null;
}

export interface BulkActionPage {
  items: (BulkAction)[];
  next_cursor: string | null;
}

export interface BulkDryRun {
  dry_run: boolean;
  count: number;
  sample: (BulkSample)[];
  hosts: (string)[];
  warnings: (string)[];
  rehearsal: ReplayDryRun | null;
}

export interface BulkFailure {
  id: string;
  message: string;
}

export type BulkOperation = "cancel" | "retry" | "replay" | "discard" | "pause" | "resume" | "run" | "tag" | "delete" | "backfill" | "reextract";

export type BulkOrder = "oldest" | "newest";

export interface BulkRefusal {
  id: string;
  message: string;
}

export interface BulkSample {
  id: string;
  kind: string;
  name: string | null;
  state: string;
  message: string;
  version?: number | null;
  follows?: number | null;
  replays?: number | null;
}

export type BulkState = "running" | "paused" | "stopped" | "finished";

export interface CachedCrawl {
  job_id: string;
  scheduled: false;
  cached: true;
  cached_at: string;
}

export interface Calendar {
  timezone: string;
  granularity: Granularity;
  exact: boolean;
  items: (CalendarCell)[];
}

export interface CalendarCell {
  at: string;
  local: string;
  counts: Partial<Record<RunState, number>>;
  total: number;
  planned: number;
  missed: number;
  skipped: number;
}

export interface CalendarDay {
  date: string;
  name: string;
  start_at?: string | null;
  end_at?: string | null;
}

export interface CallingSchedule {
  id: string;
  name: string;
}

export interface CancelledJob {
  job_id: string;
  status: "CANCELLED";
  message: string;
}

export type CatchupMode = "none" | "latest" | "all";

export interface CatchupSettings {
  mode: CatchupMode;
  window_seconds: number;
  max_runs: number;
  grace_seconds: number;
}

export interface ChainedSchedule {
  id: string;
  name: string;
  type: TriggerType;
  status: ScheduleStatus;
  summary: string;
  state: string | null;
  run_id: string | null;
}

export interface ChangeDetail {
  id: string;
  seq: number;
  watch_id: string;
  watch: string;
  page_id: string;
  url: string;
  at: string;
  kind: ChangeKind;
  matched: boolean;
  fields: Record<string, Record<string, unknown>>;
  diff: string;
  run_id: string | null;
  version_id: string | null;
  before_id: string | null;
}

export type ChangeKind = "new" | "changed" | "removed";

export interface ChangeList {
  items: (ChangeDetail)[];
  next_cursor: string | null;
  last_seq: number | null;
}

export interface ChannelChange {
  name?: string | null;
  config?: Record<string, unknown> | null;
}

export type ChannelKind = "webhook" | "email" | "slack" | "discord" | "teams" | "telegram" | "pagerduty" | "opsgenie" | "ntfy" | "gotify" | "apprise";

export interface ChannelPage {
  items: (NotificationChannel)[];
  next_cursor: string | null;
}

export interface ChannelRequest {
  name: string;
  kind: ChannelKind;
  config: Record<string, unknown>;
}

export interface CircuitBreaker {
  target: string;
  state: "open" | "half_open";
  since: string;
  failures: number;
  why: string;
  next_trial_at: string | null;
}

export interface ConditionTrialAnswer {
  items: (TriedChangeDetail)[];
  matched: number;
}

export interface ConditionTrialRequest {
  when: string;
  at?: Crossing | null;
}

export interface CookieRequest {
  name: string;
  value: string;
  domain?: string | null;
  path?: string;
  expires?: number | null;
  secure?: boolean;
}

export interface CoverageOfField {
  before: number | null;
  after: number;
}

export type Crossing = "crossing" | "every_visit";

export interface CrowdedSecondAnswer {
  at: string;
  starts: number;
}

export interface DamagedSchedule {
  schedule_id: string;
  fault: string;
}

export interface DataFactsAnswer {
  items: number;
  errors: number;
  seconds: number | null;
  duplicates: number | null;
  coverage: Record<string, number>;
  newest: string | null;
}

export interface DatabaseHealth {
  status: "ok" | "refuses" | "down";
  latency_ms: number | null;
  error: string | null;
  disk: Record<string, unknown> | null;
}

export interface DeadLetterAge {
  up_to_hours: number | null;
  count: number;
}

export interface DeadLetterFilter {
  kind?: string | null;
  schedule_id?: string | null;
  code?: string | null;
}

export interface DeadLettersByError {
  code: string;
  message: string;
  kind: string;
  count: number;
  first_at: string;
  last_at: string;
  ids: (string)[];
}

export interface DeadLettersByErrorPage {
  items: (DeadLettersByError)[];
  next_cursor: string | null;
}

export type DeclarationOutcome = "created" | "updated" | "unchanged" | "kept" | "deleted";

export type DeliveryEvent = "opened" | "reminded" | "resolved" | "test";

export type DeliveryState = "pending" | "sent" | "dead" | "skipped";

export interface DemoRemoved {
  schedules: number;
  runs: number;
}

export interface DemoState {
  on: boolean;
  schedules: number;
}

export interface DemoSummary {
  on: boolean;
  schedules: number;
  runs: number;
}

export interface DiffPart {
  sign: "=" | "-" | "+";
  text: string;
}

export interface EffectiveLimits {
  requests_per_minute: number | null;
  schedules: number | null;
  concurrent_runs: number | null;
  run_now_per_minute: number | null;
  streams: number | null;
  stored_bytes: number | null;
  catchup_rate: number | null;
}

export interface EndpointHealth {
  url: string;
  calls: number;
  succeeded: number;
  failed: number;
  success_ratio: number;
  p50_ms: number;
  p95_ms: number;
  codes: Record<string, number>;
  failing_since: string | null;
  failing_from: string | null;
  last_at: string;
  last_run_id: string;
  last_error: string | null;
  schedules: (CallingSchedule)[];
  schedule_count: number;
  breaker: CircuitBreaker | null;
  secrets: (EndpointSecret)[] | null;
}

export interface EndpointPage {
  items: (EndpointHealth)[];
  next_cursor: string | null;
  total: number;
  since: string;
  whole: boolean;
  breakers: (CircuitBreaker)[];
}

export interface EndpointSecret {
  name: string;
  since: string | null;
  version: number | null;
}

export interface EndpointTestRequest {
  url: string;
  schedule_id?: string | null;
}

export interface EventPage {
  items: (RunEvent)[];
  next_cursor: string | null;
}

export type EventType = "state" | "log" | "progress";

export interface ExcludedHours {
  from?: string | null;
  to?: string | null;
  days?: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[] | null;
}

export interface ExcludedTimes {
  first: string;
  last: string;
  first_local: string;
  last_local: string;
  count: number;
  reason: string;
}

export interface ExpectationVerdict {
  expectation: string;
  wanted: string;
  got: string;
  baseline: string | null;
  met: boolean | null;
  note?: string;
}

export interface ExpectedPing {
  at: string;
  outcome: "answered" | "late" | "failed" | "missed" | "planned";
  ping_id: string | null;
}

export interface ExpectedPingPage {
  items: (ExpectedPing)[];
  next_cursor: string | null;
}

export interface ExplainedFact {
  at: string | null;
  code: FactCode;
  words: string;
  proof: Record<string, unknown>;
}

export interface ExplanationAnswer {
  summary: string;
  facts: (ExplainedFact)[];
}

export type FactCode = "fired" | "requested" | "followed" | "repeated" | "caught_up" | "jittered" | "planned" | "running" | "retrying" | "worker_lost" | "ended" | "skipped_overlap" | "superseded" | "buffered" | "buffer_full" | "missed_window" | "pruned" | "paused" | "skipped_by_person" | "excluded_by_calendar" | "clock_gap" | "clock_fold" | "clock_ahead" | "other_timezone" | "edited" | "waiting_cap" | "waiting_queue_paused" | "waiting_no_worker" | "waiting_host" | "waiting_predecessor" | "waiting_turn" | "parent_not_successful" | "not_due" | "not_created" | "damaged" | "completed" | "deleted" | "unaccounted";

export interface FailedArticle {
  article_id: string;
  url: string;
  error: string;
  code: string | null;
  attempted_at: string | null;
  reference_count: number;
  retry_count: number;
}

export interface FailureGroup {
  fingerprint: string;
  kind: string;
  code: string;
  message: string;
  host: string | null;
  count: number;
  first_at: string;
  last_at: string;
  schedules: (ScheduleName)[];
  sample_id: string;
  sample: Run;
  arrivals: (HourlyCount)[];
  mute: MutedGroup | null;
}

export interface FailureGroupPage {
  items: (FailureGroup)[];
  total: number;
  letters: number;
  oldest_at: string | null;
  ages: (DeadLetterAge)[];
  next_cursor: string | null;
}

export interface FeedHealth {
  kind: "memory" | "postgresql" | "redis";
  connected: boolean;
  error: string | null;
}

export interface FieldError {
  field: string;
  message: string;
  got?: unknown;
  position?: [number, number] | null;
  suggestion?: string | null;
}

export interface FilterSuggestion {
  field: string;
  value: string;
  label: string;
  hint: string;
}

export type FollowOutcome = "success" | "failed" | "partial" | "degraded" | "changed" | "any";

export interface FollowedSchedules {
  schedule: (string)[];
  outcome: FollowOutcome;
  all: boolean;
  names: (string)[];
}

export interface Following {
  schedule: string | (string)[];
  outcome?: FollowOutcome;
  all?: boolean;
}

export interface FreshCrawl {
  job_id: string;
  scheduled: false;
  cached: false;
  logs_url: string;
  status_url: string;
}

export type Granularity = "hour" | "day";

export interface HealthReport {
  status: "ok" | "degraded" | "down";
  version: string;
  problems: (string)[];
  database: DatabaseHealth;
  feed: FeedHealth | null;
  broker: BrokerHealth | null;
  scrapyd: (ScrapydHealth)[];
  nodes: (NodeHealth)[];
  queues: (QueueHealth)[];
  parked: ParkedHealth | null;
  standstills: (StandstillHealth)[];
  ahead: (AheadHealth)[];
  damaged: (DamagedSchedule)[];
}

export type HistoryRange = "24h" | "7d";

export interface HolidayCountries {
  items: (HolidayCountry)[];
}

export interface HolidayCountry {
  code: string;
  subdivisions: (string)[];
}

export interface HostHealth {
  host: string;
  tenant_id: string;
  slots: number;
}

export interface HostPage {
  items: (HostStatus)[];
  next_cursor: string | null;
}

export interface HostRequest {
  rate?: number | null;
  concurrency?: number | null;
  robots?: Robots | null;
  render?: Render | null;
  headers?: Record<string, string> | null;
  proxy?: string | null;
}

export interface HostSessionPage {
  items: (HostSessionStatus)[];
  next_cursor: string | null;
}

export interface HostSessionRequest {
  login?: SignInRequest | null;
  cookies?: (CookieRequest)[] | null;
}

export interface HostSessionStatus {
  host: string;
  name: string;
  login: Record<string, unknown> | null;
  cookies: number;
  signed_in_at: string | null;
  problem: string | null;
  updated_at: string;
}

export interface HostStatus {
  host: string;
  rate: number | null;
  concurrency: number;
  crawl_delay: number | null;
  interval: number;
  slowed: boolean;
  robots: string;
  render: string | null;
  headers: Record<string, string>;
  proxy: string | null;
  own_rate: number | null;
  next_at: string | null;
  paused_until: string | null;
  reason: string | null;
  waiting: number;
  waiting_by: (HostWaiting)[];
}

export interface HostWaiting {
  tenant_id: string;
  requests: number;
}

export interface HourlyCount {
  at: string;
  count: number;
}

export interface InstantPage {
  items: (ScheduleInstant)[];
  next_cursor: string | null;
}

export type InstantSelection = "missing" | "all";

export interface Interval {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
}

export interface Invite {
  key_id: string;
  name: string;
  role: Role;
  url: string;
  link_expires_at: string;
  expires_at: string | null;
}

export interface InviteRequest {
  name: string;
  role: Role;
  expires_at?: string | null;
  link_hours?: number;
}

export interface JobDetail {
  job_id: string;
  kind: string;
  status: JobStatus | ArticleJobStatus;
  state: RunState | null;
  run_id: string | null;
  created_at: string | null;
  updated_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  completed_at: string | null;
  spider_job_id: string | null;
  scrapyd_job_id: string | null;
  next_run: string | null;
  total_articles: number | null;
  completed: number | null;
  cached: number | null;
  failed: number | null;
  pending: number | null;
  cancelled: number | null;
  progress: Record<string, unknown> | null;
  about: JobTopic | null;
  error: RunError | null;
  article_ids: (string)[] | null;
}

export interface JobPage {
  jobs: (JobReport)[];
  total: number;
}

export interface JobReport {
  job_id: string;
  kind: string;
  status: JobStatus | ArticleJobStatus;
  state: RunState | null;
  run_id: string | null;
  created_at: string | null;
  updated_at: string | null;
  started_at: string | null;
  finished_at: string | null;
  completed_at: string | null;
  spider_job_id: string | null;
  scrapyd_job_id: string | null;
  next_run: string | null;
  total_articles: number | null;
  completed: number | null;
  cached: number | null;
  failed: number | null;
  pending: number | null;
  cancelled: number | null;
  progress: Record<string, unknown> | null;
  about: JobTopic | null;
  error: RunError | null;
}

export interface JobResults {
  job_id: string;
  status: JobStatus | ArticleJobStatus;
  total: number;
  not_kept: number;
  items: (unknown)[];
}

export type JobStatus = "pending" | "running" | "finished" | "error" | "cancelled";

export interface JobTopic {
  host: string | null;
  count: number;
  spider: string | null;
  project: string | null;
  source: string | null;
}

export interface LimitUsage {
  limits: EffectiveLimits;
  used: LimitsUsed;
  pages: PageStorage;
}

export interface LimitsUsed {
  schedules: number;
  concurrent_runs: number;
  streams: number;
  stored_bytes: number;
}

export interface Liveness {
  status: "ok";
  version: string;
}

export interface LoadPeakAnswer {
  count: number;
  at: string | null;
}

export interface LogCount {
  count: number;
  by_level: Record<string, number>;
  by_category: Record<string, number>;
  by_attempt: Record<string, number>;
}

export interface LogLine {
  seq: number;
  at: string;
  level: string;
  message: string;
  category: string | null;
  attempt: number | null;
}

export interface LoginLink {
  url: string;
  expires_at: string;
}

export interface MemberInfo {
  user_id: string;
  roles: (Role)[];
  keys: number;
  last_seen_at: string | null;
  last_action: string | null;
}

export interface MemberPage {
  items: (MemberInfo)[];
  next_cursor: string | null;
}

export interface MonitorChange {
  name?: string | null;
  type?: MonitorType | null;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  timezone?: string | null;
  grace_seconds?: number | null;
  tags?: (string)[] | null;
}

export interface MonitorDetail {
  id: string;
  name: string;
  type: MonitorType;
  cron_expr: string | null;
  interval_seconds: number | null;
  timezone: string;
  summary: string;
  grace_seconds: number;
  tags: (string)[];
  status: MonitorStatus;
  ping_url: string | null;
  last_ping_at: string | null;
  last_duration_ms: number | null;
  started_at: string | null;
  next_expected_at: string | null;
  pings: number;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface MonitorPage {
  items: (MonitorDetail)[];
  next_cursor: string | null;
}

export interface MonitorPing {
  id: string;
  kind: PingKind;
  at: string;
  method: string;
  exit_code: number | null;
  duration_ms: number | null;
  rid: string | null;
  user_agent: string;
  body: string;
  body_bytes: number;
}

export interface MonitorPingPage {
  items: (MonitorPing)[];
  next_cursor: string | null;
}

export interface MonitorRequest {
  name: string;
  type: MonitorType;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  timezone?: string | null;
  grace_seconds?: number | null;
  tags?: (string)[] | null;
}

export type MonitorStatus = "new" | "up" | "late" | "down" | "paused";

export type MonitorType = "cron" | "interval";

export interface MuteRequest {
  hours?: number;
  reason?: string;
}

export interface MutedGroup {
  fingerprint: string;
  user_id: string;
  at: string;
  until: string;
  reason: string;
}

export interface NamedCalendar {
  id: string;
  name: string;
  description: string;
  holidays: string | null;
  subdivision: string | null;
  dates: (string | NamedDate)[];
  ics: string | null;
  revision: number;
  days: number;
  schedules: number;
  resolved_until: string;
  upcoming: (CalendarDay)[];
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface NamedCalendarPage {
  items: (NamedCalendar)[];
  next_cursor: string | null;
}

export interface NamedCalendarRequest {
  name: string;
  description?: string | null;
  holidays?: string | null;
  subdivision?: string | null;
  dates?: (string | Partial<NamedDate>)[] | null;
  ics?: string | null;
}

export interface NamedDate {
  date: string;
  name: string;
}

export interface NewApiKey {
  id: string;
  name: string;
  role: Role;
  scopes: (string)[] | null;
  hint: string;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  revoked_by: string | null;
  key: string;
}

export interface NewBackfill {
  from: string;
  to?: string | null;
  which?: InstantSelection;
  rate?: number;
  limit?: number;
  stop_after?: number | null;
  order?: BulkOrder;
  dry_run?: boolean;
  expect?: number | null;
}

export interface NewBulkAction {
  action: BulkOperation;
  filter?: string | null;
  ids?: (string)[] | null;
  rate?: number;
  stop_after?: number | null;
  order?: BulkOrder;
  dry_run?: boolean;
  expect?: number | null;
  add_tags?: (string)[];
  remove_tags?: (string)[];
  as_of?: ReplayVersion;
  patch?: Record<string, unknown> | null;
  canary?: number;
}

export interface NewCrawl {
  user_id?: string | null;
  spider: string;
  start_urls?: (string)[] | null;
  depth?: number | null;
  schedule_at?: string | null;
  interval?: string | number | Record<string, number> | null;
  timezone?: string | null;
  ignore_cache?: boolean | null;
  params?: Record<string, unknown> | null;
  priority?: number | null;
  project?: string | null;
  min_items?: number | null;
  max_errors?: number | null;
}

export interface NewSavedView {
  list: ViewedList;
  name: string;
  q?: string;
  sort?: string | null;
  shared?: boolean;
}

export interface NodeHealth {
  id: string;
  role: string;
  started_at: string;
  seen_at: string;
  lateness_p99_seconds: number | null;
  report: Record<string, unknown>;
}

export type NodeRequest = "drain" | "restart";

export type NodeState = "live" | "stale" | "draining";

export interface NotificationChannel {
  id: string;
  name: string;
  kind: ChannelKind;
  config: Record<string, unknown>;
  created_by: string;
  created_at: string;
  updated_at: string;
  failing: boolean;
  last_error: string | null;
  last_delivery: AlertDelivery | null;
}

export interface NotifyingRule {
  id: string;
  name: string;
  on: (AlertEvent)[];
  after: Record<string, unknown>;
  severity: AlertSeverity;
  filter: string;
  channels: (string)[];
  declared: boolean;
}

export interface NotifyingRulePage {
  items: (NotifyingRule)[];
}

export type Origin = "instant" | "manual" | "retry" | "replay" | "after";

export type Overlap = "skip" | "buffer_one" | "buffer_all" | "cancel_other" | "terminate_other" | "allow_all";

export interface PageDiffDetail {
  before: PageVersionDetail;
  after: PageVersionDetail;
  fields: Record<string, Record<string, unknown>>;
  parts: (DiffPart)[];
  cut: boolean;
}

export type PageExtractor = "article" | "price";

export interface PagePlotDetail {
  page_id: string;
  url: string;
  points: (PlotPointDetail)[];
  until: string | null;
}

export type PageResource = "image" | "font" | "media";

export type PageState = "new" | "same" | "changed" | "removed" | "error" | "blocked";

export interface PageStorage {
  bytes: number;
  quota: number | null;
}

export interface PageVersionDetail {
  id: string;
  at: string;
  fields: Record<string, unknown>;
  has_text: boolean;
  text: string | null;
}

export interface PageVersionList {
  items: (PageVersionDetail)[];
  next_cursor: string | null;
}

export interface ParkedHealth {
  count: number;
  oldest: string | null;
}

export interface PauseRequest {
  reason?: string | null;
}

export type PingKind = "success" | "start" | "fail" | "log";

export interface PipelineDetail {
  name: string;
  state: "loaded" | "broken";
  error: PipelineFault | null;
  schedule: PipelineTrigger | null;
  schedule_id: string | null;
  status: ScheduleStatus | null;
  summary: string | null;
  next_run_at: string | null;
  revision: string | null;
  file: string;
  on_error: "skip" | "fail" | null;
  steps: (PipelineStep)[];
  last_run: PipelineLastRun | null;
  updated_at: string;
  yaml: string;
  runs: (PipelineRun)[];
}

export interface PipelineFault {
  file: string;
  line: number | null;
  column: number | null;
  message: string;
  suggestion: string | null;
}

export interface PipelineLastRun {
  id: string;
  state: RunState;
  finished_at: string | null;
}

export interface PipelinePage {
  items: (PipelineSummary)[];
  next_cursor: string | null;
  faults: (PipelineFault)[];
}

export interface PipelineRun {
  id: string;
  state: RunState;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  steps: (PipelineStepProgress)[];
}

export interface PipelineRunRequest {
}

export interface PipelineStep {
  class: string;
  name: string;
  kwargs: Record<string, unknown>;
  on_error: "skip" | "fail";
  line: number | null;
}

export interface PipelineStepProgress {
  in: number;
  name: string;
  state: string;
  out: number;
  failed: number;
  seconds: number;
}

export interface PipelineSummary {
  name: string;
  state: "loaded" | "broken";
  error: PipelineFault | null;
  schedule: PipelineTrigger | null;
  schedule_id: string | null;
  status: ScheduleStatus | null;
  summary: string | null;
  next_run_at: string | null;
  revision: string | null;
  file: string;
  on_error: "skip" | "fail" | null;
  steps: (PipelineStep)[];
  last_run: PipelineLastRun | null;
  updated_at: string;
}

export interface PipelineTrigger {
  type: string;
  cron_expr: string | null;
  interval_seconds: number | null;
  timezone: string;
}

export type PlanAct = "create" | "change" | "delete" | "none" | "drift";

export interface PlanAnswer {
  file: string;
  digest: string;
  counts: Record<string, number>;
  changes: (PlanChange)[];
  offsets: Record<string, string>;
  simulation: SimulationAnswer | null;
}

export interface PlanChange {
  thing: string;
  name: string;
  act: PlanAct;
  id: string | null;
  place: number | null;
  fields: (PlanField)[];
}

export interface PlanDocuments {
  schedules?: (ScheduleRequest)[] | null;
  calendars?: (NamedCalendarRequest)[] | null;
  watches?: (WatchRequest)[] | null;
}

export interface PlanField {
  field: string;
  was: unknown;
  becomes: unknown;
  by_hand: boolean;
}

export interface PlanRequest {
  file: string;
  documents: PlanDocuments;
  prune?: boolean | null;
  overwrite?: boolean | null;
  spread?: boolean | null;
  offsets?: Record<string, string> | null;
  simulate?: boolean | null;
}

export interface PlannedCrawl {
  job_id: string;
  scheduled: true;
  next_run: string | null;
  cached?: true;
  cached_at?: string | null;
}

export interface PlotPointDetail {
  at: string;
  value: number | null;
}

export interface PresetContents {
  name: string;
  title: string;
  description: string;
  settings: Record<string, string>;
  schedules: (PresetSchedule)[];
}

export interface PresetLoadRequest {
  settings?: Record<string, unknown> | null;
}

export interface PresetPage {
  items: (PresetContents)[];
  next_cursor: string | null;
}

export interface PresetResult {
  preset: string;
  items: (PresetScheduleResult)[];
}

export interface PresetSchedule {
  name: string;
  schedule: Record<string, unknown>;
}

export interface PresetScheduleResult {
  name: string;
  outcome: DeclarationOutcome;
  schedule_id: string;
  schedule: string;
  status: string;
  next_run_at: string | null;
}

export interface PresetUnloadRequest {
  edited?: boolean | null;
}

export interface PreviewInstant {
  at: string;
  local: string;
}

export interface PreviewItem {
  at: string;
  event: AlertEvent;
  subject: SubjectOfAlert;
  would_say: string;
}

export interface PreviewPage {
  url: string;
  state: PageState;
  fields: Record<string, unknown>;
  around: Record<string, string | null>;
  text: string | null;
  missing: (string)[];
  hints: Record<string, string>;
  problem: Record<string, unknown> | null;
  selectors: (Record<string, unknown>)[];
}

export interface PreviewRequest {
  type?: TriggerType | null;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  interval?: Interval | null;
  run_at?: string | null;
  after?: Following | null;
  timezone?: string | null;
  start_at?: string | null;
  end_at?: string | null;
  exclude?: (string | ExcludedHours)[] | null;
  only?: (string | ExcludedHours)[] | null;
  shift?: Shift | null;
  words?: string | null;
  count?: number;
}

export interface PreviousVersion {
  title: string | null;
  content: string | null;
  scraped_at: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  cause?: "disk_full" | "read_only" | "disk_error" | "busy" | "away" | null;
  errors?: (FieldError)[];
}

export interface ProposedRequest {
  label: string;
  method: string;
  path: string;
  body: unknown;
}

export interface QualityRun {
  run_id: string;
  state: RunState;
  at: string;
  facts: DataFactsAnswer | null;
  verdict: (ExpectationVerdict)[] | null;
}

export interface QuarantineAnswer {
  run_id: string;
  state: QuarantineState;
  items: number;
  decided_at: string | null;
  decided_by: string | null;
  release_id: string | null;
}

export type QuarantineState = "held" | "released" | "dropped";

export interface QueueForecastAnswer {
  peak_before: LoadPeakAnswer;
  peak_after: LoadPeakAnswer;
  slots: number | null;
  bars_before: (number)[];
  bars_after: (number)[];
}

export interface QueueHealth {
  queue: string;
  depth: number;
  oldest: string | null;
}

export interface QueueHistory {
  range: HistoryRange;
  step_seconds: number;
  at: (string)[];
  slots: (number | null)[];
  busy: (number | null)[];
  queues: (QueueSeries)[];
}

export interface QueuePage {
  items: (QueueStatus)[];
  next_cursor: string | null;
}

export interface QueueSeries {
  name: string;
  waiting: (number | null)[];
  oldest_ms: (number | null)[];
  running: (number | null)[];
  ended: (number | null)[];
}

export interface QueueStatus {
  name: string;
  depth: number;
  oldest: string | null;
  in_flight: number;
  per_minute: number | null;
  paused_at: string | null;
  paused_by: string | null;
  reason: string | null;
  workers: (string)[] | null;
}

export interface QuietTimes {
  from: string;
  to: string;
  timezone?: string;
}

export interface RankedSchedule {
  schedule_id: string;
  name: string;
  runs: number;
  failed: number;
  failure_ratio: number;
  p95_ms: number | null;
  q: RankingFilters;
}

export interface RankingFilters {
  runs: string;
  failed: string;
  slow: string | null;
}

export type RankingPeriod = "24h" | "7d";

export interface RealignResult {
  items: (RealignedSchedule)[];
}

export interface RealignedSchedule {
  id: string;
  name: string;
  next_run_at: string | null;
}

export interface ReextractDryRun {
  dry_run: boolean;
  count: number;
  looked_at: number;
  failed: number;
  coverage: Record<string, CoverageOfField>;
  sample: (ReextractSample)[];
}

export interface ReextractRequest {
  filter?: string;
  select?: Record<string, unknown> | null;
  extractor?: PageExtractor | null;
  pipeline?: string | null;
  keep?: string;
  rate?: number;
  stop_after?: number | null;
  order?: BulkOrder;
  dry_run?: boolean;
  sample?: number;
  expect?: number | null;
}

export interface ReextractSample {
  page_id: string;
  url: string;
  before: (Record<string, unknown>)[] | null;
  after: (Record<string, unknown>)[];
  problem: string | null;
}

export type ReferenceKind = "schedule" | "run" | "job" | "dead_letter" | "bulk" | "key" | "view" | "monitor" | "watch" | "calendar" | "channel" | "alert_rule" | "alert";

export interface ReferenceMatch {
  kind: string;
  id: string;
  name: string;
  hint: string;
}

export interface ReferenceResolution {
  matches: (ReferenceMatch)[];
  more: boolean;
  suggestions: (string)[];
}

export interface RegisteredTask {
  name: string;
  description: string;
  module: string;
  built_in: boolean;
  tenants: (string)[] | null;
  cpu: boolean;
  queue: string | null;
  retries: number | null;
  timeout_seconds: number | null;
  schedule: Record<string, unknown> | null;
  parameters: Record<string, unknown>;
}

export type Render = "never" | "auto" | "always";

export interface ReplayDryRun {
  looked_at: number;
  duplicates: number;
  changed: number;
  stay: number;
  edited: number;
  refused: number;
  refusals: (BulkRefusal)[];
  replays_most: number;
  replays_cap: number;
}

export interface ReplayRequest {
  ids?: (string)[] | null;
  filter?: DeadLetterFilter | null;
  as_of?: ReplayVersion;
  patch?: Record<string, unknown> | null;
}

export interface ReplayResult {
  items: (Run)[];
  more: boolean;
}

export type ReplayVersion = "now" | "then";

export interface RequestTiming {
  dns_ms?: number | null;
  connect_ms?: number | null;
  tls_ms?: number | null;
  first_byte_ms?: number | null;
  total_ms: number;
  [more: string]: unknown;
}

export interface RetrySettings {
  strategy: BackoffStrategy;
  max_retries: number;
  delay_seconds: number;
  max_delay_seconds: number;
  jitter: number;
  dead_letter: boolean;
}

export type Robots = "respect" | "ignore";

export type Role = "viewer" | "operator" | "admin" | "system";

export interface Run {
  id: string;
  tenant_id: string;
  user_id: string;
  schedule_id: string | null;
  schedule_name: string | null;
  schedule_version: number | null;
  kind: string;
  origin: Origin;
  state: RunState;
  buffered: boolean;
  catchup: boolean;
  parked: boolean;
  cancel_requested: boolean;
  scheduled_for: string | null;
  fills: string | null;
  ready_at: string;
  waiting: WaitReason | null;
  queue: string;
  priority: number;
  attempt: number;
  max_attempts: number;
  worker: string | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  lateness_ms: number | null;
  result: unknown;
  error: RunError | null;
  verdict: (ExpectationVerdict)[] | null;
  fingerprint: string | null;
  parent_id: string | null;
  resolved_by: string | null;
  action: Record<string, unknown> | null;
  attempts: (RunAttempt)[];
  links: Record<string, string | null>;
}

export interface RunAttempt {
  number: number;
  epoch: number;
  worker: string | null;
  outcome: string;
  started_at: string;
  ended_at: string;
  duration_ms: number;
  error: RunError | null;
  response: Record<string, unknown> | null;
  retry_at: string | null;
  request: SentRequest | null;
  timing: RequestTiming | null;
}

export interface RunCount {
  count: number;
  by_state: Partial<Record<RunState, number>>;
}

export interface RunError {
  code: string;
  message: string;
  cause?: string;
  [more: string]: unknown;
}

export interface RunEvent {
  seq: number;
  at: string;
  type: EventType;
  state?: RunState;
  attempt?: number;
  level?: string;
  data?: Record<string, unknown>;
  message: string;
}

export interface RunLog {
  items: (LogLine)[];
  total: number;
  matches: number | null;
  first_seq: number | null;
  last_seq: number | null;
  before: number | null;
  after: number | null;
  pruned: boolean;
}

export interface RunNeighbours {
  before: string | null;
  after: string | null;
}

export interface RunNowRequest {
  payload?: Record<string, unknown> | null;
}

export interface RunOutcome {
  run_id: string;
  state: RunState;
  duration_ms: number | null;
  at: string;
}

export interface RunPage {
  items: (Run)[];
  next_cursor: string | null;
}

export interface RunPoints {
  from: string;
  to: string;
  counts: Partial<Record<RunState, number>>;
  shown: Partial<Record<RunState, number>>;
  not_begun: number;
  states: (RunState)[];
  id: (string)[];
  at_ms: (number)[];
  took_ms: (number)[];
  state: (number)[];
}

export interface RunSeries {
  from: string;
  to: string;
  bucket_seconds: number;
  timed: number;
  items: (RunSeriesBucket)[];
}

export interface RunSeriesBucket {
  at: string;
  counts: Partial<Record<RunState, number>>;
  total: number;
  p50_ms: number | null;
  p95_ms: number | null;
  late: number;
}

export type RunState = "queued" | "running" | "retrying" | "success" | "partial" | "degraded" | "failed" | "dead_letter" | "cancelled";

export interface SavedView {
  id: string;
  list: ViewedList;
  name: string;
  q: string;
  sort: string | null;
  shared: boolean;
  user_id: string;
  mine: boolean;
  created_at: string;
  updated_at: string;
}

export interface SavedViewChange {
  name?: string | null;
  q?: string | null;
  sort?: string | null;
  shared?: boolean | null;
}

export interface SavedViewPage {
  items: (SavedView)[];
  next_cursor: string | null;
}

export interface Schedule {
  id: string;
  tenant_id: string;
  user_id: string;
  name: string;
  description: string;
  tags: (string)[];
  type: TriggerType;
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  after: FollowedSchedules | null;
  timezone: string;
  action: ActionConfig;
  retry_policy: RetrySettings;
  overlap: Overlap;
  catchup: CatchupSettings;
  queue: string;
  priority: number;
  timeout_seconds: number | null;
  jitter_seconds: number;
  start_at: string | null;
  end_at: string | null;
  max_runs: number | null;
  alert: ScheduleAlert | null;
  exclude: (string | ExcludedHours)[];
  only: (string | ExcludedHours)[];
  shift: Shift;
  status: ScheduleStatus;
  paused_reason: string;
  paused_at: string | null;
  paused_by: string | null;
  skips: SkippedInstant | null;
  fault: string | null;
  managed_by: string;
  summary: string;
  next_run_at: string | null;
  last_run_at: string | null;
  version: number;
  created_at: string;
  updated_at: string;
  links: Record<string, string>;
}

export interface ScheduleAlert {
  after: number;
  to: (string)[];
}

export interface ScheduleBatchItem {
  name: string | null;
  outcome: BatchOutcome;
  id: string | null;
  errors: (FieldError)[];
}

export interface ScheduleBatchRequest {
  schedules: (ScheduleRequest)[];
  atomic?: boolean;
}

export interface ScheduleBatchResult {
  items: (ScheduleBatchItem)[];
}

export interface ScheduleChain {
  schedules: (ChainedSchedule)[];
  links: (ScheduleLink)[];
}

export interface ScheduleCount {
  count: number;
}

export interface ScheduleHealth {
  schedule_id: string;
  outcomes: (RunOutcome)[];
  success_ratio: number | null;
  avg_duration_ms: number | null;
  failing_since: string | null;
  streak: number;
}

export interface ScheduleHealthList {
  items: (ScheduleHealth)[];
}

export interface ScheduleInstant {
  at: string;
  outcome: "ran" | "queued" | "skipped" | "missed" | "pruned" | "planned";
  reason: string;
  run_id: string | null;
}

export interface ScheduleLink {
  parent: string;
  child: string;
  outcome: FollowOutcome;
  all: boolean;
}

export interface ScheduleName {
  id: string;
  name: string;
}

export interface SchedulePage {
  items: (Schedule)[];
  next_cursor: string | null;
}

export interface SchedulePatch {
  name?: string | null;
  description?: string | null;
  tags?: (string)[] | null;
  type?: TriggerType | null;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  after?: Following | null;
  timezone?: string | null;
  queue?: string | null;
  priority?: number | null;
  [more: string]: unknown;
}

export interface SchedulePreview {
  summary: string;
  type: TriggerType;
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  after: FollowedSchedules | null;
  start_at: string | null;
  timezone: string;
  next: (PreviewInstant)[];
  excluded: (ExcludedTimes)[];
  notes: (string)[];
}

export interface ScheduleQualityAnswer {
  items: (QualityRun)[];
  baseline: BaselineBand | null;
  bands: Record<string, BaselineBand>;
  good_runs: number;
  suggestions: (SuggestedExpectation)[];
}

export interface ScheduleRanking {
  over: RankingPeriod;
  since: string;
  runs: number;
  whole: boolean;
  slowest: (RankedSchedule)[];
  flakiest: (RankedSchedule)[];
}

export interface ScheduleRequest {
  name: string;
  description?: string | null;
  tags?: (string)[] | null;
  type: TriggerType;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  interval?: Interval | null;
  run_at?: string | null;
  after?: Following | null;
  timezone?: string | null;
  start_at?: string | null;
  end_at?: string | null;
  action?: ActionConfig | null;
  payload?: WebhookPayload | null;
  retry_policy?: Partial<RetrySettings> | null;
  exclude?: (string | ExcludedHours)[] | null;
  only?: (string | ExcludedHours)[] | null;
  shift?: Shift | null;
  overlap?: Overlap | null;
  catchup?: Partial<CatchupSettings> | null;
  queue?: string | null;
  priority?: number | null;
  timeout_seconds?: number | null;
  jitter_seconds?: number | null;
  max_runs?: number | null;
  alert?: Partial<ScheduleAlert> | null;
  paused?: boolean | null;
  paused_reason?: string | null;
}

export type ScheduleStatus = "active" | "paused" | "completed" | "deleted";

export interface ScheduleVersion {
  version: number;
  at: string;
  status: "active" | "paused";
  reason: string;
  user_id: string | null;
  change: string | null;
  settings: Record<string, unknown> | null;
}

export interface ScheduleVersionPage {
  items: (ScheduleVersion)[];
  next_cursor: string | null;
}

export interface ScrapydHealth {
  url: string;
  name: string;
  status: "ok" | "down";
  pending: number | null;
  running: number | null;
  latency_ms: number | null;
  error: string | null;
}

export interface SecretInfo {
  name: string;
  version: number;
  created_at: string;
  created_by: string;
  hosts: (string)[];
  previous_until: string | null;
}

export interface SecretPage {
  items: (SecretInfo)[];
  next_cursor: string | null;
}

export interface SecretRequest {
  value: string;
  hosts?: (string)[] | null;
}

export interface SentRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  [more: string]: unknown;
}

export interface ServerFeatures {
  pipelines: boolean;
  scrapyd: boolean;
  echo: boolean;
}

export interface SessionInfo {
  mode: "local" | "secured";
  signed_in: boolean;
  version: string;
  user_id?: string | null;
  tenant_id?: string | null;
  role?: Role | null;
  may?: (string)[] | null;
  expires_at?: string | null;
  timezone?: string | null;
  csrf?: string | null;
  demo?: DemoState | null;
  features?: ServerFeatures | null;
}

export interface SessionRequest {
  token?: string | null;
  code?: string | null;
}

export interface SessionsEnded {
  ended: number;
}

export type Severity = "failed" | "dead" | "attention";

export type Shift = "none" | "next_business_day" | "previous_business_day";

export interface SignInRequest {
  url: string;
  every?: string | null;
  wait_for?: number | string | null;
  scroll?: number | null;
  steps?: (BrowserStep)[] | null;
  load?: (PageResource)[] | null;
}

export interface SimulationAnswer {
  from: string;
  to: string;
  queues: Record<string, QueueForecastAnswer>;
  hosts: Record<string, QueueForecastAnswer>;
  skipped: (SkippedForecastAnswer)[];
  crowded: (CrowdedSecondAnswer)[];
  notes: (string)[];
}

export interface SkipRequest {
  at?: string | null;
}

export interface SkippedForecastAnswer {
  name: string;
  instants: number;
  skipped: number;
}

export interface SkippedInstant {
  at: string;
  by: string | null;
}

export interface SnoozeRequest {
  for: string;
}

export interface SpiderAnswer {
  status: number;
  retry_after?: string | null;
  path?: string;
  robots?: string | null;
}

export interface StandstillHealth {
  reason: StandstillReason;
  told: string;
  seconds: number;
  hosts: (HostHealth)[];
  detail: string;
  node: string | null;
}

export type StandstillReason = "store" | "clock" | "broker" | "no_worker" | "host" | "slots" | "scheduler" | "unknown";

export type StepKind = "click" | "fill" | "press" | "wait_for";

export interface StoredPageInfo {
  id: string;
  url: string;
  fetched_at: string;
  status: number;
  content_type: string;
  headers: Record<string, string>;
  bytes: number;
  stored_bytes: number;
  rendered: boolean;
  article_id: string | null;
  watch_id: string | null;
  run_id: string | null;
  expires_at: string;
}

export interface StoredPageList {
  items: (StoredPageInfo)[];
  next_cursor: string | null;
}

export interface StoredPageVersionInfo {
  id: string;
  page_id: string;
  url: string;
  bulk_id: string;
  at: string;
  reading: Record<string, unknown>;
  items: (Record<string, unknown>)[];
  expires_at: string;
}

export interface StoredPageVersionList {
  items: (StoredPageVersionInfo)[];
  next_cursor: string | null;
}

export interface StreamTicket {
  ticket: string;
  expires_at: string;
}

export type SubjectKind = "schedule" | "run" | "monitor" | "queue" | "worker" | "installation";

export interface SubjectOfAlert {
  kind: SubjectKind;
  id: string;
  name: string;
}

export type SuggestField = "schedule" | "tag" | "queue" | "kind" | "state" | "zone" | "worker" | "pipeline" | "any";

export interface SuggestedExpectation {
  expectation: string;
  value: unknown;
  why: string;
}

export interface SuggestionList {
  items: (FilterSuggestion)[];
}

export interface TaskPage {
  items: (RegisteredTask)[];
  next_cursor: string | null;
  faults: (string)[] | null;
}

export interface TaskRunRequest {
  parameters?: Record<string, unknown> | null;
  queue?: string | null;
  priority?: number | null;
  timeout_seconds?: number | null;
}

export interface TenantLimitsRequest {
  requests_per_minute?: number | null;
  schedules?: number | null;
  concurrent_runs?: number | null;
  run_now_per_minute?: number | null;
  streams?: number | null;
  stored_bytes?: number | null;
  catchup_rate?: number | null;
}

export interface TenantPage {
  items: (TenantSettings)[];
  next_cursor: string | null;
}

export interface TenantRequest {
  limits?: TenantLimitsRequest | null;
  egress_allow?: (string)[] | null;
}

export interface TenantSettings {
  tenant_id: string;
  limits: Record<string, number | null>;
  effective: EffectiveLimits;
  egress_allow: (string)[] | null;
  updated_by: string | null;
  updated_at: string | null;
}

export interface Timeline {
  from: string;
  to: string;
  now: string;
  bucket_seconds: number;
  groups: (TimelineRow)[];
  rest: (TimelineFold)[];
  collisions: (TimelineCollision)[];
  links: (TimelineLink)[];
  marks: number;
  dropped_groups: number;
  complete: boolean;
  sampled: boolean;
}

export interface TimelineCollision {
  at: string;
  count: number;
}

export interface TimelineFold {
  key: string;
  name: string;
  q: string | null;
  schedules: number;
  runs: number;
  planned: number;
  marks: (TimelineMark)[];
}

export type TimelineGrouping = "schedule" | "tag" | "queue";

export interface TimelineLink {
  parent: string;
  child: string;
  parent_key: string;
  child_key: string;
  ended_at: string;
  began_at: string;
}

export interface TimelineMark {
  at: string;
  until: string | null;
  state: RunState | "planned" | "missed" | "skipped";
  count: number;
  run_id: string | null;
}

export interface TimelineRow {
  key: string;
  name: string;
  kind: string | null;
  schedule_id: string | null;
  summary: string | null;
  timezone: string | null;
  runs: number;
  planned: number;
  folded: boolean;
  urgency: Urgency | null;
  marks: (TimelineMark)[];
}

export interface TriedChangeDetail {
  change_id: string;
  page_id: string;
  url: string;
  at: string;
  kind: ChangeKind;
  fields: Record<string, Record<string, unknown>>;
  diff: string;
  holds: boolean;
  matched: boolean;
}

export type TriggerType = "cron" | "interval" | "oneoff" | "after";

export interface TurnBlock {
  starts: (number)[];
  late: number | null;
  retry_in: number;
  robots_due: boolean;
  took: number;
}

export interface TurnsRequest {
  holder: string;
  wanted: number;
  in_flight?: number;
  answers?: (SpiderAnswer)[] | null;
}

export interface UnmutedGroup {
  fingerprint: string;
  mute?: null;
}

export type Urgency = "failing" | "missed" | "late" | "running" | "soon" | "idle";

export type ViewedList = "runs" | "schedules";

export interface WaitReason {
  code: string;
  message: string;
}

export interface WatchChange {
  name?: string | null;
  when?: string | null;
  at?: Crossing | null;
  schedule?: Record<string, unknown> | null;
  revisit?: Record<string, unknown> | null;
  tags?: (string)[] | null;
  [more: string]: unknown;
}

export interface WatchDetail {
  id: string;
  name: string;
  urls: (string)[] | null;
  sitemap: string | null;
  feed: string | null;
  links: Record<string, string> | null;
  select: string | null;
  text: string;
  fields: Record<string, unknown>;
  ignore: (unknown)[];
  when: string | null;
  at: Crossing;
  schedule: Record<string, unknown> | null;
  revisit: Record<string, unknown> | null;
  render: string | null;
  robots: string | null;
  keep_pages: string;
  session: string | null;
  browser: Record<string, unknown> | null;
  history: string;
  expect: Record<string, unknown> | null;
  tags: (string)[];
  fed_by: string | null;
  schedule_id: string;
  status: ScheduleStatus;
  summary: string;
  pages: number;
  states: Record<string, number>;
  line: WatchLine | null;
  changes: number;
  last_visit_at: string | null;
  last_change_at: string | null;
  next_visit_at: string | null;
  problem: Record<string, unknown> | null;
  feed_url: string | null;
  created_by: string;
  created_at: string;
  updated_at: string;
}

export interface WatchLine {
  field: string;
  values: (number | null)[];
}

export interface WatchPage {
  items: (WatchDetail)[];
  next_cursor: string | null;
}

export interface WatchPlotDetail {
  field: string | null;
  unit: string | null;
  pages: (PagePlotDetail)[];
}

export interface WatchPreviewAnswer {
  pages: (PreviewPage)[];
  when: boolean | null;
  listed: number | null;
  problems: (string)[];
}

export interface WatchPreviewRequest {
  urls?: (string)[] | null;
  fields?: Record<string, unknown> | null;
  when?: string | null;
  find?: string | null;
  [more: string]: unknown;
}

export interface WatchRequest {
  name: string;
  urls?: (string)[];
  sitemap?: string | null;
  feed?: string | null;
  links?: Record<string, string>;
  select?: string | null;
  text?: string | null;
  fields?: Record<string, unknown> | null;
  ignore?: (unknown)[];
  when?: string | null;
  at?: Crossing | null;
  schedule?: Record<string, unknown> | null;
  revisit?: Record<string, unknown> | null;
  render?: Render | null | null;
  robots?: Robots | null | null;
  keep_pages?: string | null;
  session?: string | null;
  browser?: BrowserActions | null;
  history?: string | null;
  expect?: Record<string, unknown> | null;
  tags?: (string)[] | null;
}

export interface WatchedPageDetail {
  id: string;
  url: string;
  state: PageState;
  fields: Record<string, unknown>;
  problem: Record<string, unknown> | null;
  visits: number;
  changes: number;
  first_at: string;
  last_visit_at: string | null;
  last_change_at: string | null;
  next_visit_at: string | null;
  why_then: string;
  version_id: string | null;
}

export interface WatchedPageList {
  items: (WatchedPageDetail)[];
  next_cursor: string | null;
}

export interface WebhookPayload {
  url: string;
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  headers?: Record<string, string>;
  body?: unknown;
}

export interface WorkerPage {
  items: (WorkerStatus)[];
  next_cursor: string | null;
}

export interface WorkerStatus {
  id: string;
  role: string;
  host: string;
  pid: number | null;
  started_at: string;
  seen_at: string;
  state: NodeState;
  wish: NodeRequest | null;
  slots: number;
  free: number;
  in_flight: number;
  queues: (string)[] | null;
}

/** What an operation takes and answers, by its method and path. */
export interface Operations {
  GET: {
    /** alert_rules.list */
    "/api/alert-rules": { query?: { limit?: number; cursor?: string | null; }; answer: AlertRulePage; };
    /** alert_rules.get */
    "/api/alert-rules/{rule_id}": { params: { rule_id: string; }; answer: AlertRule; };
    /** alerts.list */
    "/api/alerts": { query?: { state?: AlertState | null; schedule_id?: string | null; sort?: string | null; limit?: number; cursor?: string | null; }; answer: AlertPage; };
    /** alerts.counts */
    "/api/alerts/counts": { answer: AlertCounts; };
    /** alerts.get */
    "/api/alerts/{alert_id}": { params: { alert_id: string; }; answer: AlertDetail; };
    /** attention.list */
    "/api/attention": { answer: AttentionReport; };
    /** audit_log.list */
    "/api/audit": { query?: { limit?: number; cursor?: string | null; from?: string | null; to?: string | null; user?: string | null; thing?: string | null; thing_id?: string | null; verb?: string | null; }; answer: AuditPage; };
    /** bulk.list */
    "/api/bulk": { query?: { limit?: number; cursor?: string | null; }; answer: BulkActionPage; };
    /** bulk.get */
    "/api/bulk/{bulk_id}": { params: { bulk_id: string; }; answer: BulkAction; };
    /** calendar.show */
    "/api/calendar": { query?: { granularity?: Granularity; timezone?: string | null; schedule_id?: string | null; from?: string | null; to?: string | null; }; answer: Calendar; };
    /** calendars.list */
    "/api/calendars": { query?: { limit?: number; cursor?: string | null; }; answer: NamedCalendarPage; };
    /** calendars.countries */
    "/api/calendars/countries": { answer: HolidayCountries; };
    /** calendars.show */
    "/api/calendars/{calendar_id}": { params: { calendar_id: string; }; answer: NamedCalendar; };
    /** changes.list */
    "/api/changes": { query?: { q?: string; after?: number | null; limit?: number; cursor?: string | null; }; answer: ChangeList; };
    /** changes.export */
    "/api/changes/export": { query?: { q?: string; format?: "ndjson" | "csv"; }; };
    /** changes.get */
    "/api/changes/{change_id}": { params: { change_id: string; }; answer: ChangeDetail; };
    /** channels.list */
    "/api/channels": { query?: { limit?: number; cursor?: string | null; }; answer: ChannelPage; };
    /** channels.get */
    "/api/channels/{channel_id}": { params: { channel_id: string; }; answer: NotificationChannel; };
    /** dead_letters.by_error */
    "/api/dead-letters": { query?: { kind?: string | null; schedule_id?: string | null; code?: string | null; sort?: string | null; limit?: number; cursor?: string | null; }; answer: DeadLettersByErrorPage; };
    /** dead_letters.groups */
    "/api/dead-letters/groups": { query?: { q?: string | null; sort?: string | null; limit?: number; cursor?: string | null; }; answer: FailureGroupPage; };
    /** deliveries.get */
    "/api/deliveries/{delivery_id}": { params: { delivery_id: string; }; answer: AlertDelivery; };
    /** demo.show */
    "/api/demo": { answer: DemoSummary; };
    /** endpoints.list */
    "/api/endpoints": { query?: { sort?: string | null; limit?: number; cursor?: string | null; }; answer: EndpointPage; };
    /** host_sessions.list */
    "/api/host-sessions": { query?: { limit?: number; cursor?: string | null; }; answer: HostSessionPage; };
    /** hosts.list */
    "/api/hosts": { query?: { q?: string; limit?: number; cursor?: string | null; }; answer: HostPage; };
    /** hosts.get */
    "/api/hosts/{host}": { params: { host: string; }; answer: HostStatus; };
    /** api_keys.list */
    "/api/keys": { query?: { limit?: number; cursor?: string | null; }; answer: ApiKeyPage; };
    /** limits.show */
    "/api/limits": { answer: LimitUsage; };
    /** members.list */
    "/api/members": { query?: { limit?: number; cursor?: string | null; }; answer: MemberPage; };
    /** monitors.list */
    "/api/monitors": { query?: { limit?: number; cursor?: string | null; }; answer: MonitorPage; };
    /** monitors.get */
    "/api/monitors/{monitor_id}": { params: { monitor_id: string; }; answer: MonitorDetail; };
    /** monitors.instants */
    "/api/monitors/{monitor_id}/instants": { params: { monitor_id: string; }; query?: { limit?: number; }; answer: ExpectedPingPage; };
    /** monitors.pings */
    "/api/monitors/{monitor_id}/pings": { params: { monitor_id: string; }; query?: { limit?: number; cursor?: string | null; }; answer: MonitorPingPage; };
    /** monitors.ping */
    "/api/monitors/{monitor_id}/pings/{ping_id}": { params: { monitor_id: string; ping_id: string; }; answer: MonitorPing; };
    /** pages.list */
    "/api/pages": { query?: { q?: string; limit?: number; cursor?: string | null; }; answer: StoredPageList; };
    /** pages.export */
    "/api/pages/export": { query?: { q?: string; }; };
    /** pages.versions */
    "/api/pages/versions": { query?: { page_id?: string | null; bulk_id?: string | null; limit?: number; cursor?: string | null; }; answer: StoredPageVersionList; };
    /** pages.get */
    "/api/pages/{page_id}": { params: { page_id: string; }; answer: StoredPageInfo; };
    /** pages.body */
    "/api/pages/{page_id}/body": { params: { page_id: string; }; query?: { rendered?: boolean; }; };
    /** pipelines.list */
    "/api/pipelines": { query?: { limit?: number; cursor?: string | null; }; answer: PipelinePage; };
    /** pipelines.get */
    "/api/pipelines/{pipeline}": { params: { pipeline: string; }; answer: PipelineDetail; };
    /** presets.list */
    "/api/presets": { query?: { limit?: number; cursor?: string | null; }; answer: PresetPage; };
    /** presets.get */
    "/api/presets/{preset}": { params: { preset: string; }; answer: PresetContents; };
    /** queues.list */
    "/api/queues": { query?: { limit?: number; cursor?: string | null; }; answer: QueuePage; };
    /** queues.history */
    "/api/queues/history": { query?: { range?: HistoryRange; queue?: string | null; }; answer: QueueHistory; };
    /** references.resolve */
    "/api/resolve": { query: { kind: ReferenceKind; ref: string; }; answer: ReferenceResolution; };
    /** runs.list */
    "/api/runs": { query?: { sort?: string | null; limit?: number; cursor?: string | null; schedule_id?: string | null; kind?: string | null; queue?: string | null; q?: string | null; state?: string | null; status?: string | null; }; answer: RunPage; };
    /** runs.count */
    "/api/runs/count": { query?: { q?: string | null; }; answer: RunCount; };
    /** runs.export */
    "/api/runs/export": { query?: { q?: string | null; format?: "ndjson" | "csv"; }; };
    /** runs.points */
    "/api/runs/points": { query?: { q?: string | null; from?: string | null; to?: string | null; limit?: number; }; answer: RunPoints; };
    /** runs.series */
    "/api/runs/series": { query?: { q?: string | null; from?: string | null; to?: string | null; bucket_seconds?: number | null; }; answer: RunSeries; };
    /** runs.get */
    "/api/runs/{run_id}": { params: { run_id: string; }; answer: Run; };
    /** runs.children */
    "/api/runs/{run_id}/children": { params: { run_id: string; }; query?: { limit?: number; cursor?: string | null; }; answer: RunPage; };
    /** runs.events */
    "/api/runs/{run_id}/events": { params: { run_id: string; }; query?: { limit?: number; ticket?: string | null; after?: number; }; answer: EventPage; };
    /** runs.explain */
    "/api/runs/{run_id}/explain": { params: { run_id: string; }; answer: ExplanationAnswer; };
    /** runs.log */
    "/api/runs/{run_id}/logs": { params: { run_id: string; }; query?: { after?: number | null; before?: number | null; around?: number | null; limit?: number; grep?: string | null; level?: "debug" | "info" | "warning" | "error" | "critical" | null; attempt?: number | null; category?: string | null; }; answer: RunLog; };
    /** runs.log_count */
    "/api/runs/{run_id}/logs/count": { params: { run_id: string; }; query?: { grep?: string | null; level?: "debug" | "info" | "warning" | "error" | "critical" | null; attempt?: number | null; category?: string | null; }; answer: LogCount; };
    /** runs.log_text */
    "/api/runs/{run_id}/logs/raw": { params: { run_id: string; }; };
    /** runs.neighbours */
    "/api/runs/{run_id}/neighbours": { params: { run_id: string; }; answer: RunNeighbours; };
    /** runs.parents */
    "/api/runs/{run_id}/parents": { params: { run_id: string; }; answer: RunPage; };
    /** runs.quarantine */
    "/api/runs/{run_id}/quarantine": { params: { run_id: string; }; answer: QuarantineAnswer; };
    /** schedules.list */
    "/api/schedules": { query?: { sort?: string | null; limit?: number; cursor?: string | null; status?: ScheduleStatus | null; type?: TriggerType | null; kind?: string | null; tag?: string | null; q?: string | null; }; answer: SchedulePage; };
    /** schedules.count */
    "/api/schedules/count": { query?: { q?: string | null; }; answer: ScheduleCount; };
    /** schedules.export */
    "/api/schedules/export": { query?: { q?: string | null; ids?: string | null; format?: "yaml" | "json"; }; answer: (Record<string, unknown>)[]; };
    /** schedules.health */
    "/api/schedules/health": { query: { ids: string; }; answer: ScheduleHealthList; };
    /** schedules.ranking */
    "/api/schedules/ranking": { query?: { over?: RankingPeriod; limit?: number; }; answer: ScheduleRanking; };
    /** schedules.get */
    "/api/schedules/{schedule_id}": { params: { schedule_id: string; }; answer: Schedule; };
    /** alert_rules.of_schedule */
    "/api/schedules/{schedule_id}/alert-rules": { params: { schedule_id: string; }; answer: NotifyingRulePage; };
    /** schedules.chain */
    "/api/schedules/{schedule_id}/chain": { params: { schedule_id: string; }; answer: ScheduleChain; };
    /** schedules.explain */
    "/api/schedules/{schedule_id}/explain": { params: { schedule_id: string; }; query?: { at?: string | null; }; answer: ExplanationAnswer; };
    /** schedules.instants */
    "/api/schedules/{schedule_id}/instants": { params: { schedule_id: string; }; query?: { from?: string | null; to?: string | null; limit?: number; cursor?: string | null; }; answer: InstantPage; };
    /** schedules.quality */
    "/api/schedules/{schedule_id}/quality": { params: { schedule_id: string; }; answer: ScheduleQualityAnswer; };
    /** schedules.runs */
    "/api/schedules/{schedule_id}/runs": { params: { schedule_id: string; }; query?: { limit?: number; cursor?: string | null; state?: string | null; status?: string | null; }; answer: RunPage; };
    /** schedules.versions */
    "/api/schedules/{schedule_id}/versions": { params: { schedule_id: string; }; query?: { limit?: number; cursor?: string | null; }; answer: ScheduleVersionPage; };
    /** secrets.list */
    "/api/secrets": { query?: { limit?: number; cursor?: string | null; }; answer: SecretPage; };
    /** sessions.show */
    "/api/session": { answer: SessionInfo; };
    /** filters.suggest */
    "/api/suggest": { query?: { field?: SuggestField; prefix?: string; limit?: number; }; answer: SuggestionList; };
    /** tasks.list */
    "/api/tasks": { query?: { limit?: number; cursor?: string | null; }; answer: TaskPage; };
    /** tasks.get */
    "/api/tasks/{task}": { params: { task: string; }; answer: RegisteredTask; };
    /** tenants.list */
    "/api/tenants": { query?: { limit?: number; cursor?: string | null; }; answer: TenantPage; };
    /** tenants.get */
    "/api/tenants/{tenant_id}": { params: { tenant_id: string; }; answer: TenantSettings; };
    /** timeline.show */
    "/api/timeline": { query?: { group_by?: TimelineGrouping; q?: string | null; rows?: number; from?: string | null; to?: string | null; }; answer: Timeline; };
    /** views.list */
    "/api/views": { query?: { list?: ViewedList | null; limit?: number; cursor?: string | null; }; answer: SavedViewPage; };
    /** watches.list */
    "/api/watches": { query?: { q?: string; limit?: number; cursor?: string | null; }; answer: WatchPage; };
    /** watches.get */
    "/api/watches/{watch_id}": { params: { watch_id: string; }; answer: WatchDetail; };
    /** watches.pages */
    "/api/watches/{watch_id}/pages": { params: { watch_id: string; }; query?: { state?: PageState | null; q?: string | null; limit?: number; cursor?: string | null; }; answer: WatchedPageList; };
    /** watches.page */
    "/api/watches/{watch_id}/pages/{page_id}": { params: { watch_id: string; page_id: string; }; answer: WatchedPageDetail; };
    /** watches.diff */
    "/api/watches/{watch_id}/pages/{page_id}/diff": { params: { watch_id: string; page_id: string; }; query?: { from?: string | null; to?: string | null; as?: "fields" | "lines" | "words"; }; answer: PageDiffDetail; };
    /** watches.versions */
    "/api/watches/{watch_id}/pages/{page_id}/versions": { params: { watch_id: string; page_id: string; }; query?: { limit?: number; cursor?: string | null; }; answer: PageVersionList; };
    /** watches.version */
    "/api/watches/{watch_id}/pages/{page_id}/versions/{version_id}": { params: { watch_id: string; page_id: string; version_id: string; }; answer: PageVersionDetail; };
    /** watches.plot */
    "/api/watches/{watch_id}/plot": { params: { watch_id: string; }; query?: { field?: string | null; pages?: number; page?: string | null; }; answer: WatchPlotDetail; };
    /** workers.list */
    "/api/workers": { query?: { limit?: number; cursor?: string | null; }; answer: WorkerPage; };
    /** health.live */
    "/health": { answer: Liveness; };
    /** health.detailed */
    "/health/detailed": { answer: HealthReport; };
    /** jobs.list */
    "/jobs": { query?: { status_filter?: string | null; kind?: "crawl" | "articles" | null; limit?: number; skip?: number; sort?: string | null; }; answer: JobPage; };
    /** jobs.list_at_slash */
    "/jobs/": { query?: { status_filter?: string | null; kind?: "crawl" | "articles" | null; limit?: number; skip?: number; sort?: string | null; }; answer: JobPage; };
    /** jobs.logs */
    "/jobs/{job_id}/logs": { params: { job_id: string; }; query?: { format?: "sse" | "text"; ticket?: string | null; }; };
    /** jobs.results */
    "/jobs/{job_id}/results": { params: { job_id: string; }; query?: { limit?: number; skip?: number; format?: "json" | "ndjson" | "csv" | null; }; answer: JobResults | ArticleResults; };
    /** jobs.article */
    "/jobs/{job_id}/results/{article_id}": { params: { job_id: string; article_id: string; }; answer: ArticleDetail; };
    /** jobs.status */
    "/jobs/{job_id}/status": { params: { job_id: string; }; answer: JobDetail; };
    /** health.metrics */
    "/metrics": {  };
  };
  POST: {
    /** alert_rules.create */
    "/api/alert-rules": { body: AlertRuleRequest; answer: AlertRule; };
    /** alert_rules.preview */
    "/api/alert-rules/preview": { body: AlertRulePreviewRequest; answer: AlertRulePreview; };
    /** alerts.acknowledge */
    "/api/alerts/{alert_id}/ack": { params: { alert_id: string; }; answer: AlertDetail; };
    /** alerts.resolve */
    "/api/alerts/{alert_id}/resolve": { params: { alert_id: string; }; answer: AlertDetail; };
    /** alerts.snooze */
    "/api/alerts/{alert_id}/snooze": { params: { alert_id: string; }; body: SnoozeRequest; answer: AlertDetail; };
    /** audit_log.revert */
    "/api/audit/{entry_id}/revert": { params: { entry_id: string; }; answer: Schedule; };
    /** bulk.create */
    "/api/bulk": { body: Omit<NewBulkAction, "dry_run">; answer: BulkAction; dryRun: BulkDryRun; };
    /** bulk.pause */
    "/api/bulk/{bulk_id}/pause": { params: { bulk_id: string; }; answer: BulkAction; };
    /** bulk.resume */
    "/api/bulk/{bulk_id}/resume": { params: { bulk_id: string; }; answer: BulkAction; };
    /** bulk.stop */
    "/api/bulk/{bulk_id}/stop": { params: { bulk_id: string; }; answer: BulkAction; };
    /** calendars.create */
    "/api/calendars": { body: NamedCalendarRequest; answer: NamedCalendar; };
    /** calendars.preview */
    "/api/calendars/preview": { body: NamedCalendarRequest; answer: NamedCalendar; };
    /** channels.create */
    "/api/channels": { body: ChannelRequest; answer: NotificationChannel; };
    /** channels.test */
    "/api/channels/{channel_id}/test": { params: { channel_id: string; }; answer: AlertDelivery; };
    /** dead_letters.mute */
    "/api/dead-letters/groups/{fingerprint}/mute": { params: { fingerprint: string; }; body?: MuteRequest; answer: MutedGroup; };
    /** dead_letters.unmute */
    "/api/dead-letters/groups/{fingerprint}/unmute": { params: { fingerprint: string; }; answer: UnmutedGroup; };
    /** dead_letters.replay */
    "/api/dead-letters/replay": { body: ReplayRequest; answer: ReplayResult; };
    /** endpoints.send_test */
    "/api/endpoints/test": { body: EndpointTestRequest; answer: Run; };
    /** hosts.turns */
    "/api/hosts/{host}/turns": { params: { host: string; }; body: TurnsRequest; answer: TurnBlock; };
    /** invites.create */
    "/api/invites": { body: InviteRequest; answer: Invite; };
    /** api_keys.create */
    "/api/keys": { body: ApiKeyRequest; answer: NewApiKey; };
    /** login_links.create */
    "/api/login-links": { answer: LoginLink; };
    /** monitors.create */
    "/api/monitors": { body: MonitorRequest; answer: MonitorDetail; };
    /** monitors.pause */
    "/api/monitors/{monitor_id}/pause": { params: { monitor_id: string; }; answer: MonitorDetail; };
    /** monitors.resume */
    "/api/monitors/{monitor_id}/resume": { params: { monitor_id: string; }; answer: MonitorDetail; };
    /** pages.reextract */
    "/api/pages/reextract": { body: Omit<ReextractRequest, "dry_run">; answer: BulkAction; dryRun: ReextractDryRun; };
    /** pipelines.run */
    "/api/pipelines/{pipeline}/run": { params: { pipeline: string; }; body?: PipelineRunRequest; answer: Run; };
    /** plans.plan */
    "/api/plan": { body: PlanRequest; answer: PlanAnswer; };
    /** plans.apply */
    "/api/plan/apply": { body: ApplyRequest; answer: PlanAnswer; };
    /** presets.load */
    "/api/presets/{preset}/load": { params: { preset: string; }; body?: PresetLoadRequest; answer: PresetResult; };
    /** presets.unload */
    "/api/presets/{preset}/unload": { params: { preset: string; }; body?: PresetUnloadRequest; answer: PresetResult; };
    /** queues.pause */
    "/api/queues/{queue}/pause": { params: { queue: string; }; body?: PauseRequest; answer: QueueStatus; };
    /** queues.resume */
    "/api/queues/{queue}/resume": { params: { queue: string; }; answer: QueueStatus; };
    /** runs.cancel */
    "/api/runs/{run_id}/cancel": { params: { run_id: string; }; answer: Run; };
    /** runs.quarantine_drop */
    "/api/runs/{run_id}/quarantine/drop": { params: { run_id: string; }; answer: QuarantineAnswer; };
    /** runs.quarantine_release */
    "/api/runs/{run_id}/quarantine/release": { params: { run_id: string; }; answer: QuarantineAnswer; };
    /** runs.retry */
    "/api/runs/{run_id}/retry": { params: { run_id: string; }; answer: Run; };
    /** schedules.create */
    "/api/schedules": { body: ScheduleRequest; answer: Schedule; };
    /** schedules.create_batch */
    "/api/schedules/batch": { body: ScheduleBatchRequest; answer: ScheduleBatchResult; };
    /** schedules.preview */
    "/api/schedules/preview": { body: PreviewRequest; answer: SchedulePreview; };
    /** schedules.realign_all */
    "/api/schedules/realign": { answer: RealignResult; };
    /** schedules.trial */
    "/api/schedules/test": { body: ScheduleRequest; answer: Run; };
    /** schedules.backfill */
    "/api/schedules/{schedule_id}/backfill": { params: { schedule_id: string; }; body: Omit<NewBackfill, "dry_run">; answer: BulkAction; dryRun: BackfillDryRun; };
    /** schedules.pause */
    "/api/schedules/{schedule_id}/pause": { params: { schedule_id: string; }; body?: PauseRequest; answer: Schedule; };
    /** schedules.realign */
    "/api/schedules/{schedule_id}/realign": { params: { schedule_id: string; }; answer: Schedule; };
    /** schedules.resume */
    "/api/schedules/{schedule_id}/resume": { params: { schedule_id: string; }; answer: Schedule; };
    /** schedules.run_now */
    "/api/schedules/{schedule_id}/run-now": { params: { schedule_id: string; }; body?: RunNowRequest; answer: Run; };
    /** schedules.skip_next */
    "/api/schedules/{schedule_id}/skip-next": { params: { schedule_id: string; }; body?: SkipRequest; answer: Schedule; };
    /** schedules.take_over */
    "/api/schedules/{schedule_id}/take-over": { params: { schedule_id: string; }; answer: Schedule; };
    /** sessions.begin */
    "/api/session": { body: SessionRequest; answer: undefined; };
    /** stream_tickets.create */
    "/api/stream-tickets": { answer: StreamTicket; };
    /** tasks.run */
    "/api/tasks/{task}/run": { params: { task: string; }; body?: TaskRunRequest; answer: Run; };
    /** views.create */
    "/api/views": { body: NewSavedView; answer: SavedView; };
    /** watches.create */
    "/api/watches": { body: WatchRequest; answer: WatchDetail; };
    /** watches.preview */
    "/api/watches/preview": { body: WatchPreviewRequest; answer: WatchPreviewAnswer; };
    /** watches.pause */
    "/api/watches/{watch_id}/pause": { params: { watch_id: string; }; answer: WatchDetail; };
    /** watches.resume */
    "/api/watches/{watch_id}/resume": { params: { watch_id: string; }; answer: WatchDetail; };
    /** watches.try_condition */
    "/api/watches/{watch_id}/try-condition": { params: { watch_id: string; }; body: ConditionTrialRequest; answer: ConditionTrialAnswer; };
    /** watches.visit */
    "/api/watches/{watch_id}/visit": { params: { watch_id: string; }; answer: Run; };
    /** workers.ping */
    "/api/workers/ping": { answer: WorkerPage; };
    /** workers.drain */
    "/api/workers/{node_id}/drain": { params: { node_id: string; }; answer: WorkerStatus; };
    /** workers.restart */
    "/api/workers/{node_id}/restart": { params: { node_id: string; }; answer: WorkerStatus; };
    /** crawls.create */
    "/crawl": { query?: { ignore_cache?: boolean; }; body: NewCrawl; answer: FreshCrawl | CachedCrawl | PlannedCrawl; };
    /** articles.submit */
    "/jobs/submit": { body: ArticleJobRequest; answer: ArticleJob; };
  };
  PUT: {
    /** calendars.replace */
    "/api/calendars/{calendar_id}": { params: { calendar_id: string; }; body: NamedCalendarRequest; answer: NamedCalendar; };
    /** hosts.put */
    "/api/hosts/{host}": { params: { host: string; }; body: HostRequest; answer: HostStatus; };
    /** host_sessions.put */
    "/api/hosts/{host}/sessions/{name}": { params: { host: string; name: string; }; body: HostSessionRequest; answer: HostSessionStatus; };
    /** schedules.replace */
    "/api/schedules/{schedule_id}": { params: { schedule_id: string; }; body: ScheduleRequest; answer: Schedule; };
    /** secrets.put */
    "/api/secrets/{name}": { params: { name: string; }; body: SecretRequest; answer: undefined; };
    /** tenants.put */
    "/api/tenants/{tenant_id}": { params: { tenant_id: string; }; body: TenantRequest; answer: TenantSettings; };
  };
  PATCH: {
    /** alert_rules.change */
    "/api/alert-rules/{rule_id}": { params: { rule_id: string; }; body: AlertRuleChange; answer: AlertRule; };
    /** channels.change */
    "/api/channels/{channel_id}": { params: { channel_id: string; }; body: ChannelChange; answer: NotificationChannel; };
    /** monitors.change */
    "/api/monitors/{monitor_id}": { params: { monitor_id: string; }; body: MonitorChange; answer: MonitorDetail; };
    /** schedules.patch */
    "/api/schedules/{schedule_id}": { params: { schedule_id: string; }; body: SchedulePatch; answer: Schedule; };
    /** views.change */
    "/api/views/{view_id}": { params: { view_id: string; }; body: SavedViewChange; answer: SavedView; };
    /** watches.change */
    "/api/watches/{watch_id}": { params: { watch_id: string; }; body: WatchChange; answer: WatchDetail; };
  };
  DELETE: {
    /** alert_rules.delete */
    "/api/alert-rules/{rule_id}": { params: { rule_id: string; }; answer: undefined; };
    /** calendars.delete */
    "/api/calendars/{calendar_id}": { params: { calendar_id: string; }; answer: undefined; };
    /** channels.delete */
    "/api/channels/{channel_id}": { params: { channel_id: string; }; answer: undefined; };
    /** demo.remove */
    "/api/demo": { answer: DemoRemoved; };
    /** hosts.reset */
    "/api/hosts/{host}": { params: { host: string; }; answer: HostStatus; };
    /** host_sessions.delete */
    "/api/hosts/{host}/sessions/{name}": { params: { host: string; name: string; }; answer: undefined; };
    /** api_keys.revoke */
    "/api/keys/{key_id}": { params: { key_id: string; }; answer: undefined; };
    /** monitors.delete */
    "/api/monitors/{monitor_id}": { params: { monitor_id: string; }; answer: undefined; };
    /** schedules.delete */
    "/api/schedules/{schedule_id}": { params: { schedule_id: string; }; answer: undefined; };
    /** schedules.unskip */
    "/api/schedules/{schedule_id}/skip-next": { params: { schedule_id: string; }; answer: Schedule; };
    /** secrets.delete */
    "/api/secrets/{name}": { params: { name: string; }; answer: undefined; };
    /** sessions.end */
    "/api/session": { answer: undefined; };
    /** sessions.end_all */
    "/api/sessions": { answer: SessionsEnded; };
    /** views.delete */
    "/api/views/{view_id}": { params: { view_id: string; }; answer: undefined; };
    /** watches.delete */
    "/api/watches/{watch_id}": { params: { watch_id: string; }; answer: undefined; };
    /** jobs.cancel */
    "/jobs/{job_id}": { params: { job_id: string; }; answer: CancelledJob; };
  };
}
