import type { Query } from "./client";

/**
 * Query keys. The first word is the live topic that makes the answer stale: when `runs` changes, every key that begins
 * with "runs" is invalidated (lists excepted: they count new rows instead, see `parts/table/useLiveList`).
 */
export const queryKeys = {
  session: ["session"] as const,
  attention: ["attention"] as const,
  health: ["health"] as const,
  runsCount: (query: Query) => ["runs", "count", query] as const,
  runsSeries: (query: Query) => ["runs", "series", query] as const,
  runsPoints: (query: Query) => ["runs", "points", query] as const,
  timeline: (query: Query) => ["runs", "timeline", query] as const,
  calendar: (query: Query) => ["runs", "calendar", query] as const,
  run: (id: string) => ["run", id] as const,
  quarantine: (id: string) => ["run", id, "quarantine"] as const,
  quality: (id: string) => ["runs", "quality", id] as const,
  schedules: (query: Query) => ["list", "schedules", query] as const,
  schedule: (id: string) => ["schedules", "one", id] as const,
  /** The request that created or changed the schedule a moment ago, kept in the query cache for "Copy as". */
  saved: (id: string) => ["saved", id] as const,
  preview: (body: unknown) => ["preview", body] as const,
  views: (query: Query) => ["views", query] as const,
  endpoints: ["endpoints"] as const,
  alerts: (query: Query) => ["runs", "alerts", query] as const,
  alertCounts: ["runs", "alerts", "counts"] as const,
  alert: (id: string) => ["runs", "alert", id] as const,
  alertRules: ["alert-rules"] as const,
  channels: ["channels"] as const,
  monitors: ["monitors"] as const,
  monitor: (id: string) => ["monitors", id] as const,
  pings: (id: string) => ["monitors", id, "pings"] as const,
  ping: (id: string) => ["ping", id] as const,
  queues: ["queues"] as const,
  workers: ["queues", "workers"] as const,
  queueHistory: (query: Query) => ["queue-history", query] as const,
  deadLetterGroups: (query: Query) => ["runs", "dead-letter-groups", query] as const,
  bulk: (id: string) => ["bulk", id] as const,
  suggest: (field: string, prefix: string) => ["suggest", field, prefix] as const,
  pipelines: ["pipelines"] as const,
  pipeline: (name: string) => ["pipelines", name] as const,
};
