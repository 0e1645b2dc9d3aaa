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

/** Why the session may not do something; null when it may, or when that is not known yet. */
export function useRefusal(what: string | undefined): string | null {
  const session = useSession();
  // A session that has ended refuses nothing by itself: the person signs in again, and what is typed stays.
  if (!what || !session?.signed_in || session.mode === "local" || (session.may ?? []).includes(what)) return null;
  return `Your role${session.role ? ` (${session.role})` : ""} does not allow this: it needs the permission ${what}`;
}

/**
 * Whether the session has a permission, e.g. `usePermission("run:schedule")`. Buttons that the server would refuse are
 * disabled, with the reason (`needs` of Button), or not offered.
 */
export function usePermission(what: string): boolean {
  const session = useSession();
  if (!session) return false;
  return session.mode === "local" || (session.may ?? []).includes(what);
}
