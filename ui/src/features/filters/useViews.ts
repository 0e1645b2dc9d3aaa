import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { ask, send } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { SavedView, SavedViewChange, ViewedList } from "@/api/schema";
import { useSession } from "@/api/session";

import { readViews } from "./views";

export interface ViewActions {
  add: (name: string, q: string, sort: string) => Promise<unknown>;
  change: (view: SavedView, change: SavedViewChange) => Promise<unknown>;
  remove: (view: SavedView) => Promise<unknown>;
}

const NONE: SavedView[] = [];

/** The saved views of one list: the user's own, and those that others share. */
export function useViews(list: ViewedList): [views: SavedView[], actions: ViewActions] {
  const queries = useQueryClient();
  const session = useSession();
  const key = queryKeys.views({ list });
  const found = useQuery({ queryKey: key, queryFn: ({ signal }) => ask("/api/views", { query: { list }, signal }) });
  const again = <T>(done: Promise<T>): Promise<T> =>
    done.finally(() => void queries.invalidateQueries({ queryKey: queryKeys.views({ list }) }));
  const add = (name: string, q: string, sort: string): Promise<unknown> =>
    send("POST", "/api/views", { body: { list, name, q, sort: sort || null } });

  // Views were kept in the browser once: they move to the server when it is reached.
  const kept = `foliot.views.${list}.${session?.tenant_id ?? ""}.${session?.user_id ?? ""}`;
  const reached = found.isSuccess;
  useEffect(() => {
    if (!reached) return;
    const old = takeKept(kept);
    if (old.length === 0) return;
    void Promise.allSettled(old.map((view) => add(view.name, view.q, ""))).then(() =>
      queries.invalidateQueries({ queryKey: queryKeys.views({ list }) }),
    );
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [reached, kept]);

  return [
    found.data?.items ?? NONE,
    {
      add: (name, q, sort) => again(add(name, q, sort)),
      change: (view, change) =>
        again(send("PATCH", "/api/views/{view_id}", { params: { view_id: view.id }, body: change })),
      remove: (view) => again(send("DELETE", "/api/views/{view_id}", { params: { view_id: view.id } })),
    },
  ];
}

/** The views that an older dashboard kept in this browser; they are read once. */
function takeKept(key: string): { name: string; q: string }[] {
  try {
    const old = readViews(localStorage.getItem(key));
    localStorage.removeItem(key);
    return old;
  } catch {
    return [];
  }
}
