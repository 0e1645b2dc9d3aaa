import { useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";

import { send } from "@/api/client";
import { messageOf } from "@/api/problem";
import type { Run, Schedule } from "@/api/schema";
import { useNavigateTo } from "@/parts/useUrl";

export interface ScheduleActions {
  runNow: (schedule: Schedule, payload?: Record<string, unknown>) => Promise<Run | null>;
  pause: (schedule: Schedule, reason: string) => Promise<void>;
  resume: (schedule: Schedule) => Promise<void>;
  remove: (schedule: Schedule) => Promise<void>;
  skip: (schedule: Schedule) => Promise<void>;
  unskip: (schedule: Schedule) => Promise<void>;
  takeOver: (schedule: Schedule) => Promise<void>;
}

/** The actions on a schedule. Each shows its outcome as a toast; a refusal is also thrown again. */
export function useScheduleActions(onDone?: () => void): ScheduleActions {
  const queries = useQueryClient();
  const go = useNavigateTo();
  const renew = (gone?: string): void => {
    // The page of a deleted schedule is still there for a moment, and must not ask for it again.
    void queries.invalidateQueries({ queryKey: ["schedules"], predicate: (query) => !query.queryKey.includes(gone) });
    onDone?.();
  };
  const attempt = async <T,>(what: string, act: () => Promise<T>, gone?: string): Promise<T> => {
    try {
      const done = await act();
      renew(gone);
      return done;
    } catch (error) {
      toast.error(`${what}: ${messageOf(error)}`);
      throw error;
    }
  };
  const paramsOf = (schedule: Schedule) => ({ schedule_id: schedule.id });
  const unskip = (schedule: Schedule): Promise<void> =>
    attempt("Could not undo", async () => {
      await send("DELETE", "/api/schedules/{schedule_id}/skip-next", { params: paramsOf(schedule) });
      toast.success(`Skip undone for ${schedule.name}`);
    });
  return {
    runNow: (schedule, payload) =>
      attempt(`Could not run ${schedule.name}`, async () => {
        const run = await send("POST", "/api/schedules/{schedule_id}/run-now", {
          params: paramsOf(schedule),
          body: payload ? { payload } : undefined,
        });
        toast.success(`Started ${schedule.name}`, {
          action: { label: "View run", onClick: () => go(`/runs/${run.id}`) },
        });
        return run;
      }),
    pause: (schedule, reason) =>
      attempt(`Could not pause ${schedule.name}`, async () => {
        await send("POST", "/api/schedules/{schedule_id}/pause", {
          params: paramsOf(schedule),
          body: reason ? { reason } : {},
        });
        toast.success(`Paused ${schedule.name}`);
      }),
    resume: (schedule) =>
      attempt(`Could not resume ${schedule.name}`, async () => {
        await send("POST", "/api/schedules/{schedule_id}/resume", { params: paramsOf(schedule) });
        toast.success(`Resumed ${schedule.name}`);
      }),
    skip: (schedule) =>
      attempt("Could not skip the next run", async () => {
        // Names the instant, so that no other is skipped should it fire in the meantime.
        const body = schedule.next_run_at ? { at: schedule.next_run_at } : {};
        const now = await send("POST", "/api/schedules/{schedule_id}/skip-next", { params: paramsOf(schedule), body });
        toast.success(`${schedule.name} will skip its next run`, {
          action: { label: "Undo", onClick: () => void unskip(now).catch(() => undefined) },
        });
      }),
    unskip,
    takeOver: (schedule) =>
      attempt(`Could not take over ${schedule.name}`, async () => {
        await send("POST", "/api/schedules/{schedule_id}/take-over", { params: paramsOf(schedule) });
        toast.success(`${schedule.name} is no longer managed by a file`);
      }),
    remove: (schedule) =>
      attempt(
        `Could not delete ${schedule.name}`,
        async () => {
          await send("DELETE", "/api/schedules/{schedule_id}", { params: paramsOf(schedule) });
          toast.success(`Deleted ${schedule.name}`);
        },
        schedule.id,
      ),
  };
}
