import { useQuery } from "@tanstack/react-query";

import type { Page, Run } from "@/api/calls";
import { ask } from "@/api/client";

/** The runs of the same schedule before and after this one, as far as its hundred newest go. */
export function useNeighbours(run: Run | undefined): { before: string | null; after: string | null } {
  const schedule = run?.schedule_id ?? null;
  const { data } = useQuery({
    queryKey: ["runs", "neighbours", schedule],
    queryFn: ({ signal }) => ask<Page<Run>>("/api/runs", { query: { schedule_id: schedule, limit: 100 }, signal }),
    enabled: schedule !== null,
    staleTime: 30_000,
  });
  const ids = data?.items.map((one) => one.id) ?? [];
  const here = run ? ids.indexOf(run.id) : -1;
  if (here < 0) return { before: null, after: null };
  return { before: ids[here + 1] ?? null, after: ids[here - 1] ?? null };
}
