/** What the pages rely on. `drift.ts` holds it against `schema.ts`, which `make reference` writes from the API. */
import type * as schema from "./schema";

export type RunState =
  "queued" | "running" | "retrying" | "success" | "partial" | "failed" | "dead_letter" | "cancelled";

export interface Page<T> {
  items: T[];
  next_cursor: string | null;
}

export interface Failure {
  code: string;
  message: string;
  [extra: string]: unknown;
}

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

export interface Run {
  id: string;
  tenant_id: string;
  user_id: string;
  schedule_id: string | null;
  schedule_name: string | null;
  schedule_version: number | null;
  kind: string;
  origin: string;
  state: RunState;
  buffered: boolean;
  parked: boolean;
  cancel_requested: boolean;
  scheduled_for: string | null;
  ready_at: string;
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
  attempts: Attempt[];
  links: Record<string, string | null>;
}

export interface RunEvent {
  seq: number;
  at: string;
  type: string;
  state?: RunState | null;
  attempt?: number | null;
  level?: string | null;
  data?: Record<string, unknown> | null;
  message: string;
}

export interface Action {
  kind: string;
  [config: string]: unknown;
}

export interface RetryPolicy {
  strategy: "exponential" | "linear" | "fixed";
  max_retries: number;
  delay_seconds: number;
  max_delay_seconds: number;
  jitter: number;
  dead_letter: boolean;
}

export interface Catchup {
  mode: "none" | "latest" | "all";
  window_seconds: number;
  max_runs: number;
  grace_seconds: number;
}

export interface Schedule {
  id: string;
  tenant_id: string;
  user_id: string;
  name: string;
  description: string;
  tags: string[];
  type: "cron" | "interval" | "oneoff";
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  timezone: string;
  action: Action;
  retry_policy: RetryPolicy;
  overlap: string;
  catchup: Catchup;
  queue: string;
  priority: number;
  timeout_seconds: number | null;
  jitter_seconds: number;
  start_at: string | null;
  end_at: string | null;
  max_runs: number | null;
  status: "active" | "paused" | "completed" | "deleted";
  paused_reason: string;
  fault: string | null;
  /** What a file has made is edited there. */
  managed_by: "api" | "code" | "preset" | "file";
  summary: string;
  next_run_at: string | null;
  last_run_at: string | null;
  version: number;
  created_at: string;
  updated_at: string;
  links: Record<string, string>;
}

export interface Instant {
  at: string;
  outcome: "ran" | "queued" | "skipped" | "missed" | "pruned" | "planned";
  reason: string;
  run_id: string | null;
}

export interface Preview {
  summary: string;
  next: { at: string; local: string }[];
  notes: string[];
  type: Schedule["type"];
  cron_expr: string | null;
  interval_seconds: number | null;
  run_at: string | null;
  timezone: string;
}

export interface RunCount {
  count: number;
  by_state: Partial<Record<RunState, number>>;
}

export interface SeriesBucket {
  at: string;
  counts: Partial<Record<RunState, number>>;
  total: number;
  p50_ms: number | null;
  p95_ms: number | null;
  late: number;
}

export interface Series {
  from: string;
  to: string;
  bucket_seconds: number;
  items: SeriesBucket[];
}

export interface Suggestion {
  field: string;
  value: string;
  label: string;
  hint: string | null;
}

export interface LogLine {
  seq: number;
  at: string;
  level: string;
  message: string;
  attempt: number | null;
}

export interface LogPage {
  items: LogLine[];
  total: number;
  matches: number | null;
  first_seq: number | null;
  last_seq: number | null;
  before: number | null;
  after: number | null;
  pruned: boolean;
}

export interface AttentionAction {
  label: string;
  method: string;
  path: string;
  body?: unknown;
}

export interface AttentionItem {
  id: string;
  kind: "failing" | "late" | "missed" | "dead_letters" | "stalled_queue" | "lost_worker" | "damaged" | "no_worker";
  severity: "failed" | "attention" | "dead";
  title: string;
  reason: string;
  since: string | null;
  count: number;
  schedule_id: string | null;
  run_id: string | null;
  queue: string | null;
  worker: string | null;
  q: string | null;
  actions: AttentionAction[];
}

export interface Attention {
  checked_at: string;
  items: AttentionItem[];
}

export type MarkState = RunState | "planned" | "missed" | "skipped";

export interface TimelineMark {
  at: string;
  until: string | null;
  state: MarkState;
  count: number;
  run_id: string | null;
}

export interface TimelineGroup {
  key: string;
  name: string;
  kind: string | null;
  schedule_id: string | null;
  summary: string | null;
  timezone: string | null;
  runs: number;
  planned: number;
  folded: boolean;
  marks: TimelineMark[];
}

export interface Timeline {
  from: string;
  to: string;
  now: string;
  bucket_seconds: number;
  groups: TimelineGroup[];
  collisions: { at: string; count: number }[];
  marks: number;
  dropped_groups: number;
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

export interface Calendar {
  timezone: string;
  granularity: "hour" | "day";
  /** False when so much is planned that some of it is spread evenly. */
  exact: boolean;
  items: CalendarCell[];
}

export interface ScheduleOutcome {
  run_id: string;
  state: RunState;
  duration_ms: number | null;
  at: string;
}

export interface ScheduleHealth {
  schedule_id: string;
  outcomes: ScheduleOutcome[];
  success_ratio: number | null;
  avg_duration_ms: number | null;
  failing_since: string | null;
  streak: number;
}

export type BulkAction = "cancel" | "retry" | "replay" | "discard" | "pause" | "resume" | "run" | "delete";

export interface BulkRequest {
  action: BulkAction;
  filter?: string;
  ids?: string[];
  rate?: number;
  stop_after?: number | null;
  order?: "oldest" | "newest";
  dry_run?: boolean;
  expect?: number | null;
}

export interface BulkDryRun {
  dry_run: boolean;
  count: number;
  sample: unknown[];
  hosts: string[];
  warnings: string[];
}

export interface Bulk {
  id: string;
  action: BulkAction;
  filter: string | null;
  ids_given: number;
  rate: number;
  stop_after: number | null;
  state: "running" | "paused" | "stopped" | "finished";
  total: number;
  done: number;
  ok: number;
  failed: number;
  pending: number;
  failures: { id: string; message: string }[];
  outcomes: Partial<Record<RunState, number>>;
  user_id: string;
  created_at: string;
  updated_at: string;
  finished_at: string | null;
  reason: string | null;
}

export interface DeadLetterGroup {
  fingerprint: string;
  kind: string;
  code: string;
  message: string;
  host: string | null;
  count: number;
  first_at: string;
  last_at: string;
  schedules: { id: string; name: string }[];
  sample_id: string;
  sample: Run;
  arrivals: { at: string; count: number }[];
}

export interface DeadLetterGroups extends Page<DeadLetterGroup> {
  total: number;
}

export interface Queue {
  name: string;
  depth: number;
  oldest: string | null;
  in_flight: number;
  per_minute: number | null;
  paused_at: string | null;
  paused_by: string | null;
  reason: string | null;
  workers: string[] | null;
}

export interface Worker {
  id: string;
  role: string;
  host: string;
  pid: number | null;
  started_at: string;
  seen_at: string;
  state: string;
  wish: string | null;
  slots: number;
  free: number;
  in_flight: number;
  queues: string[] | null;
}

export interface Session {
  mode: "local" | "secured";
  signed_in: boolean;
  version: string;
  user_id?: string | null;
  tenant_id?: string | null;
  role?: string | null;
  may?: string[] | null;
  expires_at?: string | null;
  timezone?: string | null;
  csrf?: string | null;
  demo?: { on: boolean; schedules: number } | null;
  features?: { pipelines: boolean; scrapyd: boolean; echo: boolean } | null;
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
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
  seq: number | null;
  digest: string | null;
}

export interface Member {
  user_id: string;
  roles: string[];
  keys: number;
  last_seen_at: string | null;
  last_action: string | null;
}

export type PipelineStep = schema.StepModel;
export type Pipeline = schema.PipelineModel;
export type PipelineDetail = schema.PipelineDetail;

/** A registered function that a schedule can run. */
export interface Task {
  name: string;
  description: string;
  queue: string | null;
  parameters: Record<string, unknown>;
}
