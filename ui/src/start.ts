import type { QueryClient } from "@tanstack/react-query";

import { sessionQuery } from "./api/session";
import { LISTS } from "./lists";
import { listQuery } from "./parts/useLiveList";

/** Asks who is here and for the first rows at once: nobody need wait for the page to be drawn first. */
export function headStart(queries: QueryClient, at: Pick<Location, "pathname" | "search">): void {
  void queries.prefetchQuery(sessionQuery);
  const path = LISTS[at.pathname];
  if (path) void queries.prefetchInfiniteQuery(listQuery(path, { q: new URLSearchParams(at.search).get("q") ?? "" }));
}
