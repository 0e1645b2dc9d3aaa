import type { FilterKey } from "./choices";

const STATES = [
  "queued",
  "running",
  "retrying",
  "success",
  "partial",
  "degraded",
  "failed",
  "dead_letter",
  "cancelled",
];
const KIND_NAMES = ["webhook", "crawl", "articles", "pipeline", "task", "grpc", "command", "celery"];
const SPANS = ["15m", "1h", "6h", "24h", "7d", "30d"];

/** The keys of the filter of runs. */
export const RUN_FIELDS: readonly FilterKey[] = [
  { key: "state", hint: "failed, running, …", values: STATES },
  { key: "schedule", hint: "name, prefix* or id", suggest: "schedule" },
  { key: "kind", hint: "webhook, crawl, …", values: KIND_NAMES },
  { key: "since", hint: "24h, 7d or a date", values: SPANS },
  { key: "until", hint: "24h, 7d or a date", values: SPANS },
  { key: "queue", hint: "queue name", suggest: "queue" },
  { key: "tag", hint: "tag of the schedule", suggest: "tag" },
  { key: "origin", hint: "instant, manual, replay, after" },
  { key: "worker", hint: "worker that ran it", suggest: "worker" },
  { key: "late", hint: "started later than the grace period", values: ["true", "false"] },
  { key: "took", hint: "minimum duration: 840ms, 4.2s, 5m" },
  { key: "id", hint: "an ID or its first characters" },
  { key: "fingerprint", hint: "runs with the same error" },
  { key: "muted", hint: "dead letters in a muted group", values: ["true", "false"] },
  { key: "target", hint: "URL the webhook called" },
  { key: "test", hint: "test runs", values: ["true", "false"] },
  { key: "repeated", hint: "already retried or replayed", values: ["true", "false"] },
];

/** The keys of the filter of schedules. */
export const SCHEDULE_FIELDS: readonly FilterKey[] = [
  { key: "status", hint: "active, paused, completed", values: ["active", "paused", "completed"] },
  { key: "type", hint: "cron, interval, oneoff, after", values: ["cron", "interval", "oneoff", "after"] },
  { key: "kind", hint: "webhook, crawl, …", values: KIND_NAMES },
  { key: "tag", hint: "", suggest: "tag" },
  { key: "queue", hint: "", suggest: "queue" },
  { key: "zone", hint: "Europe/Stockholm", suggest: "zone" },
  { key: "failing", hint: "last run failed", values: ["true", "false"] },
  { key: "target", hint: "URL its webhook calls" },
];
