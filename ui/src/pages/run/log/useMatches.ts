import { useQuery } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import type { LogPage } from "@/api/calls";
import { ask } from "@/api/client";

import { grownBy } from "./useLineCounts";
import { asked, type Wish } from "./wish";

export interface Matches {
  /** The true number, over the whole log. */
  count: number | null;
  /** Which of them one stands on, from 1; null when that is not known. */
  index: number | null;
  /** To the next (or the one before), round the end. */
  step: (by: 1 | -1, from: number) => Promise<number | null>;
  error: unknown;
}

/** The search runs on the server, so that it counts what is not loaded too. */
export function useMatches(id: string, wish: Wish, total: number): Matches {
  const [at, setAt] = useState<number | null>(null);
  const find = wish.grep;
  const base = asked(wish);
  const { data, error } = useQuery({
    queryKey: ["run", id, "log", base, grownBy(total)],
    queryFn: ({ signal }) => ask<LogPage>(`/api/runs/${id}/logs`, { query: base, signal }),
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
      const query = { ...asked(wish), limit: 1 };
      const read = (more: object) => ask<LogPage>(`/api/runs/${id}/logs`, { query: { ...query, ...more } });
      let page = await read(by > 0 ? { after: from } : { before: from });
      // Beyond the last comes the first again.
      if (!page.items.length) page = await read(by > 0 ? { after: 0 } : {});
      const found = page.items[0]?.seq ?? null;
      setAt(found);
      return found;
    },
    [id, wish],
  );
  return { count, index: place >= 0 && count !== null ? count - known.length + place + 1 : null, step, error };
}
