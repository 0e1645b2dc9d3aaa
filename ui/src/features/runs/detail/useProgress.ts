import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";

import { ask } from "@/api/client";
import type { RunEvent, Run } from "@/api/schema";
import { FINAL } from "@/parts/state/states";

export interface Progress {
  at: string;
  done: number | null;
  total: number | null;
  rest: Record<string, unknown>;
}

/** The progress of a run by its last progress event; only the end of its events is requested. */
export function useProgress(run: Run): Progress | null {
  const after = useRef<number | null>(null);
  const last = useRef<Progress | null>(null);
  const open = !FINAL.has(run.state);
  const { data } = useQuery({
    queryKey: ["run", run.id, "progress", open ? "open" : run.state],
    enabled: run.started_at !== null,
    queryFn: async ({ signal }) => {
      if (after.current === null) {
        const log = await ask("/api/runs/{run_id}/logs", { params: { run_id: run.id }, query: { limit: 1 }, signal });
        after.current = Math.max((log.last_seq ?? 0) - 20, 0);
      }
      const page = await ask("/api/runs/{run_id}/events", {
        params: { run_id: run.id },
        query: { after: after.current, limit: 200 },
        signal,
      });
      for (const event of page.items) {
        after.current = event.seq;
        if (event.type === "progress") last.current = read(event);
      }
      return last.current;
    },
    refetchInterval: open ? 1500 : false,
  });
  return data ?? null;
}

function read(event: RunEvent): Progress {
  const { done, total, ...rest } = event.data ?? {};
  return {
    at: event.at,
    done: typeof done === "number" ? done : null,
    total: typeof total === "number" ? total : null,
    rest,
  };
}
