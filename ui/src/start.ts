import type { QueryClient } from "@tanstack/react-query";

import { sessionQuery } from "./api/session";
import { listQuery } from "./parts/useLiveList";

/** Pages whose first rows can be asked for before their scripts have come. */
const LISTS: Record<string, string> = { "/runs": "/api/runs", "/schedules": "/api/schedules" };

/** Asks who is here and for the first rows at once: nobody need wait for the page to be drawn first. */
export function headStart(queries: QueryClient, at: Pick<Location, "pathname" | "search">): void {
  void queries.prefetchQuery(sessionQuery);
  const path = LISTS[at.pathname];
  if (path) void queries.prefetchInfiniteQuery(listQuery(path, { q: new URLSearchParams(at.search).get("q") ?? "" }));
}
