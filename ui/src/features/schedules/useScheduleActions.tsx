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
}

/** The actions on a schedule. Each shows its outcome as a toast; a refusal is also thrown again. */
export function useScheduleActions(onDone?: () => void): ScheduleActions {
  const queries = useQueryClient();
  const go = useNavigateTo();
  const renew = (): void => {
    void queries.invalidateQueries({ queryKey: ["schedules"] });
    onDone?.();
  };
  const attempt = async <T,>(what: string, act: () => Promise<T>): Promise<T> => {
    try {
      const done = await act();
      renew();
      return done;
    } catch (error) {
      toast.error(`${what}: ${messageOf(error)}`);
      throw error;
    }
  };
  const paramsOf = (schedule: Schedule) => ({ schedule_id: schedule.id });
  const unskip = (schedule: Schedule): Promise<void> =>
    attempt("It could not be taken back", async () => {
      await send("DELETE", "/api/schedules/{schedule_id}/skip-next", { params: paramsOf(schedule) });
      toast.success(`${schedule.name} skips nothing`);
    });
  return {
    runNow: (schedule, payload) =>
      attempt(`${schedule.name} was not run`, async () => {
        const run = await send("POST", "/api/schedules/{schedule_id}/run-now", {
          params: paramsOf(schedule),
          body: payload ? { payload } : undefined,
        });
        toast.success(`${schedule.name} runs now`, {
          action: { label: "Open run", onClick: () => go(`/runs/${run.id}`) },
        });
        return run;
      }),
    pause: (schedule, reason) =>
      attempt(`${schedule.name} was not paused`, async () => {
        await send("POST", "/api/schedules/{schedule_id}/pause", {
          params: paramsOf(schedule),
          body: reason ? { reason } : {},
        });
        toast.success(`${schedule.name} is paused`);
      }),
    resume: (schedule) =>
      attempt(`${schedule.name} was not resumed`, async () => {
        await send("POST", "/api/schedules/{schedule_id}/resume", { params: paramsOf(schedule) });
        toast.success(`${schedule.name} fires again`);
      }),
    skip: (schedule) =>
      attempt("Nothing is skipped", async () => {
        // Names the instant, so that no other is skipped should it fire in the meantime.
        const body = schedule.next_run_at ? { at: schedule.next_run_at } : {};
        const now = await send("POST", "/api/schedules/{schedule_id}/skip-next", { params: paramsOf(schedule), body });
        toast.success(`${schedule.name} skips its next instant`, {
          action: { label: "Undo", onClick: () => void unskip(now).catch(() => undefined) },
        });
      }),
    unskip,
    remove: (schedule) =>
      attempt(`${schedule.name} was not deleted`, async () => {
        await send("DELETE", "/api/schedules/{schedule_id}", { params: paramsOf(schedule) });
        toast.success(`${schedule.name} is deleted`);
      }),
  };
}
