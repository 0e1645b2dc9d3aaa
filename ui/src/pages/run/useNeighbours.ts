import { useQuery } from "@tanstack/react-query";

import type { Neighbours, Run } from "@/api/calls";
import { ask } from "@/api/client";

const NONE: Neighbours = { before: null, after: null };

/** The runs of the same schedule right before and after this one, wherever in its past that is. */
export function useNeighbours(run: Run): Neighbours {
  const { data } = useQuery({
    queryKey: ["neighbours", run.id],
    queryFn: ({ signal }) => ask<Neighbours>(`/api/runs/${run.id}/neighbours`, { signal }),
    enabled: run.schedule_id !== null,
    // The newest run has one after it as soon as its schedule fires again.
    staleTime: ({ state }) => (state.data?.after ? Infinity : 0),
    refetchInterval: ({ state }) => (state.data?.after ? false : 10_000),
  });
  return data ?? NONE;
}
