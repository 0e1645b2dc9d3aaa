import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import { ask } from "@/api/client";

import { type LogFilter, queryOf } from "./logFilter";
import { searchStep } from "./useLineCounts";

export interface Matches {
  /** The true number, over the whole log. */
  count: number | null;
  /** The number of the current match, from 1; null when it is unknown. */
  index: number | null;
  /** Goes to the next or previous match, wrapping around. */
  step: (by: 1 | -1, from: number) => Promise<number | null>;
  error: unknown;
}

/** Searches on the server, so that lines that are not loaded are counted too. */
export function useMatches(id: string, filter: LogFilter, total: number): Matches {
  const [at, setAt] = useState<number | null>(null);
  const find = filter.grep;
  const base = queryOf(filter);
  const { data, error } = useQuery({
    queryKey: ["run", id, "log", base, searchStep(total)],
    queryFn: ({ signal }) => ask("/api/runs/{run_id}/logs", { params: { run_id: id }, query: base, signal }),
    enabled: find !== "",
    placeholderData: (before, query) =>
      JSON.stringify(query?.queryKey[3]) === JSON.stringify(base) ? before : undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const known = data?.items ?? [];
  const place = known.findIndex((line) => line.seq === at);
  const count = find ? (data?.matches ?? null) : null;
  const step = useCallback(
    async (by: 1 | -1, from: number) => {
      const query = { ...queryOf(filter), limit: 1 };
      const read = (more: { after?: number; before?: number }) =>
        ask("/api/runs/{run_id}/logs", { params: { run_id: id }, query: { ...query, ...more } });
      let page = await read(by > 0 ? { after: from } : { before: from });
      // After the last match comes the first.
      if (!page.items.length) page = await read(by > 0 ? { after: 0 } : {});
      const found = page.items[0]?.seq ?? null;
      setAt(found);
      return found;
    },
    [id, filter],
  );
  return { count, index: place >= 0 && count !== null ? count - known.length + place + 1 : null, step, error };
}
