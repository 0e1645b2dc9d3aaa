import type { QueryClient } from "@tanstack/react-query";

import { PREFETCHED_LISTS, USUAL_ORDERS } from "@/api/firstRows";
import { sessionQuery } from "@/api/session";
import { listQuery } from "@/parts/table/useLiveList";

/** Requests the session and the first rows of a list before the page is rendered. */
export function prefetch(queries: QueryClient, at: Pick<Location, "pathname" | "search">): void {
  void queries.prefetchQuery(sessionQuery);
  const path = PREFETCHED_LISTS[at.pathname];
  if (!path) return;
  const search = new URLSearchParams(at.search);
  const sort = search.get("sort") ?? USUAL_ORDERS[at.pathname] ?? "";
  void queries.prefetchInfiniteQuery(listQuery(path, { q: search.get("q") ?? "", ...(sort ? { sort } : {}) }));
}
