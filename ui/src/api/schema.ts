/* Written by `make reference` from the API's description. Do not edit. */

export type Act = "cancel" | "retry" | "replay" | "discard" | "pause" | "resume" | "run" | "tag" | "delete" | "backfill";

export interface Action {
  kind: string;
  [more: string]: unknown;
}

export interface ActionModel {
  label: string;
  method: string;
  path: string;
  body: unknown;
}

export interface Age {
  up_to_hours: number | null;
  count: number;
}

export interface AheadHealth {
  tenant_id: string;
  schedule_id: string;
}

export interface Alive {
  status: "ok";
  version: string;
}

export interface Arrivals {
  at: string;
  count: number;
}

export type ArticleJobStatus = "PENDING" | "IN_PROGRESS" | "COMPLETED" | "FAILED" | "CANCELLED";

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

export interface ArticleWish {
  url: string;
  source?: string;
  category?: string;
  priority?: number;
}

export type AsOf = "now" | "then";

export interface Attempt {
  number: number;
  epoch: number;
  worker: string | null;
  outcome: string;
  started_at: string;
  ended_at: string;
  duration_ms: number;
  error: Failure | null;
  response: Record<string, unknown> | null;
  retry_at: string | null;
}

export interface AttentionItem {
  id: string;
  kind: Kind;
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
  actions: (ActionModel)[];
}

export interface AttentionList {
  checked_at: string;
  items: (AttentionItem)[];
}

export interface BackfillRequest {
  from: string;
  to?: string | null;
  which?: Which;
  rate?: number;
  limit?: number;
  stop_after?: number | null;
  order?: Order;
  dry_run?: boolean;
  expect?: number | null;
}

export interface BackfillTrial {
  dry_run: boolean;
  count: number;
  named: number;
  left_out: Record<string, number>;
  first: string | null;
  last: string | null;
  sample: (Unfilled)[];
  hosts: (string)[];
  warnings: (string)[];
}

export interface Bar {
  at: string;
  counts: Partial<Record<RunState, number>>;
  total: number;
  p50_ms: number | null;
  p95_ms: number | null;
  late: number;
}

export interface BreakerModel {
  target: string;
  state: "open" | "half_open";
  since: string;
  failures: number;
  why: string;
  next_trial_at: string | null;
}

export interface BrokerHealth {
  url: string;
  publishing: boolean;
  error: string | null;
}

export interface Bulk {
  id: string;
  action: Act;
  filter: string | null;
  ids_given: number;
  rate: number;
  stop_after: number | null;
  order: Order;
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

export interface BulkFailure {
  id: string;
  message: string;
}

export interface BulkRequest {
  action: Act;
  filter?: string | null;
  ids?: (string)[] | null;
  rate?: number;
  stop_after?: number | null;
  order?: Order;
  dry_run?: boolean;
  expect?: number | null;
  add_tags?: (string)[];
  remove_tags?: (string)[];
  as_of?: AsOf;
  patch?: Record<string, unknown> | null;
}

export type BulkState = "running" | "paused" | "stopped" | "finished";

export interface Bulks {
  items: (Bulk)[];
  next_cursor: string | null;
}

export interface CachedCrawl {
  job_id: string;
  scheduled: false;
  cached: true;
  cached_at: string;
}

export interface CalendarModel {
  timezone: string;
  granularity: Granularity;
  exact: boolean;
  items: (CellModel)[];
}

export interface CallerModel {
  id: string;
  name: string;
}

export interface CancelledJob {
  job_id: string;
  status: "CANCELLED";
  message: string;
}

export interface Catchup {
  mode: CatchupMode;
  window_seconds: number;
  max_runs: number;
  grace_seconds: number;
}

export type CatchupMode = "none" | "latest" | "all";

export interface CellModel {
  at: string;
  local: string;
  counts: Partial<Record<RunState, number>>;
  total: number;
  planned: number;
  missed: number;
  skipped: number;
}

export interface CollisionModel {
  at: string;
  count: number;
}

export interface Complaint {
  field: string;
  message: string;
  got?: unknown;
  position?: [number, number] | null;
  suggestion?: string | null;
}

export interface Count {
  count: number;
  by_state: Partial<Record<RunState, number>>;
}

export interface CrawlRequest {
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

export interface Damage {
  schedule_id: string;
  fault: string;
}

export interface DatabaseHealth {
  status: "ok" | "refuses" | "down";
  latency_ms: number | null;
  error: string | null;
  disk: Record<string, unknown> | null;
}

export interface DeadFilter {
  kind?: string | null;
  schedule_id?: string | null;
  code?: string | null;
}

export interface DeadGroup {
  code: string;
  message: string;
  kind: string;
  count: number;
  first_at: string;
  last_at: string;
  ids: (string)[];
}

export interface DeadGroups {
  items: (DeadGroup)[];
  next_cursor: string | null;
}

export interface Demo {
  on: boolean;
  schedules: number;
  runs: number;
}

export interface DemoNote {
  on: boolean;
  schedules: number;
}

export interface DemoRemoved {
  schedules: number;
  runs: number;
}

export interface EndpointList {
  items: (EndpointModel)[];
  next_cursor: string | null;
  total: number;
  since: string;
  whole: boolean;
  breakers: (BreakerModel)[];
}

export interface EndpointModel {
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
  schedules: (CallerModel)[];
  schedule_count: number;
  breaker: BreakerModel | null;
  secrets: (UsedSecretModel)[] | null;
}

export interface Event {
  seq: number;
  at: string;
  type: EventType;
  state?: RunState | null;
  attempt?: number | null;
  level?: string | null;
  data?: Record<string, unknown> | null;
  message: string;
}

export type EventType = "state" | "log" | "progress";

export interface Events {
  items: (Event)[];
  next_cursor: string | null;
}

export interface FailedArticle {
  article_id: string;
  url: string;
  error: string;
  code: string | null;
  attempted_at: string | null;
  reference_count: number;
  retry_count: number;
}

export interface Failure {
  code: string;
  message: string;
  [more: string]: unknown;
}

export type Fate = "created" | "updated" | "unchanged" | "kept" | "deleted";

export interface FaultModel {
  file: string;
  line: number | null;
  column: number | null;
  message: string;
  suggestion: string | null;
}

export interface Features {
  pipelines: boolean;
  scrapyd: boolean;
  echo: boolean;
}

export interface FeedHealth {
  kind: "memory" | "postgresql" | "redis";
  connected: boolean;
  error: string | null;
}

export type Field = "schedule" | "tag" | "queue" | "kind" | "state" | "zone" | "worker" | "pipeline" | "any";

export interface Fire {
  at: string;
  local: string;
}

export interface FreshCrawl {
  job_id: string;
  scheduled: false;
  cached: false;
  logs_url: string;
  status_url: string;
}

export type Granularity = "hour" | "day";

export interface GroupModel {
  key: string;
  name: string;
  kind: string | null;
  schedule_id: string | null;
  summary: string | null;
  timezone: string | null;
  runs: number;
  planned: number;
  folded: boolean;
  marks: (MarkModel)[];
}

export type Grouping = "schedule" | "tag" | "queue";

export interface Health {
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
  damaged: (Damage)[];
}

export interface HostHealth {
  host: string;
  tenant_id: string;
  slots: number;
}

export interface Instant {
  at: string;
  outcome: "ran" | "queued" | "skipped" | "missed" | "pruned" | "planned";
  reason: string;
  run_id: string | null;
}

export interface Instants {
  items: (Instant)[];
  next_cursor: string | null;
}

export interface Interval {
  days?: number;
  hours?: number;
  minutes?: number;
  seconds?: number;
}

export interface Job {
  job_id: string;
  kind: string;
  status: JobStatus | ArticleJobStatus;
  state: RunState | null;
  run_id: string | null;
  created_at: string;
  updated_at: string;
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
  error: Failure | null;
}

export type JobStatus = "pending" | "running" | "finished" | "error" | "cancelled";

export interface Jobs {
  jobs: (Job)[];
  total: number;
}

export interface Key {
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

export interface KeyRequest {
  name: string;
  role: Role;
  scopes?: (string)[] | null;
  expires_at?: string | null;
}

export interface Keys {
  items: (Key)[];
  next_cursor: string | null;
}

export type Kind = "failing" | "late" | "missed" | "dead_letters" | "stalled_queue" | "lost_worker" | "damaged" | "no_worker" | "ahead" | "standstill";

export interface LastRun {
  id: string;
  state: RunState;
  finished_at: string | null;
}

export interface LetterGroup {
  fingerprint: string;
  kind: string;
  code: string;
  message: string;
  host: string | null;
  count: number;
  first_at: string;
  last_at: string;
  schedules: (Named)[];
  sample_id: string;
  sample: Run;
  arrivals: (Arrivals)[];
  mute: Mute | null;
}

export interface LetterGroups {
  items: (LetterGroup)[];
  total: number;
  letters: number;
  oldest_at: string | null;
  ages: (Age)[];
  next_cursor: string | null;
}

export interface Limits {
  requests_per_minute: number | null;
  schedules: number | null;
  concurrent_runs: number | null;
  run_now_per_minute: number | null;
  streams: number | null;
  stored_bytes: number | null;
}

export interface LimitsInUse {
  limits: Limits;
  used: Used;
}

export interface LoadRequest {
  settings?: Record<string, unknown> | null;
}

export interface LoadedModel {
  preset: string;
  items: (MadeModel)[];
}

export interface Log {
  items: (LogLine)[];
  total: number;
  matches: number | null;
  first_seq: number | null;
  last_seq: number | null;
  before: number | null;
  after: number | null;
  pruned: boolean;
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

export interface MadeModel {
  name: string;
  outcome: Fate;
  schedule_id: string;
  schedule: string;
  status: string;
  next_run_at: string | null;
}

export type ManagedBy = "api" | "code" | "preset" | "file";

export interface MarkModel {
  at: string;
  until: string | null;
  state: RunState | "planned" | "missed" | "skipped";
  count: number;
  run_id: string | null;
}

export interface Member {
  user_id: string;
  roles: (Role)[];
  keys: number;
  last_seen_at: string | null;
  last_action: string | null;
}

export interface Members {
  items: (Member)[];
  next_cursor: string | null;
}

export interface Mute {
  fingerprint: string;
  user_id: string;
  at: string;
  until: string;
  reason: string;
}

export interface MuteRequest {
  hours?: number;
  reason?: string;
}

export interface Named {
  id: string;
  name: string;
}

export interface Neighbours {
  before: string | null;
  after: string | null;
}

export interface NewKey {
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

export interface NodeHealth {
  id: string;
  role: string;
  started_at: string;
  seen_at: string;
  lateness_p99_seconds: number | null;
  report: Record<string, unknown>;
}

export type NodeState = "live" | "stale" | "draining";

export type Order = "oldest" | "newest";

export type Origin = "instant" | "manual" | "retry" | "replay";

export interface OutcomeModel {
  run_id: string;
  state: RunState;
  duration_ms: number | null;
  at: string;
}

export type Over = "24h" | "7d";

export type Overlap = "skip" | "buffer_one" | "buffer_all" | "cancel_other" | "terminate_other" | "allow_all";

export interface OwnLimits {
  requests_per_minute?: number | null;
  schedules?: number | null;
  concurrent_runs?: number | null;
  run_now_per_minute?: number | null;
  streams?: number | null;
  stored_bytes?: number | null;
}

export interface ParkedHealth {
  count: number;
  oldest: string | null;
}

export interface PassedModel {
  id: string;
  state: RunState;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  steps: (StepProgress)[];
}

export interface PauseRequest {
  reason?: string | null;
}

export interface PipelineDetail {
  name: string;
  state: "loaded" | "broken";
  error: FaultModel | null;
  schedule: WhenModel | null;
  schedule_id: string | null;
  status: Status | null;
  summary: string | null;
  next_run_at: string | null;
  revision: string | null;
  file: string;
  on_error: "skip" | "fail" | null;
  steps: (StepModel)[];
  last_run: LastRun | null;
  updated_at: string;
  yaml: string;
  runs: (PassedModel)[];
}

export interface PipelineList {
  items: (PipelineModel)[];
  next_cursor: string | null;
  faults: (FaultModel)[];
}

export interface PipelineModel {
  name: string;
  state: "loaded" | "broken";
  error: FaultModel | null;
  schedule: WhenModel | null;
  schedule_id: string | null;
  status: Status | null;
  summary: string | null;
  next_run_at: string | null;
  revision: string | null;
  file: string;
  on_error: "skip" | "fail" | null;
  steps: (StepModel)[];
  last_run: LastRun | null;
  updated_at: string;
}

export interface PipelineRunRequest {
}

export interface PlannedCrawl {
  job_id: string;
  scheduled: true;
  next_run: string | null;
  cached?: true;
  cached_at?: string | null;
}

export interface PlannedModel {
  name: string;
  schedule: Record<string, unknown>;
}

export interface Points {
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

export interface PresetList {
  items: (PresetModel)[];
  next_cursor: string | null;
}

export interface PresetModel {
  name: string;
  title: string;
  description: string;
  settings: Record<string, string>;
  schedules: (PlannedModel)[];
}

export interface Preview {
  summary: string;
  type: Type;
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  timezone: string;
  next: (Fire)[];
  notes: (string)[];
}

export interface PreviewRequest {
  type?: Type | null;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  interval?: Interval | null;
  run_at?: string | null;
  timezone?: string | null;
  start_at?: string | null;
  end_at?: string | null;
  words?: string | null;
  count?: number;
}

export interface PreviousText {
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
  errors?: (Complaint)[];
}

export interface Proofs {
  runs: string;
  failed: string;
  slow: string | null;
}

export interface QueueHealth {
  queue: string;
  depth: number;
  oldest: string | null;
}

export interface QueueList {
  items: (QueueModel)[];
  next_cursor: string | null;
}

export interface QueueModel {
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

export interface Ranked {
  schedule_id: string;
  name: string;
  runs: number;
  failed: number;
  failure_ratio: number;
  p95_ms: number | null;
  q: Proofs;
}

export interface Ranking {
  over: Over;
  since: string;
  runs: number;
  whole: boolean;
  slowest: (Ranked)[];
  flakiest: (Ranked)[];
}

export interface Realigned {
  items: (SetBack)[];
}

export interface Refusal {
  id: string;
  message: string;
}

export interface Rehearsal {
  looked_at: number;
  duplicates: number;
  changed: number;
  stay: number;
  edited: number;
  refused: number;
  refusals: (Refusal)[];
  replays_most: number;
  replays_cap: number;
}

export interface ReplayRequest {
  ids?: (string)[] | null;
  filter?: DeadFilter | null;
  as_of?: AsOf;
  patch?: Record<string, unknown> | null;
}

export interface Replayed {
  items: (Run)[];
  more: boolean;
}

export interface Results {
  job_id: string;
  status: JobStatus | ArticleJobStatus;
  total: number;
  not_kept: number;
  items: (unknown)[];
}

export interface RetryPolicy {
  strategy: Strategy;
  max_retries: number;
  delay_seconds: number;
  max_delay_seconds: number;
  jitter: number;
  dead_letter: boolean;
}

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
  parked: boolean;
  cancel_requested: boolean;
  scheduled_for: string | null;
  fills: string | null;
  ready_at: string;
  waiting: Waiting | null;
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
  error: Failure | null;
  fingerprint: string | null;
  parent_id: string | null;
  resolved_by: string | null;
  action: Record<string, unknown> | null;
  attempts: (Attempt)[];
  links: Record<string, string | null>;
}

export interface RunNowRequest {
  payload?: Record<string, unknown> | null;
}

export type RunState = "queued" | "running" | "retrying" | "success" | "partial" | "failed" | "dead_letter" | "cancelled";

export interface Runs {
  items: (Run)[];
  next_cursor: string | null;
}

export interface Sampled {
  id: string;
  kind: string;
  name: string | null;
  state: string;
  message: string;
  version?: number | null;
  follows?: number | null;
  replays?: number | null;
}

export interface Schedule {
  id: string;
  tenant_id: string;
  user_id: string;
  name: string;
  description: string;
  tags: (string)[];
  type: Type;
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  timezone: string;
  action: Action;
  retry_policy: RetryPolicy;
  overlap: Overlap;
  catchup: Catchup;
  queue: string;
  priority: number;
  timeout_seconds: number | null;
  jitter_seconds: number;
  start_at: string | null;
  end_at: string | null;
  max_runs: number | null;
  status: Status;
  paused_reason: string;
  paused_at: string | null;
  paused_by: string | null;
  skips: Skips | null;
  fault: string | null;
  managed_by: ManagedBy;
  summary: string;
  next_run_at: string | null;
  last_run_at: string | null;
  version: number;
  created_at: string;
  updated_at: string;
  links: Record<string, string>;
}

export interface ScheduleCount {
  count: number;
}

export interface ScheduleHealth {
  schedule_id: string;
  outcomes: (OutcomeModel)[];
  success_ratio: number | null;
  avg_duration_ms: number | null;
  failing_since: string | null;
  streak: number;
}

export interface ScheduleHealths {
  items: (ScheduleHealth)[];
}

export interface SchedulePatch {
  name?: string | null;
  description?: string | null;
  tags?: (string)[] | null;
  type?: Type | null;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  timezone?: string | null;
  queue?: string | null;
  priority?: number | null;
  [more: string]: unknown;
}

export interface ScheduleRequest {
  type: Type;
  cron_expr?: string | null;
  interval_seconds?: number | null;
  interval?: Interval | null;
  run_at?: string | null;
  timezone?: string | null;
  start_at?: string | null;
  end_at?: string | null;
  name: string;
  description?: string | null;
  tags?: (string)[] | null;
  action?: Action | null;
  payload?: WebhookPayload | null;
  retry_policy?: Partial<RetryPolicy> | null;
  overlap?: Overlap | null;
  catchup?: Partial<Catchup> | null;
  queue?: string | null;
  priority?: number | null;
  timeout_seconds?: number | null;
  jitter_seconds?: number | null;
  max_runs?: number | null;
  paused?: boolean | null;
  paused_reason?: string | null;
}

export interface Schedules {
  items: (Schedule)[];
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

export interface Secret {
  name: string;
  version: number;
  created_at: string;
  created_by: string;
  hosts: (string)[];
  previous_until: string | null;
}

export interface SecretRequest {
  value: string;
  hosts?: (string)[] | null;
}

export interface Secrets {
  items: (Secret)[];
  next_cursor: string | null;
}

export interface Series {
  from: string;
  to: string;
  bucket_seconds: number;
  timed: number;
  items: (Bar)[];
}

export interface Session {
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
  demo?: DemoNote | null;
  features?: Features | null;
}

export interface SessionRequest {
  token?: string | null;
  code?: string | null;
}

export interface SessionsEnded {
  ended: number;
}

export interface SetBack {
  id: string;
  name: string;
  next_run_at: string | null;
}

export type Severity = "failed" | "dead" | "attention";

export interface SkipRequest {
  at?: string | null;
}

export interface Skips {
  at: string;
  by: string | null;
}

export interface StandstillHealth {
  reason: Why;
  told: string;
  seconds: number;
  hosts: (HostHealth)[];
  detail: string;
  node: string | null;
}

export type Status = "active" | "paused" | "completed" | "deleted";

export interface StepModel {
  class: string;
  name: string;
  kwargs: Record<string, unknown>;
  on_error: "skip" | "fail";
  line: number | null;
}

export interface StepProgress {
  name: string;
  state: string;
  in: number;
  out: number;
  failed: number;
  seconds: number;
}

export type Strategy = "exponential" | "linear" | "fixed";

export interface SubmitRequest {
  articles: (ArticleWish)[];
  ignore_cache?: boolean;
  max_age_seconds?: number | null;
}

export interface SubmittedJob {
  job_id: string;
  status: string;
  total_articles: number;
  new_articles: number;
  cached_articles: number;
  message: string;
}

export interface Suggestion {
  field: string;
  value: string;
  label: string;
  hint: string;
}

export interface Suggestions {
  items: (Suggestion)[];
}

export interface TaskList {
  items: (TaskModel)[];
  next_cursor: string | null;
  faults: (string)[] | null;
}

export interface TaskModel {
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

export interface TaskRunRequest {
  parameters?: Record<string, unknown> | null;
  queue?: string | null;
  priority?: number | null;
  timeout_seconds?: number | null;
}

export interface TenantModel {
  tenant_id: string;
  limits: Record<string, number | null>;
  effective: Limits;
  egress_allow: (string)[] | null;
  updated_by: string | null;
  updated_at: string | null;
}

export interface TenantPage {
  items: (TenantModel)[];
  next_cursor: string | null;
}

export interface TenantRequest {
  limits?: OwnLimits | null;
  egress_allow?: (string)[] | null;
}

export interface TestRequest {
  url: string;
  schedule_id?: string | null;
}

export interface Ticket {
  ticket: string;
  expires_at: string;
}

export interface TimelineModel {
  from: string;
  to: string;
  now: string;
  bucket_seconds: number;
  groups: (GroupModel)[];
  collisions: (CollisionModel)[];
  marks: number;
  dropped_groups: number;
  complete: boolean;
}

export interface Trail {
  items: (TrailEntry)[];
  next_cursor: string | null;
}

export interface TrailEntry {
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

export interface Trial {
  dry_run: boolean;
  count: number;
  sample: (Sampled)[];
  hosts: (string)[];
  warnings: (string)[];
  rehearsal: Rehearsal | null;
}

export type Type = "cron" | "interval" | "oneoff";

export interface Unfilled {
  at: string;
  outcome: "ran" | "queued" | "skipped" | "missed" | "pruned" | "planned";
  reason: string;
  run_id: string | null;
}

export interface UnloadRequest {
  edited?: boolean | null;
}

export interface Unmuted {
  fingerprint: string;
  mute?: null;
}

export interface Used {
  schedules: number;
  concurrent_runs: number;
  streams: number;
  stored_bytes: number;
}

export interface UsedSecretModel {
  name: string;
  since: string | null;
  version: number | null;
}

export interface Waiting {
  code: string;
  message: string;
}

export interface WebhookPayload {
  url: string;
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD" | "OPTIONS";
  headers?: Record<string, string>;
  body?: unknown;
}

export interface WhenModel {
  type: string;
  cron_expr: string | null;
  interval_seconds: number | null;
  timezone: string;
}

export type Which = "missing" | "all";

export interface WholeArticle {
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
  scraped_at: string | null;
  cached: boolean;
  reference_count: number;
  retry_count: number;
  previous_scraped_at: string | null;
  previous: PreviousText | null;
}

export interface WholeJob {
  job_id: string;
  kind: string;
  status: JobStatus | ArticleJobStatus;
  state: RunState | null;
  run_id: string | null;
  created_at: string;
  updated_at: string;
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
  error: Failure | null;
  article_ids: (string)[] | null;
}

export type Why = "store" | "clock" | "broker" | "no_worker" | "host" | "slots" | "scheduler" | "unknown";

export type Wish = "drain" | "restart";

export interface WorkerList {
  items: (WorkerModel)[];
  next_cursor: string | null;
}

export interface WorkerModel {
  id: string;
  role: string;
  host: string;
  pid: number | null;
  started_at: string;
  seen_at: string;
  state: NodeState;
  wish: Wish | null;
  slots: number;
  free: number;
  in_flight: number;
  queues: (string)[] | null;
}
