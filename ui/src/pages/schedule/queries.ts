import { queryOptions } from "@tanstack/react-query";

import type { Page, Preview, Run, Schedule } from "@/api/calls";
import { ask } from "@/api/client";
import { keys } from "@/api/keys";

/** How many of its last runs the pictures and numbers of a schedule stand on. */
export const LAST = 200;

export const scheduleQuery = (id: string) =>
  queryOptions({
    queryKey: keys.schedule(id),
    queryFn: ({ signal }) => ask<Schedule>(`/api/schedules/${id}`, { signal }),
    retry: false,
  });

export const runsOfQuery = (id: string) =>
  queryOptions({
    queryKey: ["of", id],
    queryFn: ({ signal }) => ask<Page<Run>>("/api/runs", { query: { schedule_id: id, limit: LAST }, signal }),
  });

/** The trigger of a schedule, as a preview wants it. */
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
    queryKey: keys.preview(body),
    queryFn: ({ signal }) => ask<Preview>("/api/schedules/preview", { method: "POST", body, signal }),
    retry: false,
  });
