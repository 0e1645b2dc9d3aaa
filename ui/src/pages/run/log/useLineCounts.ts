import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";

import type { LogCount } from "@/api/calls";
import { ask, type Query } from "@/api/client";

import { asked, type Wish } from "./wish";

const PACE = 2000;

/** A growing log is searched again now and then, not with every line. */
export const grownBy = (total: number): number => (total < 5000 ? total : Math.floor(total / 500));

/** How many lines there are of each category and attempt: counted by the server, over the whole log. */
export function useLineCounts(id: string, wish: Wish, total: number): LogCount | undefined {
  const query = asked(wish);
  const seen = usePaced(total);
  // Without a text the server counts only what came since.
  const grown = wish.grep ? grownBy(seen) : seen;
  return useQuery({
    queryKey: ["run", id, "log-count", query, grown],
    queryFn: ({ signal }) => ask<LogCount>(`/api/runs/${id}/logs/count`, { query, signal }),
    // What another text found says nothing of this one.
    placeholderData: (before, last) =>
      (last?.queryKey[3] as Query | undefined)?.grep === query.grep ? before : undefined,
    staleTime: Number.POSITIVE_INFINITY,
    enabled: seen > 0,
  }).data;
}

/** The same number, at once from nothing and then at most so often; the last one is never missed. */
function usePaced(total: number): number {
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
