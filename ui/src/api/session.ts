import { queryOptions, useQuery } from "@tanstack/react-query";

import type { Session } from "./calls";
import { ask, carryCsrf } from "./client";
import { keys } from "./keys";

export const sessionQuery = queryOptions({
  queryKey: keys.session,
  queryFn: async ({ signal }) => {
    const session = await ask<Session>("/api/session", { signal });
    carryCsrf(session.csrf ?? null);
    return session;
  },
  staleTime: 60_000,
});

export const useSession = (): Session | undefined => useQuery(sessionQuery).data;

/** Whether this person may, e.g. `useMay("run:schedule")`. Buttons that would be refused are not shown as if they worked. */
export function useMay(what: string): boolean {
  const session = useSession();
  if (!session) return false;
  return session.mode === "local" || (session.may ?? []).includes(what);
}
