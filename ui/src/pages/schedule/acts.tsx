import { useQueryClient } from "@tanstack/react-query";
import { toast } from "sonner";

import type { Run, Schedule } from "@/api/calls";
import { ask } from "@/api/client";
import { ProblemError } from "@/api/problem";
import { useGo } from "@/parts/useUrl";

/** What an error says to somebody who pressed a button. */
export const said = (error: unknown): string =>
  error instanceof ProblemError ? error.message : error instanceof Error ? error.message : String(error);

export interface Acts {
  runNow: (schedule: Schedule, payload?: Record<string, unknown>) => Promise<Run | null>;
  pause: (schedule: Schedule, reason: string) => Promise<void>;
  resume: (schedule: Schedule) => Promise<void>;
  remove: (schedule: Schedule) => Promise<void>;
  skip: (schedule: Schedule) => Promise<void>;
  unskip: (schedule: Schedule) => Promise<void>;
}

/** What can be done with a schedule; each says what came of it. Refusals are told and thrown on. */
export function useActs(onDone?: () => void): Acts {
  const queries = useQueryClient();
  const go = useGo();
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
      toast.error(`${what}: ${said(error)}`);
      throw error;
    }
  };
  const at = (schedule: Schedule, verb: string): string => `/api/schedules/${schedule.id}/${verb}`;
  const unskip = (schedule: Schedule): Promise<void> =>
    attempt("It could not be taken back", async () => {
      await ask<Schedule>(at(schedule, "skip-next"), { method: "DELETE" });
      toast.success(`${schedule.name} skips nothing`);
    });
  return {
    runNow: (schedule, payload) =>
      attempt(`${schedule.name} was not run`, async () => {
        const run = await ask<Run>(at(schedule, "run-now"), {
          method: "POST",
          body: payload ? { payload } : undefined,
        });
        toast.success(`${schedule.name} runs now`, {
          action: { label: "Open run", onClick: () => go(`/runs/${run.id}`) },
        });
        return run;
      }),
    pause: (schedule, reason) =>
      attempt(`${schedule.name} was not paused`, async () => {
        await ask<Schedule>(at(schedule, "pause"), { method: "POST", body: reason ? { reason } : {} });
        toast.success(`${schedule.name} is paused`);
      }),
    resume: (schedule) =>
      attempt(`${schedule.name} was not resumed`, async () => {
        await ask<Schedule>(at(schedule, "resume"), { method: "POST" });
        toast.success(`${schedule.name} fires again`);
      }),
    skip: (schedule) =>
      attempt("Nothing is skipped", async () => {
        // The instant that is meant: should it fire meanwhile, no other is skipped in its place.
        const body = schedule.next_run_at ? { at: schedule.next_run_at } : {};
        const now = await ask<Schedule>(at(schedule, "skip-next"), { method: "POST", body });
        toast.success(`${schedule.name} skips its next instant`, {
          action: { label: "Undo", onClick: () => void unskip(now).catch(() => undefined) },
        });
      }),
    unskip,
    remove: (schedule) =>
      attempt(`${schedule.name} was not deleted`, async () => {
        await ask<void>(`/api/schedules/${schedule.id}`, { method: "DELETE" });
        toast.success(`${schedule.name} is deleted`);
      }),
  };
}
