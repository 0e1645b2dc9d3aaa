import type { FilterKey } from "./FilterBox";

const STATES = ["queued", "running", "retrying", "success", "partial", "failed", "dead_letter", "cancelled"];
const KIND_NAMES = ["webhook", "crawl", "articles", "pipeline", "task", "grpc"];
const SPANS = ["15m", "1h", "6h", "24h", "7d", "30d"];

/** The keys of the filter of runs. */
export const RUN_FIELDS: readonly FilterKey[] = [
  { key: "state", hint: "failed, running, …", values: STATES },
  { key: "schedule", hint: "name, prefix* or id", suggest: "schedule" },
  { key: "kind", hint: "webhook, crawl, …", values: KIND_NAMES },
  { key: "since", hint: "24h, 7d or a date", values: SPANS },
  { key: "until", hint: "24h, 7d or a date", values: SPANS },
  { key: "queue", hint: "where it waits", suggest: "queue" },
  { key: "tag", hint: "of its schedule", suggest: "tag" },
  { key: "origin", hint: "schedule, manual, replay" },
  { key: "worker", hint: "who ran it", suggest: "worker" },
  { key: "late", hint: "started after its grace", values: ["true", "false"] },
  { key: "took", hint: "took at least so long: 840ms, 4.2s, 5m" },
  { key: "id", hint: "an id or its beginning" },
  { key: "fingerprint", hint: "runs that failed alike" },
  { key: "muted", hint: "letters of a muted group", values: ["true", "false"] },
  { key: "target", hint: "the address that a webhook called" },
  { key: "test", hint: "tried a target out", values: ["true", "false"] },
  { key: "repeated", hint: "was retried or replayed", values: ["true", "false"] },
];

/** The keys of the filter of schedules. */
export const SCHEDULE_FIELDS: readonly FilterKey[] = [
  { key: "status", hint: "active, paused, completed", values: ["active", "paused", "completed"] },
  { key: "type", hint: "cron, interval, oneoff", values: ["cron", "interval", "oneoff"] },
  { key: "kind", hint: "webhook, crawl, …", values: KIND_NAMES },
  { key: "tag", hint: "", suggest: "tag" },
  { key: "queue", hint: "", suggest: "queue" },
  { key: "zone", hint: "Europe/Stockholm", suggest: "zone" },
  { key: "failing", hint: "its last run failed", values: ["true", "false"] },
  { key: "target", hint: "the address that its webhook calls" },
];
