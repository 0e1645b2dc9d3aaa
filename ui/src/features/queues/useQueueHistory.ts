import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ask } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { HistoryRange } from "@/api/schema";

/** A queue at one time; null where the server took no sample. */
export interface Sample {
  at: number;
  depth: number | null;
  age: number | null;
}

const KEPT = 180;
const MINUTE = 60_000;

/** The samples of each queue that this tab has received: every two seconds, where the server keeps one per minute. */
export function useQueueHistory(
  now: Record<string, Omit<Sample, "at">> | null,
  updated: number,
): ReadonlyMap<string, readonly Sample[]> {
  const kept = useRef(new Map<string, Sample[]>());
  const [, redraw] = useState(0);
  useEffect(() => {
    if (!now || !updated) return;
    for (const [name, seen] of Object.entries(now)) {
      const samples = kept.current.get(name) ?? [];
      if (samples.at(-1)?.at !== updated) kept.current.set(name, [...samples, { at: updated, ...seen }].slice(-KEPT));
    }
    redraw((count) => count + 1);
  }, [now, updated]);
  return kept.current;
}

/** The history of queues that the server keeps; nothing where the caller may not read it. */
export function useKeptHistory(range: HistoryRange, enabled: boolean) {
  return useQuery({
    queryKey: queryKeys.queueHistory({ range }),
    queryFn: ({ signal }) => ask("/api/queues/history", { query: { range }, signal }),
    refetchInterval: MINUTE,
    enabled,
  });
}
