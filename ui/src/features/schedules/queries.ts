import { queryOptions } from "@tanstack/react-query";

import type { CursorPage } from "@/api/client";
import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { SchedulePreview, Run, Schedule } from "@/api/schema";

/** The number of runs that the charts and statistics of a schedule are based on. */
export const LAST = 200;

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: queryKeys.schedule(id),
    queryFn: ({ signal }) => ask<Schedule>(`/api/schedules/${id}`, { signal }),
    retry: false,
  });

export const runsOfQuery = (id: string) =>
  queryOptions({
    queryKey: ["of", id],
    queryFn: ({ signal }) => ask<CursorPage<Run>>("/api/runs", { query: { schedule_id: id, limit: LAST }, signal }),
  });

/** The trigger of a schedule, as the body of a preview request. */
export const triggerOf = (schedule: Schedule): Record<string, unknown> => ({
  type: schedule.type,
  cron_expr: schedule.cron_expr ?? undefined,
  interval_seconds: schedule.interval_seconds ?? undefined,
  run_at: schedule.run_at ?? undefined,
  timezone: schedule.timezone,
  end_at: schedule.end_at ?? undefined,
});

export const previewQuery = (body: Record<string, unknown>) =>
  queryOptions({
    queryKey: queryKeys.preview(body),
    queryFn: ({ signal }) => ask<SchedulePreview>("/api/schedules/preview", { method: "POST", body, signal }),
    retry: false,
  });
