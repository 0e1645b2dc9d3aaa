import { useQuery } from "@tanstack/react-query";

import { ask } from "@/api/client";
import type { RunNeighbours, Run } from "@/api/schema";

const NONE: RunNeighbours = { before: null, after: null };

/** The previous and the next run of the same schedule. */
export function useNeighbours(run: Run): RunNeighbours {
  const { data } = useQuery({
    queryKey: ["neighbours", run.id],
    queryFn: ({ signal }) => ask("/api/runs/{run_id}/neighbours", { params: { run_id: run.id }, signal }),
    enabled: run.schedule_id !== null,
    // The newest run gets a successor as soon as its schedule fires again.
    staleTime: ({ state }) => (state.data?.after ? Infinity : 0),
    refetchInterval: ({ state }) => (state.data?.after ? false : 10_000),
  });
  return data ?? NONE;
}
