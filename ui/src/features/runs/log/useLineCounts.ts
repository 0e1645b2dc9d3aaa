import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import { ask } from "@/api/client";
import type { LogCount } from "@/api/schema";

import { type LogFilter, queryOf } from "./logFilter";

const PACE = 2000;

/** A growing log is searched again in steps, not with every line. */
export const searchStep = (total: number): number => (total < 5000 ? total : Math.floor(total / 500));

/** How many lines there are of each category and attempt: counted by the server, over the whole log. */
export function useLineCounts(id: string, filter: LogFilter, total: number): LogCount | undefined {
  const query = queryOf(filter);
  const seen = useThrottled(total);
  // Without a search text the server counts only what was added since.
  const grown = filter.grep ? searchStep(seen) : seen;
  return useQuery({
    queryKey: ["run", id, "log-count", query, grown],
    queryFn: ({ signal }) => ask("/api/runs/{run_id}/logs/count", { params: { run_id: id }, query, signal }),
    // The counts of another search text must not be shown for this one.
    placeholderData: (before, last) =>
      (last?.queryKey[3] as typeof query | undefined)?.grep === query.grep ? before : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: seen > 0,
  }).data;
}

/** A throttled number: the first value at once, later ones at most so often, the last one always. */
function useThrottled(total: number): number {
  const [seen, setSeen] = useState(total);
  const latest = useRef(total);
  const timer = useRef<number | undefined>(undefined);
  latest.current = total;
  useEffect(() => {
    if (total === seen || timer.current !== undefined) return;
    timer.current = window.setTimeout(
      () => {
        timer.current = undefined;
        setSeen(latest.current);
      },
      seen ? PACE : 0,
    );
  }, [total, seen]);
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  return seen;
}
