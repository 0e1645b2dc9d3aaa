import { queryOptions, useQuery } from "@tanstack/react-query";

import { ask, setCsrfToken } from "./client";
import { queryKeys } from "./queryKeys";
import type { SessionInfo } from "./schema";

export const sessionQuery = queryOptions({
  queryKey: queryKeys.session,
  queryFn: async ({ signal }) => {
    const session = await ask("/api/session", { signal });
    setCsrfToken(session.csrf ?? null);
    return session;
  },
  staleTime: 60_000,
});

export const useSession = (): SessionInfo | undefined => useQuery(sessionQuery).data;

/**
 * Whether the session has a permission, e.g. `usePermission("run:schedule")`. Buttons that the server would refuse are
 * not offered.
 */
export function usePermission(what: string): boolean {
  const session = useSession();
  if (!session) return false;
  return session.mode === "local" || (session.may ?? []).includes(what);
}
