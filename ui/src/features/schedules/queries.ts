import { queryOptions } from "@tanstack/react-query";

import { ask, send } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { PreviewRequest, Schedule } from "@/api/schema";

/** The number of runs that the charts and statistics of a schedule are based on. */
export const LAST = 200;

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: queryKeys.schedule(id),
    queryFn: ({ signal }) => ask("/api/schedules/{schedule_id}", { params: { schedule_id: id }, signal }),
    retry: false,
  });

export const chainQuery = (id: string) =>
  queryOptions({
    queryKey: [...queryKeys.schedule(id), "chain"],
    queryFn: ({ signal }) => ask("/api/schedules/{schedule_id}/chain", { params: { schedule_id: id }, signal }),
  });

export const runsOfQuery = (id: string) =>
  queryOptions({
    queryKey: ["of", id],
    queryFn: ({ signal }) => ask("/api/runs", { query: { schedule_id: id, limit: LAST }, signal }),
  });

/** The trigger of a schedule, as the body of a preview request. */
export const triggerOf = (schedule: Schedule): PreviewRequest => ({
  type: schedule.type,
  cron_expr: schedule.cron_expr ?? undefined,
  interval_seconds: schedule.interval_seconds ?? undefined,
  run_at: schedule.run_at ?? undefined,
  after: schedule.after ?? undefined,
  timezone: schedule.timezone,
  end_at: schedule.end_at ?? undefined,
  exclude: schedule.exclude,
  only: schedule.only,
  shift: schedule.shift,
});

export const previewQuery = (body: PreviewRequest) =>
  queryOptions({
    queryKey: queryKeys.preview(body),
    queryFn: ({ signal }) => send("POST", "/api/schedules/preview", { body, signal }),
    retry: false,
  });
